#include "core/checkpoint/refs.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <ranges>
#include <set>
#include <utility>
#include <vector>

#include "base/bytes.h"

namespace banyan::checkpoint {

namespace {

constexpr std::size_t kShortest = 7;   // the least digits of an id that are shown
constexpr std::size_t kLeast = 4;      // the least digits of an id that are understood
constexpr std::size_t kNameMax = 100;  // bytes
constexpr std::size_t kListed = 5;     // an error names so many commits
constexpr std::size_t kNamesMax = 1000;
constexpr std::size_t kMessageMax = 4096;  // bytes

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

void Refs::committed(CommitId commit, bool ends_redo) {
  names_.head = commit;
  if (!names_.current) names_.current = fresh_name();
  names_.branches[*names_.current] = commit;
  if (ends_redo) names_.undone.clear();
}

void Refs::committed_aside(CommitId commit, const std::optional<std::string>& branch) {
  const bool goes_on = branch && names_.branches.contains(*branch);
  names_.branches[goes_on ? *branch : fresh_name()] = commit;
  moved(names_.head);
}

void Refs::moved(CommitId commit) {
  auto& [head, current, branches, tags, messages, undone] = names_;
  head = commit;
  if (current && branches.at(*current) == commit) return;
  const auto ends_here =
      std::ranges::find_if(branches, [&](const auto& branch) { return branch.second == commit; });
  current = ends_here == branches.end() ? std::nullopt : std::optional(ends_here->first);
}

bool Refs::refers_to(CommitId commit) const {
  const auto is_it = [&](const auto& item) { return item.second == commit; };
  return names_.head == commit || std::ranges::any_of(names_.branches, is_it) ||
         std::ranges::any_of(names_.tags, is_it) ||
         std::ranges::find(names_.undone, commit) != names_.undone.end();
}

Result<Done> Refs::perform(const Tree& tree, const Action& action) {
  return std::visit(
      [&](const auto& a) -> Result<Done> {
        if constexpr (requires { a.commit; }) {
          if (!tree.contains(a.commit)) return fail(ErrorKind::kNotFound, "the commit is not kept any more");
        }
        return act(a);
      },
      action);
}

Result<Done> Refs::act(const Checkout& action) {
  auto& undone = names_.undone;
  switch (action.step) {
    case Checkout::Step::kJump:
      undone.clear();
      break;
    case Checkout::Step::kUndo:
      undone.push_back(names_.head);
      break;
    case Checkout::Step::kRedo:
      if (undone.empty() || undone.back() != action.commit)
        return fail(ErrorKind::kConflict, "that was not undone just now; check it out by its id");
      undone.pop_back();
      break;
  }
  moved(action.commit);
  return Done{};
}

Result<Done> Refs::may_be_named(const std::string& name) const {
  const bool good = !name.empty() && name.size() <= kNameMax && letter_or_digit(name.front()) &&
                    std::ranges::all_of(name, [](char c) {
                      return letter_or_digit(c) || c == '.' || c == '_' || c == '/' || c == '-';
                    });
  if (!good || name == "HEAD" || name == "ROOT")
    return fail(ErrorKind::kInvalid,
                "'" + name +
                    "' is no name: take 1 to 100 letters, digits or any of ._/- and begin "
                    "with a letter or digit");
  if (name.size() >= kLeast && hex_digits(name))
    return fail(ErrorKind::kInvalid, "'" + name + "' could be a commit's id; take another name");
  if (names_.branches.size() + names_.tags.size() >= kNamesMax)
    return fail(ErrorKind::kInvalid,
                "there are " + std::to_string(kNamesMax) + " names already; delete some");
  if (names_.branches.contains(name))
    return fail(ErrorKind::kConflict, "there is a branch '" + name + "' already");
  if (names_.tags.contains(name)) return fail(ErrorKind::kConflict, "there is a tag '" + name + "' already");
  return Done{};
}

std::string Refs::fresh_name() const {
  for (std::size_t number = 2;; ++number) {
    std::string name = "branch-" + std::to_string(number);
    if (!names_.branches.contains(name) && !names_.tags.contains(name)) return name;
  }
}

Result<Done> Refs::act(const MakeBranch& action) {
  if (auto good = may_be_named(action.name); !good) return good;
  names_.branches.emplace(action.name, action.commit);
  if (action.commit == names_.head) names_.current = action.name;
  return Done{};
}

Result<Done> Refs::act(const RenameBranch& action) {
  if (!names_.current) return fail(ErrorKind::kConflict, "head is on no branch; make one here first");
  if (auto good = may_be_named(action.name); !good) return good;
  names_.branches.erase(*names_.current);
  names_.branches.emplace(action.name, names_.head);
  names_.current = action.name;
  return Done{};
}

Result<Done> Refs::act(const DropBranch& action) {
  if (!names_.branches.contains(action.name))
    return fail(ErrorKind::kNotFound, "there is no branch '" + action.name + "'");
  if (names_.current == action.name)
    return fail(ErrorKind::kConflict,
                "'" + action.name + "' is the current branch; check out another one first");
  names_.branches.erase(action.name);
  return Done{};
}

Result<Done> Refs::act(const MakeTag& action) {
  if (auto good = may_be_named(action.name); !good) return good;
  names_.tags.emplace(action.name, action.commit);
  return Done{};
}

Result<Done> Refs::act(const DropTag& action) {
  if (names_.tags.erase(action.name) == 0)
    return fail(ErrorKind::kNotFound, "there is no tag '" + action.name + "'");
  return Done{};
}

Result<Done> Refs::act(const Describe& action) {
  if (action.commit == CommitId{0})
    return fail(ErrorKind::kInvalid, "there is no cell yet that a message could describe");
  if (action.message.size() > kMessageMax)
    return fail(ErrorKind::kInvalid, "a message has at most " + std::to_string(kMessageMax) + " bytes");
  if (action.message.empty()) {
    names_.messages.erase(action.commit);
  } else {
    names_.messages[action.commit] = action.message;
  }
  return Done{};
}

Result<Done> Refs::act(const Prune& /*action*/) {
  return Done{};  // names stay as they are; the session, which has the tree, forgets the commits
}

// These are about cells, workers and replicas, which the session has: Session::see_to() carries them out.
Result<Done> Refs::act(const AllowRepeat& /*action*/) { return Done{}; }
Result<Done> Refs::act(const Suspend& /*action*/) { return Done{}; }
Result<Done> Refs::act(const HandOver& /*action*/) { return Done{}; }
Result<Done> Refs::act(const CopyAlways& /*action*/) { return Done{}; }

std::vector<CommitId> Refs::to_prune(const Tree& tree, const Prune& prune) const {
  std::set<CommitId> needed;
  const auto lead_to = [&](CommitId commit) {
    for (const CommitId before : tree.line(commit)) {
      if (!needed.insert(before).second) break;
    }
  };
  lead_to(names_.head);
  for (const auto& [name, commit] : names_.branches) lead_to(commit);
  for (const auto& [name, commit] : names_.tags) lead_to(commit);
  for (const CommitId commit : names_.undone) lead_to(commit);
  std::vector<CommitId> pruned;
  std::uint64_t kept = 0;
  for (const CommitId commit : tree.commits() | std::views::reverse) {
    if (needed.contains(commit) && (kept++ < prune.keep || refers_to(commit))) continue;
    pruned.push_back(commit);
  }
  std::ranges::reverse(pruned);
  return pruned;
}

std::map<CommitId, std::string> short_ids(const SessionId& session, const Tree& tree) {
  std::map<std::string, CommitId> sorted;
  for (const auto& [commit, node] : tree.nodes()) sorted.emplace(full_id(session, commit), commit);
  std::map<CommitId, std::string> ids;
  std::size_t shared_with_last = 0;
  for (auto it = sorted.begin(); it != sorted.end(); ++it) {
    const auto next = std::next(it);
    const std::size_t shared_with_next = next == sorted.end() ? 0 : common_beginning(it->first, next->first);
    const std::size_t digits = std::max({kShortest, shared_with_last + 1, shared_with_next + 1});
    ids.emplace(it->second, it->first.substr(0, digits));
    shared_with_last = shared_with_next;
  }
  return ids;
}

Result<CommitId> Refs::named(const SessionId& session, const Tree& tree, std::string_view word) const {
  const std::string text(word);
  if (text == "HEAD") return names_.head;
  if (text == "ROOT") return CommitId{0};
  if (const auto branch = names_.branches.find(text); branch != names_.branches.end()) return branch->second;
  if (const auto tag = names_.tags.find(text); tag != names_.tags.end()) return tag->second;
  if (text.size() < kLeast || !hex_digits(text))
    return fail(ErrorKind::kNotFound,
                "'" + text +
                    "' names no commit: take a branch, a tag, HEAD, or the first 4 digits or "
                    "more of a commit's id");
  std::vector<CommitId> begin_so;
  for (const auto& [commit, node] : tree.nodes()) {
    if (full_id(session, commit).starts_with(text)) begin_so.push_back(commit);
  }
  if (begin_so.size() == 1) return begin_so.front();
  if (begin_so.empty()) return fail(ErrorKind::kNotFound, "no commit's id begins with '" + text + "'");
  const auto shown = short_ids(session, tree);
  std::string ids;
  for (std::size_t i = 0; i < std::min(begin_so.size(), kListed); ++i)
    ids += (i == 0 ? "" : ", ") + shown.at(begin_so[i]);
  return fail(ErrorKind::kInvalid, "the ids of " + std::to_string(begin_so.size()) + " commits begin with '" +
                                       text + "' (" + ids + (begin_so.size() > kListed ? ", …" : "") +
                                       "); give more digits");
}

Result<CommitId> Refs::resolve(const SessionId& session, const Tree& tree, std::string_view word) const {
  const std::size_t tilde = word.find('~');
  auto commit = named(session, tree, word.substr(0, tilde));
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
