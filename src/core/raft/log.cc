#include "core/raft/log.h"

#include <algorithm>

#include "base/check.h"

namespace banyan::raft {

std::optional<Term> Log::term(Index index) const {
  if (index == base_) return base_term_;
  if (index < base_ || index > last()) return std::nullopt;
  return at(index).term;
}

const Entry& Log::at(Index index) const {
  CHECK(index > base_ && index <= last(), "an entry outside the log was asked for");
  return entries_[index - first()];
}

bool Log::not_ahead_of(Index index, Term term) const {
  return term > last_term() || (term == last_term() && index >= last());
}

Index Log::last_not_above(Index from, Term term) const {
  Index index = std::min(from, last());
  while (index > base_ && at(index).term > term) index = index - 1;
  return index;
}

std::vector<Entry> Log::slice(Index from, Index to, std::uint64_t max_bytes) const {
  std::vector<Entry> entries;
  std::uint64_t bytes = 0;
  for (Index index = from; index <= to; index = index + 1) {
    const Entry& entry = at(index);
    bytes += cost(entry);
    if (bytes > max_bytes && !entries.empty()) break;
    entries.push_back(entry);
  }
  return entries;
}

std::optional<Index> Log::change_after(Index index) const {
  const auto next = changes_.upper_bound(index);
  if (next == changes_.end()) return std::nullopt;
  return *next;
}

const Entry& Log::append(Term term, EntryType type, Blob data) {
  push({.term = term, .index = last() + 1, .type = type, .data = std::move(data)});
  return entries_.back();
}

std::optional<Index> Log::merge(std::span<const Entry> entries) {
  const auto fresh = std::ranges::find_if(
      entries, [&](const Entry& e) { return e.index > base_ && term(e.index) != e.term; });
  if (fresh == entries.end()) return std::nullopt;
  truncate_from(fresh->index);
  for (auto entry = fresh; entry != entries.end(); ++entry) push(*entry);
  return fresh->index;
}

void Log::commit_to(Index index) {
  if (index <= commit_) return;
  CHECK(index <= last(), "a commit index is beyond the log: entries were lost after they were acknowledged");
  commit_ = index;
}

void Log::compact(Index index) {
  CHECK(index <= commit_, "only committed entries may be compacted");
  if (index <= base_) return;
  base_term_ = at(index).term;
  entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(index - base_));
  changes_.erase(changes_.begin(), changes_.upper_bound(index));
  base_ = index;
}

void Log::reset(Index base, Term base_term) {
  entries_.clear();
  changes_.clear();
  base_ = base;
  base_term_ = base_term;
  commit_ = base;
}

void Log::push(Entry entry) {
  CHECK(entry.index == last() + 1, "entries are contiguous");
  CHECK(entry.term >= last_term(), "terms never fall along a log");
  if (entry.type == EntryType::kChange) changes_.insert(entry.index);
  entries_.push_back(std::move(entry));
}

void Log::truncate_from(Index index) {
  CHECK(index > commit_, "a committed entry was about to be overwritten");
  if (index > last()) return;
  entries_.resize(index - first());
  changes_.erase(changes_.lower_bound(index), changes_.end());
}

}  // namespace banyan::raft
