#include "core/checkpoint/refs.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "base/bytes.h"

namespace banyan::checkpoint {

namespace {

constexpr std::size_t kShortest = 7;   // digits that are shown
constexpr std::size_t kLeast = 4;      // digits that are understood
constexpr std::size_t kNameMax = 100;  // bytes
constexpr std::size_t kListed = 5;     // commits that an error names

bool letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool hex_digits(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::size_t common_beginning(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

}  // namespace

std::string full_id(const SessionId& session, CommitId commit) {
  return to_hex(digest_of(session.value + ":" + std::to_string(commit.value)));
}

void Refs::committed(CommitId commit) {
  head_ = commit;
  if (!current_) current_ = fresh_name();
  branches_[*current_] = commit;
}

void Refs::moved(CommitId commit) {
  head_ = commit;
  if (current_ && branches_.at(*current_) == commit) return;
  const auto ends_here =
      std::ranges::find_if(branches_, [&](const auto& branch) { return branch.second == commit; });
  current_ = ends_here == branches_.end() ? std::nullopt : std::optional(ends_here->first);
}

Result<Done> Refs::may_be_named(const std::string& name) const {
  const bool good = !name.empty() && name.size() <= kNameMax && letter_or_digit(name.front()) &&
                    std::ranges::all_of(name, [](char c) {
                      return letter_or_digit(c) || c == '.' || c == '_' || c == '/' || c == '-';
                    });
  if (!good || name == "HEAD")
    return fail(ErrorKind::kInvalid,
                "'" + name +
                    "' is no name: take 1 to 100 letters, digits or any of ._/- and begin "
                    "with a letter or digit");
  if (name.size() >= kLeast && hex_digits(name))
    return fail(ErrorKind::kInvalid, "'" + name + "' could be a commit's id; take another name");
  if (branches_.contains(name)) return fail(ErrorKind::kConflict, "there is a branch '" + name + "' already");
  if (tags_.contains(name)) return fail(ErrorKind::kConflict, "there is a tag '" + name + "' already");
  return Done{};
}

std::string Refs::fresh_name() const {
  for (std::size_t number = 2;; ++number) {
    std::string name = "branch-" + std::to_string(number);
    if (!branches_.contains(name) && !tags_.contains(name)) return name;
  }
}

Result<Done> Refs::branch(const std::string& name, CommitId commit) {
  if (auto good = may_be_named(name); !good) return good;
  branches_.emplace(name, commit);
  if (commit == head_) current_ = name;
  return Done{};
}

Result<Done> Refs::rename(const std::string& name) {
  if (!current_) return fail(ErrorKind::kConflict, "head is on no branch; make one here first");
  if (auto good = may_be_named(name); !good) return good;
  branches_.erase(*current_);
  branches_.emplace(name, head_);
  current_ = name;
  return Done{};
}

Result<Done> Refs::drop_branch(const std::string& name) {
  if (!branches_.contains(name)) return fail(ErrorKind::kNotFound, "there is no branch '" + name + "'");
  if (current_ == name)
    return fail(ErrorKind::kConflict, "'" + name + "' is the current branch; check out another one first");
  branches_.erase(name);
  return Done{};
}

Result<Done> Refs::tag(const std::string& name, CommitId commit) {
  if (auto good = may_be_named(name); !good) return good;
  tags_.emplace(name, commit);
  return Done{};
}

Result<Done> Refs::drop_tag(const std::string& name) {
  if (tags_.erase(name) == 0) return fail(ErrorKind::kNotFound, "there is no tag '" + name + "'");
  return Done{};
}

std::string Refs::short_id(const Tree& tree, CommitId commit) const {
  const std::string id = full_id(session_, commit);
  std::size_t digits = kShortest;
  for (const CommitId other : tree.commits()) {
    if (other != commit) digits = std::max(digits, common_beginning(id, full_id(session_, other)) + 1);
  }
  return id.substr(0, digits);
}

Result<CommitId> Refs::named(const Tree& tree, std::string_view word) const {
  const std::string text(word);
  if (text == "HEAD") return head_;
  if (const auto branch = branches_.find(text); branch != branches_.end()) return branch->second;
  if (const auto tag = tags_.find(text); tag != tags_.end()) return tag->second;
  if (text.size() < kLeast || !hex_digits(text))
    return fail(ErrorKind::kNotFound,
                "'" + text +
                    "' names no commit: take a branch, a tag, HEAD, or the first 4 digits or "
                    "more of a commit's id");
  std::vector<CommitId> begin_so;
  for (const CommitId commit : tree.commits()) {
    if (full_id(session_, commit).starts_with(text)) begin_so.push_back(commit);
  }
  if (begin_so.size() == 1) return begin_so.front();
  if (begin_so.empty()) return fail(ErrorKind::kNotFound, "no commit's id begins with '" + text + "'");
  std::string ids;
  for (std::size_t i = 0; i < std::min(begin_so.size(), kListed); ++i)
    ids += (i == 0 ? "" : ", ") + short_id(tree, begin_so[i]);
  return fail(ErrorKind::kInvalid, "the ids of " + std::to_string(begin_so.size()) + " commits begin with '" +
                                       text + "' (" + ids + (begin_so.size() > kListed ? ", …" : "") +
                                       "); give more digits");
}

Result<CommitId> Refs::resolve(const Tree& tree, std::string_view word) const {
  const std::size_t tilde = word.find('~');
  auto commit = named(tree, word.substr(0, tilde));
  if (!commit || tilde == std::string_view::npos) return commit;
  const std::string_view digits = word.substr(tilde + 1);
  std::size_t back = 1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), back);
  if (!digits.empty() && (error != std::errc() || end != digits.data() + digits.size()))
    return fail(ErrorKind::kInvalid, "'" + std::string(word) + "': after ~ comes a number, as in HEAD~2");
  const std::vector<CommitId> line = tree.line(*commit);
  if (back > line.size())
    return fail(ErrorKind::kNotFound, "'" + std::string(word) + "': there are only " +
                                          std::to_string(line.size()) + " commits up to '" +
                                          std::string(word.substr(0, tilde)) + "'");
  return back == line.size() ? CommitId{0} : line[back];
}

}  // namespace banyan::checkpoint
