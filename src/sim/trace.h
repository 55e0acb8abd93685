// What happened in a schedule: a hash of everything, and on demand a text for people.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "sim/scheduler.h"

namespace banyan::sim {

/// Two runs of one seed have equal hashes; a different order of events almost surely changes it.
class Trace {
 public:
  using Sink = std::function<void(const std::string& line)>;
  /// `sink` takes the text; without one no text is made.
  Trace(const Scheduler& scheduler, Sink sink) : scheduler_(scheduler), sink_(std::move(sink)) {}

  /// Mixes an event into the hash.
  void note(std::string_view who, std::string_view what, std::uint64_t detail = 0);
  /// Mixes an event into the hash, and gives the sink a text that is made only if there is one.
  template <class MakeText>
  void note(std::string_view who, std::string_view what, std::uint64_t detail, const MakeText& text) {
    note_quietly(who, what, detail);
    if (sink_) line(who, what, text());
  }
  [[nodiscard]] bool has_sink() const { return sink_ != nullptr; }
  [[nodiscard]] std::uint64_t hash() const { return hash_; }

 private:
  void note_quietly(std::string_view who, std::string_view what, std::uint64_t detail);
  void line(std::string_view who, std::string_view what, const std::string& text);

  const Scheduler& scheduler_;
  Sink sink_;
  std::uint64_t hash_ = 0;
};

}  // namespace banyan::sim
