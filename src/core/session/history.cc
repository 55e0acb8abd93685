#include "core/session/history.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <variant>

#include "core/jupyter/message.h"
#include "core/session/answers.h"
#include "core/session/document.h"
#include "core/session/lineage.h"
#include "core/session/whole.h"

namespace banyan::session {

namespace {

using checkpoint::Action;
using checkpoint::Checkout;
using checkpoint::Refs;
using Step = Checkout::Step;

constexpr CommitId kRoot{0};
constexpr std::uint64_t kListed = 20;
/// The effect that stands for what the cell's author said (python/banyan/notebook/rerun.py).
constexpr std::string_view kNeverAgain = "its author's %rerun never";

/// Answers one question: the session, and the names as they are after the pending actions.
class Asked {
 public:
  Asked(const Session& session, Refs refs, std::optional<api::PendingModel> being_copied)
      : session_(session),
        tree_(session.tree()),
        refs_(std::move(refs)),
        being_copied_(being_copied),
        ids_(checkpoint::short_ids(session.id(), session.tree())) {}

  Result<answer::Log> on(const question::Log& asked);
  Result<answer::Show> on(const question::Show& asked);
  Result<answer::Diff> on(const question::Diff& asked);
  Result<answer::Blame> on(const question::Blame& asked);
  Result<answer::State> on(const question::State& asked);
  Result<answer::Travel> on(const question::Undo& asked);
  Result<answer::Travel> on(const question::Redo& asked);
  Result<answer::Travel> on(const question::CheckOut& asked);
  Result<answer::Branches> on(const question::Branch& asked);
  Result<answer::Tags> on(const question::Tag& asked);
  Result<answer::Described> on(const question::Describe& asked);
  Result<answer::Collected> on(const question::Collect& asked);
  Result<answer::Spaces> on(const question::Space& asked);
  Result<answer::Document> on(const question::Document& asked);
  /// `said`, with the actions that were collected.
  template <class Said>
  Answer answer_with(const Said& said) {
    return answer_of(said, std::move(actions_), std::move(leaves_));
  }

 private:
  using Word = std::optional<std::string>;

  /// The commit that a word names; `otherwise` when there is no word.
  [[nodiscard]] Result<CommitId> commit(const Word& word, std::string_view otherwise) const {
    return refs_.resolve(session_.id(), tree_, word ? std::string_view(*word) : otherwise);
  }

  // Parts of answers.
  [[nodiscard]] std::string id(CommitId commit) const {
    return commit == kRoot ? std::string("ROOT") : ids_.at(commit);
  }
  [[nodiscard]] bool is_empty(CommitId commit) const;
  [[nodiscard]] CommitId last_cell(CommitId commit) const;
  [[nodiscard]] std::vector<std::string> effects(CommitId commit) const;
  [[nodiscard]] bool did(CommitId commit) const;
  [[nodiscard]] Error only_outside(const std::vector<CommitId>& commits) const;
  [[nodiscard]] answer::Commit row(CommitId commit) const;
  [[nodiscard]] std::vector<answer::Commit> rows(const std::vector<CommitId>& commits) const;
  [[nodiscard]] std::vector<answer::Variable> variables(const View& view) const;
  [[nodiscard]] bool same_value(const CoVariableId& left, const CoVariableId& right) const;
  [[nodiscard]] std::uint64_t bytes(const CoVariableId& version) const;
  /// Says where head is.
  template <class Said>
  [[nodiscard]] Said here(Said said = {}) const {
    said.head = id(refs_.head());
    said.branch = {refs_.names().current};
    return said;
  }
  Result<answer::Travel> travel(CommitId from, const std::vector<CommitId>& passed, bool repeats);
  Result<Done> act(Action action);

