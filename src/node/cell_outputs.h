// What one cell says to its client, on its executor: its outputs, and which of them the gateway has got.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "node/host_context.h"
#include "node/output_log.h"

namespace banyan::node {

/// Outputs are numbered from 1 and sent in order. What the gateway cannot take now stays in the OutputLog,
/// which has a bound, and is sent later.
class CellOutputs {
 public:
  /// The context outlives this.
  CellOutputs(HostContext& host, const Execute& order);

  void add(jupyter::Message message) { log_.add(std::move(message)); }
  /// kRespect: outputs wait here while the gateway has much to take already. kAdd: they are sent all the
  /// same.
  enum class Backlog : std::uint8_t { kRespect, kAdd };
  void send(Backlog backlog = Backlog::kRespect);
  /// Nobody has seen any: they are forgotten.
  void forget();

  // What the kernel says itself.
  /// A message of the kernel's own making that answers the cell's request.
  [[nodiscard]] jupyter::Message own(jupyter::Channel channel, std::string_view type, std::string content);
  /// Says something on the cell's stderr, among its outputs.
  void say(const std::string& text);
  /// Sends a message of the cell that is no output: it is not numbered, and not kept.
  void send_beside(jupyter::Message message);
  /// Shows a line that changes, while the cell waits for its variables, or for room. A cell that has shown
  /// only this has not run. `doing`: what Banyan does meanwhile.
  void show_progress(const std::string& doing, const ViewProgress& progress);
  /// The cell's own outputs take its place.
  void end_progress();
  /// The line stays, below the outputs that the cell has, and says how it ended.
  void close_progress(const std::string& done, const std::string& what);

  // What the gateway says.
  /// It asks for the cell, and has the outputs up to `seen`. False when it had asked in this life before: its
  /// link loses nothing.
  bool on_asked(std::uint64_t seen);
  /// It is another life than before, and does not know of the cell until it asks.
  void on_gateway_restarted() { asked_ = false; }
  /// Clients have all up to `seq`.
  void on_delivered(std::uint64_t seq) { log_.delivered(seq); }

  [[nodiscard]] bool is_asked() const { return asked_; }
  /// How many went to the gateway.
  [[nodiscard]] std::uint64_t sent() const { return sent_; }
  [[nodiscard]] const OutputLog& log() const { return log_; }

 private:
  void tell_client(std::string_view type, std::string content);

  HostContext& host_;
  SessionId session_;
  ExecutionId cell_;
  std::string request_header_;
  OutputLog log_;
  bool asked_ = true;  ///< the gateway's present life knows of the cell, and is told of it
  std::uint64_t sent_ = 0;
  std::optional<Time> progress_at_;  ///< when the client was told what the cell waits for
};

}  // namespace banyan::node
