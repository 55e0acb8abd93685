#include "sim/trace.h"

#include <cstdio>

namespace banyan::sim {

namespace {
std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15;
  return hash ^ (hash >> 29);
}
std::uint64_t fold(std::uint64_t hash, std::string_view text) {
  for (const char c : text) hash = mix(hash, static_cast<unsigned char>(c));
  return hash;
}
}  // namespace

void Trace::note_quietly(std::string_view who, std::string_view what, std::uint64_t detail) {
  hash_ = mix(hash_, static_cast<std::uint64_t>(scheduler_.now().count()));
  hash_ = mix(fold(fold(hash_, who), what), detail);
}

void Trace::note(std::string_view who, std::string_view what, std::uint64_t detail) {
  note_quietly(who, what, detail);
  if (sink_) line(who, what, detail == 0 ? "" : std::to_string(detail));
}

void Trace::line(std::string_view who, std::string_view what, const std::string& text) {
  char head[96];
  std::snprintf(head, sizeof head, "%10.6f %-8.*s %-12.*s ",
                static_cast<double>(scheduler_.now().count()) / 1e9, static_cast<int>(who.size()), who.data(),
                static_cast<int>(what.size()), what.data());
  sink_(head + text);
}

}  // namespace banyan::sim
