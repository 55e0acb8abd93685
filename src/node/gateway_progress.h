// How much of the running cell's output clients have.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "node/gateway_context.h"
#include "node/gateway_records.h"

namespace banyan::node {

/// Outputs of a cell are numbered from 1. What its client has is written down, so that a later life of the
/// gateway goes on from there; what is written down the executor's host may forget.
class OutputProgress {
 public:
  /// Both outlive this.
  OutputProgress(GatewayContext& gateway, const SessionId& session) : gateway_(gateway), session_(session) {}

  /// What an earlier life of the gateway has written.
  void recover(const std::optional<ProgressRecord>& record);
  /// The cell is sent to the hosts. One that is sent again goes on where its client is.
  void begin(const ExecutionId& execution);
  /// The cell has ended. What is known of another one, which an earlier life of the gateway has sent, stays.
  void end();
  /// An output was passed on.
  void on_seen(std::uint64_t number) { seen_ = number; }
  /// The client has got the output.
  void on_taken(std::uint64_t number) { taken_ = std::max(taken_, number); }
  /// Writes what the client has, one write after the other.
  void store();
  /// That is durable.
  void on_noted();
  /// Tells the executor's host what it may forget.
  void tell(const HostId& executor);
  /// Deletes the record.
  void close();

  /// It is about that cell.
  [[nodiscard]] bool is_of(const ExecutionId& execution) const { return execution_ == execution; }
  /// The last output that was passed on.
  [[nodiscard]] std::uint64_t seen() const { return seen_; }

 private:
  GatewayContext& gateway_;
  const SessionId& session_;
  std::optional<ProgressRecord> recovered_;
  ExecutionId execution_;
  std::uint64_t seen_ = 0;
  std::uint64_t taken_ = 0;
  std::uint64_t stored_ = 0;  ///< the control store was told
  std::uint64_t noted_ = 0;   ///< it is durable there: a later life of the gateway does not want them
  std::uint64_t told_ = 0;    ///< the executor's host may forget them
  std::optional<ExecutionId> record_of_;  ///< the cell that the record tells of; nothing where there is none
  bool writes_ = false;                   ///< a write is on its way
};

}  // namespace banyan::node
