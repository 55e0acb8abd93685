// Bugs that are planted on purpose, to prove that the checkers find them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace banyan::sim {

/// A bug, and what has it. docs/internals/simulator.md says how they are used.
enum class Plant : std::uint8_t {
  kNone,
  kDiskAcksEarly,      ///< hosts' disks acknowledge before the write is durable
  kStoreAcksEarly,     ///< the gateway's control store acknowledges before the write is durable
  kDeviceShared,       ///< workers use the first device of their host whichever they were given
  kDeviceUseUntold,    ///< workers do not tell that they go on using their devices when a cell has ended
  kFenceIgnored,       ///< workers run user code without waiting for the fence's answer
  kRefusalIgnored,     ///< workers wait for the answer and run refused cells too
  kLeaseIgnored,       ///< workers run on past their lease
  kClockRunsFast,      ///< hosts' monotonic clocks differ by half: leases mean nothing
  kViewLosesValue,     ///< a view that is applied misses a changed variable
  kViewKeepsDeleted,   ///< a view that is applied keeps deleted variables
  kReportLosesChange,  ///< a report misses a changed variable
  kCaptureTorn,        ///< a report has other bytes of a large value than its digest says
  kChunkNotStored,     ///< some chunks that a disk has acknowledged are not there
  kReplySentTwice,     ///< the gateway answers some cells twice
  kOutputDropped,      ///< some outputs never reach the client
  kOutputsSwapped,     ///< some outputs reach the client in the wrong order
  kReplyDropped,       ///< some replies never reach the client
  kExportIsOld,        ///< some exports have the state of an earlier one of the same session
  kExportLacksValues,  ///< some exports lack values
  kImportMixedUp,      ///< some sessions get the state that was brought to another one
  kStoreForgets,       ///< the data store has not all that it has acknowledged
  kStoreMixedUp,       ///< hosts get other chunks from the data store than they asked for
  kVoteForgotten,      ///< a restarted host has forgotten its votes and terms
  kTailForgotten,      ///< a restarted host has lost the end of its durable log
};

/// The bug of a name such as "disk-acks-early"; nothing for an unknown name.
std::optional<Plant> plant_of(std::string_view name);
std::string_view name_of(Plant plant);

}  // namespace banyan::sim
