#include "sim/plant.h"

#include <array>
#include <utility>

namespace banyan::sim {

namespace {
constexpr std::array<std::pair<Plant, std::string_view>, 25> kNames{
    {{Plant::kNone, "none"},
     {Plant::kDiskAcksEarly, "disk-acks-early"},
     {Plant::kStoreAcksEarly, "store-acks-early"},
     {Plant::kDeviceShared, "device-shared"},
     {Plant::kDeviceUseUntold, "device-use-untold"},
     {Plant::kFenceIgnored, "fence-ignored"},
     {Plant::kRefusalIgnored, "refusal-ignored"},
     {Plant::kLeaseIgnored, "lease-ignored"},
     {Plant::kClockRunsFast, "clock-runs-fast"},
     {Plant::kViewLosesValue, "view-loses-value"},
     {Plant::kViewKeepsDeleted, "view-keeps-deleted"},
     {Plant::kReportLosesChange, "report-loses-change"},
     {Plant::kCaptureTorn, "capture-torn"},
     {Plant::kChunkNotStored, "chunk-not-stored"},
     {Plant::kReplySentTwice, "reply-sent-twice"},
     {Plant::kOutputDropped, "output-dropped"},
     {Plant::kOutputsSwapped, "outputs-swapped"},
     {Plant::kReplyDropped, "reply-dropped"},
     {Plant::kExportIsOld, "export-is-old"},
     {Plant::kExportLacksValues, "export-lacks-values"},
     {Plant::kImportMixedUp, "import-mixed-up"},
     {Plant::kStoreForgets, "store-forgets"},
     {Plant::kStoreMixedUp, "store-mixed-up"},
     {Plant::kVoteForgotten, "vote-forgotten"},
     {Plant::kTailForgotten, "tail-forgotten"}}};
}  // namespace

std::optional<Plant> plant_of(std::string_view name) {
  for (const auto& [plant, known] : kNames) {
    if (known == name) return plant;
  }
  return std::nullopt;
}

std::string_view name_of(Plant plant) {
  for (const auto& [known, name] : kNames) {
    if (known == plant) return name;
  }
  return "unknown";
}

}  // namespace banyan::sim