  const Session& session_;
  const checkpoint::Tree& tree_;
  Refs refs_;
  std::optional<api::PendingModel> being_copied_;
  std::map<CommitId, std::string> ids_;
  std::vector<Action> actions_;
  std::vector<std::string> leaves_;
};

Result<Done> Asked::act(Action action) {
  if (auto done = refs_.perform(tree_, action); !done) return done;
  actions_.push_back(std::move(action));
  return Done{};
}

/// Whether the commit is of a request without code, or of a look (kLook) that found nothing: there is nothing
/// to show and nothing to go back to.
bool Asked::is_empty(CommitId commit) const {
  const auto ended = session_.history().find(commit);
  if (ended == session_.history().end()) return false;
  const Ended& cell = ended->second;
  const Change& change = tree_.change(commit);
  const bool has_code = cell.code.find_first_not_of(" \t\r\n") != std::string::npos && cell.code != kLook;
  return !has_code && change.bound.empty() && change.unbound.empty() &&
         !refs_.names().messages.contains(commit);
}

/// The newest commit up to this one that is not empty.
CommitId Asked::last_cell(CommitId commit) const {
  while (commit != kRoot && is_empty(commit)) commit = tree_.parent(commit);
  return commit;
}

answer::Commit Asked::row(CommitId commit) const {
  const auto names_at = [&](const std::map<std::string, CommitId>& names) {
    std::vector<std::string> found;
    for (const auto& [name, at] : names) {
      if (at == commit) found.push_back(name);
    }
    return found;
  };
  answer::Commit row{.id = id(commit),
                     .head = refs_.head() == commit,
                     .branches = names_at(refs_.names().branches),
                     .tags = names_at(refs_.names().tags)};
  if (commit == kRoot) return row;
  row.parent = id(last_cell(tree_.parent(commit)));
  const Change change = variables_of(tree_.change(commit));
  for (auto& changed = row.changed.emplace(); const auto& [name, version] : change.bound) {
    if (version.commit == commit) changed.push_back(name);
  }
  row.deleted.emplace();
  if (!tree_.absorbed(commit)) row.deleted->assign(change.unbound.begin(), change.unbound.end());
  row.message.emplace();
  if (const auto message = refs_.names().messages.find(commit); message != refs_.names().messages.end())
    row.message->value = message->second;
  const auto ended = session_.history().find(commit);
  if (ended == session_.history().end()) {
    const bool too_old = !session_.history().empty() && commit < session_.history().begin()->first;
    row.status = too_old ? "forgotten" : "restart";
    return row;
  }
  const Ended& cell = ended->second;
  row.status = name_of(cell.status);
  row.code = cell.code;
  row.count = cell.execution_count;
  row.failed = cell.failed;
  row.effects = cell.footprint.effects;
  row.begun = cell.footprint.begun;
  row.gpus = cell.footprint.gpus;
  for (auto& seconds = row.serialised_s.emplace(); const auto& [type, us] : cell.footprint.serialised_us)
    seconds[type] = static_cast<double>(us) / 1e6;
  row.runtime_s = static_cast<double>(cell.runtime_us) / 1e6;
  row.at.emplace();
  if (cell.ended_at_us != 0) row.at->value = jupyter::iso8601({cell.ended_at_us});
  return row;
}

std::vector<answer::Commit> Asked::rows(const std::vector<CommitId>& commits) const {
  std::vector<answer::Commit> all;
  for (const CommitId commit : commits) all.push_back(row(commit));
  return all;
}

std::uint64_t Asked::bytes(const CoVariableId& version) const {
  const CoVariable& value = session_.co_variable(version);
  return value.kept ? value.bytes() : 0;
}

std::vector<answer::Variable> Asked::variables(const View& view) const {
  std::map<CoVariableId, std::vector<std::string>> names;
  for (const auto& [name, version] : view) names[version].push_back(name);
  std::vector<answer::Variable> all;
  for (const auto& [name, version] : view) {
    if (name == checkpoint::kShown) continue;
    answer::Variable one{
        .name = name, .bytes = bytes(version), .saved = session_.co_variable(version).serialised()};
    for (const auto& other : names.at(version)) {
      if (other != name) one.shares_with.push_back(other);
    }
    if (tree_.contains(version.commit)) one.commit.value = id(version.commit);
    all.push_back(std::move(one));
  }
  return all;
}

Result<answer::Log> Asked::on(const question::Log& asked) {
  const std::uint64_t limit = asked.limit ? asked.limit->value : kListed;
  std::vector<CommitId> commits;
  if (asked.at) {
    const auto at = commit(asked.at, "");
    if (!at) return tl::unexpected(at.error());
    commits = tree_.line(*at);
  } else {
    commits = tree_.commits();
    std::ranges::reverse(commits);
  }
  const auto has_name = [&](CommitId commit) {
    const auto at = [&](const auto& name) { return name.second == commit; };
    return std::ranges::any_of(refs_.names().branches, at) || std::ranges::any_of(refs_.names().tags, at);
  };
  std::erase_if(commits, [&](CommitId commit) {
    return is_empty(commit) && commit != refs_.head() && !has_name(commit);
  });
  const std::uint64_t more = commits.size() > limit ? commits.size() - limit : 0;
  commits.resize(commits.size() - more);
  return here<answer::Log>({.head = {}, .branch = {}, .commits = rows(commits), .more = more});
}

Result<answer::Show> Asked::on(const question::Show& asked) {
  const auto at = commit(asked.at, "HEAD");
  if (!at) return tl::unexpected(at.error());
  return answer::Show{row(*at), variables(tree_.view(*at))};
}

Result<answer::Diff> Asked::on(const question::Diff& asked) {
  const auto to = commit(asked.to, "HEAD");
  if (!to) return tl::unexpected(to.error());
  const CommitId before = *to == kRoot ? kRoot : tree_.parent(*to);
  const auto from = asked.from ? commit(asked.from, "") : Result<CommitId>(before);
  if (!from) return tl::unexpected(from.error());
  const View was = tree_.view(*from), is = tree_.view(*to);
  const Change change = variables_of(checkpoint::difference(was, is));
  answer::Diff said{.from = id(*from), .to = id(*to)};
  for (const auto& [name, version] : change.bound) {
    const auto old = was.find(name);
    if (old == was.end()) {
      said.added.push_back({.name = name, .bytes = bytes(version)});
    } else if (!same_value(old->second, version)) {
      said.changed.push_back({.name = name, .bytes = bytes(version), .bytes_before = bytes(old->second)});
    }
  }
  for (const auto& name : change.unbound)
    said.deleted.push_back({.name = name, .bytes = {}, .bytes_before = bytes(was.at(name))});
  return said;
}

Result<answer::Blame> Asked::on(const question::Blame& asked) {
  const auto at = commit(asked.at, "HEAD");
  if (!at) return tl::unexpected(at.error());
  const auto commits = tree_.blame(asked.name, *at);
  if (commits.empty())
    return fail(ErrorKind::kNotFound,
                "no cell up to " + id(*at) + " changed a variable '" + asked.name + "'");
  return answer::Blame{asked.name, rows(commits)};
}

Result<answer::State> Asked::on(const question::State& /*asked*/) {
  return here<answer::State>({.head = {},
                              .branch = {},
                              .variables = variables(tree_.view(refs_.head())),
                              .commits = tree_.nodes().size(),
                              .bytes = session_.value_bytes(),
                              .can_redo = !refs_.names().undone.empty(),
                              .pending = being_copied_});
}

/// Whether two versions have the same bytes, as after a change that was changed back.
bool Asked::same_value(const CoVariableId& left, const CoVariableId& right) const {
  const CoVariable &value = session_.co_variable(left), &other = session_.co_variable(right);
  return value.serialised() && value.names == other.names && value.parts == other.parts &&
         std::ranges::equal(value.blocks, other.blocks, {}, &Chunk::digest, &Chunk::digest);
}

/// The answer about a move of head from `from` to where it is now: what is loaded, made and deleted.
/// `repeats`: cells may run again for it, whatever they do outside of the session.
Result<answer::Travel> Asked::travel(CommitId from, const std::vector<CommitId>& passed, bool repeats) {
  const View was = tree_.view(from), is = tree_.view(refs_.head());
  const Change change = variables_of(checkpoint::difference(was, is));
  // With `repeat`, a question that stays at head is about values which are missing there: plan from nothing.
  const View& shown = repeats && from == refs_.head() ? View() : was;
  const planner::Plan plan = planner::plan(is, shown, lineage_of(session_, repeats, kAnyGpus, kRoot));
  std::set<CoVariableId> loads;
  auto said = here<answer::Travel>();
  said.from = id(from);
  for (const CommitId commit : passed) said.commits.push_back(row(last_cell(commit)));
  for (const auto& [name, version] : change.bound) {
    if (const auto lost = plan.lost.find(version); lost != plan.lost.end()) {
      said.lost.push_back({name, lost->second});
    } else if (session_.co_variable(version).serialised()) {
      loads.insert(version);
      said.restores.push_back(name);
    } else {
      said.recomputes.push_back(name);
      if (may_wait(session_, name, version) && session_.work().empty()) said.unread.push_back(name);
    }
  }
  checkpoint::AllowRepeat allow;
  for (const planner::Step& step : plan.steps) allow.commits.push_back(step.cell);
  if (repeats && from == refs_.head()) {  // something did not load: suppose that nothing does
    planner::Lineage nothing_loads = lineage_of(session_, true);
    nothing_loads.loadable = [this](const CoVariableId& version) {
      return session_.co_variable(version).names.front().starts_with('<');  // every cell reads these
    };
    for (const planner::Step& step : planner::plan(is, View(), nothing_loads).steps)
      allow.commits.push_back(step.cell);
    std::ranges::sort(allow.commits);
    const auto [first, last] = std::ranges::unique(allow.commits);
    allow.commits.erase(first, last);
  }
  said.repeats = rows(allow.commits);
  if (repeats && !allow.commits.empty()) actions_.insert(actions_.begin(), std::move(allow));
  said.deletes.assign(change.unbound.begin(), change.unbound.end());
  for (const auto* const list : {&said.restores, &said.recomputes, &said.deletes})
    leaves_.insert(leaves_.end(), list->begin(), list->end());
  for (const CoVariableId& version : loads) said.bytes += bytes(version);
  return said;
}

/// What the commit's cell did beside the variables and that no undo takes back.
std::vector<std::string> Asked::effects(CommitId commit) const {
  const auto ended = session_.history().find(commit);
  if (ended == session_.history().end()) return {};
  std::vector<std::string> found = ended->second.footprint.effects;
  std::erase(found, kNeverAgain);
  for (const std::string& work : ended->second.footprint.begun) found.push_back("began " + work);
  return found;
}

/// Whether the commit's cell did something: it changed a variable or a setting, or something outside.
bool Asked::did(CommitId commit) const {
  return checkpoint::changes_state(tree_.change(commit)) || !effects(commit).empty();
}

/// One undo is one move of head, however many cells it takes back, so that one redo takes it back.
Result<answer::Travel> Asked::on(const question::Undo& asked) {
  const std::uint64_t count = asked.count.value_or(question::Count{}).value;
  const CommitId from = refs_.head();
  std::vector<CommitId> undone;
  bool changes = false;
  for (const CommitId commit : tree_.line(from)) {
    if (undone.size() == count) break;
    if (!did(commit)) continue;
    if (tree_.absorbed(commit))
      return fail(ErrorKind::kConflict,
                  "what was before " + id(commit) + " is not kept any more" +
                      (undone.empty() ? std::string()
                                      : "; " + std::to_string(undone.size()) + " cells can be undone"));
    changes = changes || checkpoint::changes_state(tree_.change(commit));
    undone.push_back(commit);
  }
  if (undone.size() == count && !changes) return tl::unexpected(only_outside(undone));
  if (undone.size() < count)
    return fail(ErrorKind::kConflict,
                undone.empty()
                    ? "there is nothing to undo: no cell before this one changed a variable"
                    : "only " + std::to_string(undone.size()) + " cells before this one changed something");
  if (auto done = act(Checkout{tree_.parent(undone.back()), Step::kUndo}); !done)
    return tl::unexpected(done.error());
  return travel(from, undone, asked.repeat.value_or(false));
}

/// Why these cells, which are the last ones, cannot be undone.
Error Asked::only_outside(const std::vector<CommitId>& commits) const {
  std::string done;
  for (const CommitId commit : commits) {
    for (const std::string& effect : effects(commit)) done += (done.empty() ? "" : ", ") + effect;
  }
  const std::string number = std::to_string(commits.size() + 1);
  const std::string which = commits.size() == 1 ? "the last cell" : "the last cells";
  return Error{ErrorKind::kConflict, which + " changed no variable, and what else " +
                                         (commits.size() == 1 ? "it" : "they") + " did cannot be undone (" +
                                         done + "); %undo " + number + " takes the cell before back too"};
}

Result<answer::Travel> Asked::on(const question::Redo& asked) {
  const std::uint64_t count = asked.count.value_or(question::Count{}).value;
  const CommitId from = refs_.head();
  std::vector<CommitId> redone;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (refs_.names().undone.empty())
      return fail(ErrorKind::kConflict,
                  i == 0 ? "there is nothing to redo: the last change was no undo; `log` shows every commit"
                         : "only " + std::to_string(i) + " undos can be redone");
    const CommitId before = refs_.head(), to = refs_.names().undone.back();
    std::vector<CommitId> cells;
    for (const CommitId commit : tree_.line(to)) {
      if (commit == before) break;
      if (did(commit)) cells.push_back(commit);
    }
    redone.insert(redone.end(), cells.rbegin(), cells.rend());
    if (auto done = act(Checkout{to, Step::kRedo}); !done) return tl::unexpected(done.error());
  }
  return travel(from, redone, asked.repeat.value_or(false));
}

Result<answer::Travel> Asked::on(const question::CheckOut& asked) {
  if (!asked.at) return fail(ErrorKind::kInvalid, "say what to check out: a branch, a tag, or a commit's id");
  const auto at = commit(asked.at, "");
  if (!at) return tl::unexpected(at.error());
  const CommitId from = refs_.head();
  if (auto done = act(Checkout{*at, Step::kJump}); !done) return tl::unexpected(done.error());
  return travel(from, {}, asked.repeat.value_or(false));
}

Result<answer::Branches> Asked::on(const question::Branch& asked) {
  Result<Done> done = Done{};
  if (asked.drop) {
    done = act(checkpoint::DropBranch{*asked.drop});
  } else if (asked.rename) {
    done = act(checkpoint::RenameBranch{*asked.rename});
  } else if (asked.name) {
    const auto at = commit(asked.at, "HEAD");
    if (!at) return tl::unexpected(at.error());
    done = act(checkpoint::MakeBranch{*asked.name, *at});
  }
  if (!done) return tl::unexpected(done.error());
  auto said = here<answer::Branches>();
  for (const auto& [name, at] : refs_.names().branches)
    said.branches.push_back({name, id(at), refs_.names().current == name});
  return said;
}

Result<answer::Tags> Asked::on(const question::Tag& asked) {
  Result<Done> done = Done{};
  if (asked.drop) {
    done = act(checkpoint::DropTag{*asked.drop});
  } else if (asked.name) {
    const auto at = commit(asked.at, "HEAD");
    if (!at) return tl::unexpected(at.error());
    done = act(checkpoint::MakeTag{*asked.name, *at});
  }
  if (!done) return tl::unexpected(done.error());
  answer::Tags said;
  for (const auto& [name, at] : refs_.names().tags) said.tags.push_back({.name = name, .id = id(at)});
  return said;
}

Result<answer::Described> Asked::on(const question::Describe& asked) {
  const auto at = commit(asked.at, "HEAD");
  if (!at) return tl::unexpected(at.error());
  if (auto done = act(checkpoint::Describe{*at, asked.message}); !done) return tl::unexpected(done.error());
  return answer::Described{row(*at)};
}

/// Answers what a collection forgets and frees. Blocks that other commits have too are not freed.
Result<answer::Collected> Asked::on(const question::Collect& asked) {
  const checkpoint::Prune prune{asked.keep ? asked.keep->value : std::numeric_limits<std::uint64_t>::max()};
  checkpoint::Tree after = tree_;
  std::uint64_t freed = 0;
  std::map<Digest, std::uint64_t> uses;
  const std::vector<CommitId> commits = refs_.to_prune(tree_, prune);
  for (const CommitId commit : commits) {
    for (const CoVariableId& version : after.forget(commit)) {
      if (!session_.co_variable(version).kept) continue;
      for (const Chunk& block : session_.co_variable(version).blocks) {
        if (block.bytes || ++uses[block.digest] == session_.chunks().at(block.digest)) freed += block.size;
      }
    }
  }
  answer::Collected said{.forgets = rows(commits),
                         .commits = tree_.nodes().size() - commits.size(),
                         .freed = freed,
                         .bytes = session_.value_bytes() - freed};
  if (auto done = act(prune); !done) return tl::unexpected(done.error());
  return said;
}

Result<answer::Document> Asked::on(const question::Document& asked) {
  const auto at = commit(asked.at, "HEAD");
  if (!at) return tl::unexpected(at.error());
  return answer::Document{id(*at), document_at(session_, *at)};
}

/// Answers what the versions of each variable take, the largest first. Shared blocks count once.
Result<answer::Spaces> Asked::on(const question::Space& /*asked*/) {
  struct Use {
    std::set<CoVariableId> versions;
    std::set<Digest> blocks;
    std::uint64_t bytes = 0;
  };
  const View head = tree_.view(refs_.head());
  std::map<std::string, Use> uses;
  for (const auto& [commit, node] : tree_.nodes()) {
    for (const auto& [name, version] : node.change.bound) {
      Use& use = uses[name];
      if (!use.versions.insert(version).second || !session_.co_variable(version).kept) continue;
      for (const Chunk& block : session_.co_variable(version).blocks) {
        if (use.blocks.insert(block.digest).second) use.bytes += block.size;
      }
    }
  }
  std::vector<std::pair<std::uint64_t, std::string>> order;
  for (const auto& [name, use] : uses) order.emplace_back(use.bytes, name);
  std::ranges::sort(order, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  answer::Spaces said{.variables = {},
                      .commits = tree_.nodes().size(),
                      .bytes = session_.value_bytes(),
                      .limit = session_.spec().keep.values};
  for (const auto& [size, name] : order) {
    const auto now = head.find(name);
    said.variables.push_back({.name = name,
                              .versions = uses.at(name).versions.size(),
                              .bytes = size,
                              .bytes_at_head = now == head.end() ? 0 : bytes(now->second)});
  }
  return said;
}

}  // namespace

Result<Answer> ask(const Session& session, const std::vector<Action>& pending, const Question& question,
                   const std::optional<api::PendingModel>& being_copied) {
  Refs refs = session.refs();
  for (const Action& action : pending) (void)refs.perform(session.tree(), action);
  return std::visit(
      [&]<class Q>(const Q& asked) -> Result<Answer> {
        if constexpr (requires(Asked history) { history.on(asked); }) {
          Asked history(session, std::move(refs), being_copied);
          const auto said = history.on(asked);
          if (!said) return tl::unexpected(said.error());
          return history.answer_with(*said);
        } else if constexpr (requires { ask_about_whole(session, refs.head(), asked); }) {
          return ask_about_whole(session, refs.head(), asked);
        } else {
          return fail(ErrorKind::kInvalid, "'" + std::string(Q::kName) + "' is not asked of the history");
        }
      },
      question);
}

Result<Answer> ask(const Session& session, const std::vector<Action>& pending, std::string_view question) {
  const auto read = read_question(question);
  if (!read) return tl::unexpected(read.error());
  return ask(session, pending, *read);
}

}  // namespace banyan::session
