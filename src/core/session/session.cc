#include "core/session/session.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/codec.h"
#include "base/find.h"
#include "base/overloaded.h"

namespace banyan::session {

namespace {
std::uint64_t journal_bytes(const Ended& ended) {
  std::uint64_t bytes = 0;
  for (const auto& output : ended.outputs) bytes += output.size();
  return bytes;
}
/// Whether all that a cell changed is what its session keeps of shown values (checkpoint::kShown).
bool only_shows(const Delta& delta) {
  return delta.deleted.empty() && delta.failed.empty() &&
         std::ranges::all_of(delta.changed, [](const CoVariable& value) {
           return value.names == std::vector<std::string>{std::string(checkpoint::kShown)};
         });
}

}  // namespace

std::uint64_t CoVariable::bytes() const {
  std::uint64_t sum = 0;
  for (const Chunk& block : blocks) sum += block.size;
  return sum;
}

std::string_view name_of(Status status) {
  switch (status) {
    case Status::kOk:
      return "ok";
    case Status::kError:
      return "error";
    case Status::kAborted:
      return "aborted";
    case Status::kLost:
      return "lost";
  }
  return "unknown";
}

Session::Session(SessionId id, Spec spec, Members members) {
  state_.id = std::move(id);
  state_.spec = std::move(spec);
  state_.members = std::move(members);
}

Result<Session> Session::restore(const Blob& snapshot) {
  Decoder decoder(snapshot.view());
  State state;
  checkpoint::Tree::Nodes nodes;
  checkpoint::Refs::Names names;
  decoder.get(state);
  if (decoder.ok() && decoder.at_end())
    return fail(ErrorKind::kCorrupt, "the session was made by a version of Banyan that kept no history");
  decoder.get(nodes);
  decoder.get(names);
  if (!decoder.ok()) return fail(ErrorKind::kCorrupt, "a session's snapshot is cut short or malformed");
  Session session({}, {}, {});
  session.state_ = std::move(state);
  auto tree = checkpoint::Tree::restore(std::move(nodes));
  if (!tree) return tl::unexpected(tree.error());
  session.tree_ = std::move(*tree);
  session.refs_ = checkpoint::Refs(std::move(names));
  if (!session.consistent()) return fail(ErrorKind::kCorrupt, "a session's snapshot contradicts itself");
  for (const auto& [commit, ended] : session.state_.history) session.journal_ += journal_bytes(ended);
  for (const auto& [id, value] : session.state_.co_variables) session.use(value);
  session.moved_ = {};
  return session;
}

/// Whether the parts of the state fit together as all other code assumes. A snapshot may come from a file
/// that anybody has written.
bool Session::consistent() const {
  constexpr std::uint64_t kCommitsMax = std::uint64_t{1} << 62U;  // counting on from there never overflows
  if (state_.last.value > kCommitsMax || state_.execution_count > kCommitsMax) return false;
  const auto known = [&](CommitId commit) { return tree_.contains(commit) && commit <= state_.last; };
  const auto& names = refs_.names();
  const auto all_known = [&](const auto& named) {
    return std::ranges::all_of(named, [&](const auto& item) { return known(item.second); });
  };
  if (!known(names.head) || !all_known(names.branches) || !all_known(names.tags) ||
      !std::ranges::all_of(names.undone, known) ||
      !std::ranges::all_of(names.messages, known, [](const auto& item) { return item.first; }))
    return false;
  if (names.current && !names.branches.contains(*names.current)) return false;
  for (const auto& [commit, node] : tree_.nodes()) {
    if (!known(commit)) return false;
    for (const auto& [name, version] : node.change.bound) {
      if (!state_.co_variables.contains(version)) return false;
    }
  }
  for (const auto& [commit, ended] : state_.history) {
    if (commit != ended.commit || commit > state_.last) return false;
  }
  std::map<Digest, std::uint64_t> sizes;
  for (const auto& [id, value] : state_.co_variables) {
    if (id.commit.value == 0 || id.commit > state_.last || value.names.empty()) return false;
    std::uint64_t blocks = 0;
    for (const std::uint32_t part : value.parts) blocks += part;
    if (blocks != value.blocks.size()) return false;
    for (const Chunk& block : value.blocks) {
      if (block.bytes && (!value.kept || block.bytes->size() != block.size)) return false;
      if (!block.bytes && value.kept &&
          sizes.try_emplace(block.digest, block.size).first->second != block.size)
        return false;
    }
  }
  return state_.view == tree_.view(names.head);
}

Blob Session::snapshot() const { return snapshot_of(state_); }

Blob Session::snapshot_with(const std::set<CoVariableId>& values) const {
  State state = state_;
  for (auto& [id, value] : state.co_variables) {
    if (values.contains(id)) continue;
    value.kept = false;
    for (Chunk& block : value.blocks) block.bytes.reset();
  }
  state.spec.env.clear();  // it may hold secrets
  state.elsewhere = {};    // it is about this cluster
  return snapshot_of(state);
}

Blob Session::snapshot_from(Elsewhere chunks) const {
  State state = state_;
  state.elsewhere = std::move(chunks);
  return snapshot_of(state);
}

Blob Session::snapshot_of(const State& state) const {
  Encoder encoder;
  encoder.put(state);
  encoder.put(tree_.nodes());
  encoder.put(refs_.names());
  return Blob(encoder.take());
}

std::vector<Event> Session::apply(Command command) {
  std::vector<Event> events;
  std::visit(Overloaded{[](Retired&) {}, [&](auto& c) { apply(std::move(c), events); }}, command);
  if (!moved_.spilled.empty() || !moved_.wanted.empty() || !moved_.dropped.empty())
    events.insert(events.begin(), std::exchange(moved_, {}));
  return events;
}

void Session::apply(Propose&& propose, std::vector<Event>& events) {
  const bool over = state_.known.contains(propose.execution);
  const bool stranger = !state_.members.contains(propose.replica);
  const bool outdated = propose.restarts < state_.last_clear;
  if (over || stranger || outdated || state_.running) {
    // A repeated bid of the replica that runs the cell in this very life has lost nothing.
    const bool repeated = state_.running && state_.running->execution == propose.execution &&
                          state_.running->executor == propose.replica && state_.running->life == propose.life;
    if (propose.bid == Bid::kLead && !repeated) events.push_back(BidLost{propose.execution, propose.replica});
    return;
  }
  if (propose.aborts) return abort(propose, events);
  Election& election = state_.elections[propose.execution];
  if (propose.bid == Bid::kYield) {
    election.yielded.insert(propose.replica);
    const bool all = std::all_of(state_.members.begin(), state_.members.end(),
                                 [&](const auto& member) { return election.yielded.contains(member.first); });
    if (!all) return;
    events.push_back(AllYielded{propose.execution});
    state_.elections.erase(propose.execution);
    return;
  }
  start(propose, events);
}

void Session::start(const Propose& propose, std::vector<Event>& events) {
  CHECK(!state_.running, "P3: two cells of a session run at once");
  CHECK(!state_.known.contains(propose.execution), "P2: a cell starts that had ended");
  // An executor keeps its epoch for consecutive cells; any other replica opens a new one.
  if (state_.executor != propose.replica) {
    ++state_.epoch.value;
    state_.executor = propose.replica;
  }
  state_.suspended = false;
  state_.elections.clear();  // bids for other cells come again when their turn comes
  state_.running = Running{propose.execution,     state_.epoch,    propose.replica, propose.code,
                           propose.parent_header, propose.cell_id, propose.life};
  events.push_back(Started{propose.execution, state_.epoch, propose.replica, propose.life});
}

/// Ends a cell that has not started, so that no later bid for it can win. The executor stays the same.
void Session::abort(const Propose& propose, std::vector<Event>& events) {
  state_.elections.erase(propose.execution);
  state_.running = Running{propose.execution,     state_.epoch,    state_.executor, propose.code,
                           propose.parent_header, propose.cell_id, propose.life};
  Ended ended;
  ended.status = Status::kAborted;
  end_running(std::move(ended), {}, {}, false, events);
}

void Session::apply(Commit&& commit, std::vector<Event>& events) {
  if (!state_.running || state_.running->execution != commit.execution ||
      state_.running->epoch != commit.epoch) {
    events.push_back(CommitRefused{commit.execution, commit.epoch});
    return;
  }
  CHECK(commit.epoch == state_.epoch, "P3: a running cell's epoch is not the session's");
  Ended ended;
  ended.status = commit.status;
  ended.reply = std::move(commit.reply);
  ended.reply_metadata = std::move(commit.reply_metadata);
  ended.outputs = std::move(commit.outputs);
  ended.outputs_total = commit.outputs_total;
  ended.execution_count = commit.execution_count;
  ended.runtime_us = commit.runtime_us;
  ended.ended_at_us = commit.ended_at_us;
  ended.failed = commit.delta.failed;
  ended.footprint = std::move(commit.delta.footprint);
  state_.work = ended.footprint.work;
  ended.asked_history = commit.asked_history;
  state_.execution_count = std::max(state_.execution_count, commit.execution_count);
  end_running(std::move(ended), std::move(commit.delta), commit.actions, commit.asked_history, events);
}

void Session::apply(TakeOver&& take_over, std::vector<Event>& events) {
  if (take_over.epoch != state_.epoch) return;
  if (state_.running) lose_running(std::move(take_over.reason), events);
  take_lead_away(events);
}

void Session::apply(Clear&& clear, std::vector<Event>& events) {
  if (clear.request <= state_.last_clear) return;  // proposed twice, or a later restart came first
  state_.last_clear = clear.request;
  if (state_.running) lose_running("the kernel was restarted while the cell ran", events);
  take_lead_away(events);
  state_.cleared = {++state_.last.value};
  grow(state_.cleared, checkpoint::difference(state_.view, {}));
  state_.elections.clear();
  state_.execution_count = 0;
  state_.suspended = false;
  state_.work.clear();
  events.push_back(Cleared{clear.request});
}

void Session::apply(SetMembers&& set, std::vector<Event>& events) {
  state_.members = std::move(set.members);
  state_.members_wish = set.wish;
  events.push_back(MembersChanged{});
}

void Session::apply(Amend&& amend, std::vector<Event>& events) {
  Amended amended{std::move(amend.request), {}};
  if (state_.running || amend.seen != state_.last || amend.amended != state_.amended) {
    amended.refused =
        Error{ErrorKind::kConflict, "a cell runs, or something else moved head meanwhile; try again"};
  } else if (const auto done = perform(amend.actions); !done) {
    amended.refused = done.error();
  } else {
    see_to(amend.actions, events);
  }
  events.push_back(std::move(amended));
}

/// Takes over everything of the other session, except for what belongs to this session's own replicas.
void Session::apply(Import&& import, std::vector<Event>& events) {
  Amended amended{std::move(import.request), {}};
  auto other = restore(import.snapshot);
  if (state_.running || state_.last != CommitId{}) {
    amended.refused =
        Error{ErrorKind::kConflict, "only a session in which nothing has run yet takes another's state"};
  } else if (!other) {
    amended.refused = other.error();
  } else {
    State state = std::move(other->state_);
    state.id = state_.id;
    state.spec = state_.spec;
    state.members = state_.members;
    state.members_wish = state_.members_wish;
    state.epoch = state_.epoch;
    state.executor = state_.executor;
    state.last_clear = state_.last_clear;
    state.suspended = state_.suspended;
    state.running.reset();
    state.elections.clear();
    *this = std::move(*other);
    state_ = std::move(state);
    for (const auto& [digest, uses] : chunks_) moved_.wanted.push_back(digest);
  }
  events.push_back(std::move(amended));
}

void Session::lose_running(std::string reason, std::vector<Event>& events) {
  Ended ended;
  ended.status = Status::kLost;
  ended.reason = std::move(reason);
  end_running(std::move(ended), {}, {}, false, events);
}

void Session::end_running(Ended ended, Delta&& delta, const std::vector<checkpoint::Action>& actions,
                          bool asked_history, std::vector<Event>& events) {
  Running running = std::move(*state_.running);
  state_.running.reset();
  const ExecutionId execution = running.execution;
  const CommitId commit{++state_.last.value};
  ended.parent = refs_.head();
  ended.commit = commit;
  ended.execution = execution;
  ended.epoch = running.epoch;
  ended.code = std::move(running.code);
  ended.parent_header = std::move(running.parent_header);
  ended.cell_id = std::move(running.cell_id);
  // A cell that only looks (it changed no variable) makes no commit of the tree where it asked the history,
  // and where head is no end of a branch, so that the commit would begin a new one.
  const bool looks = asked_history || !actions.empty() || !refs_.names().current;
  if (looks && only_shows(delta)) delta.changed.clear();
  CellEnded event{execution, ended.status, running.executor, bind(commit, std::move(delta))};
  const bool fresh = state_.known.emplace(execution, commit).second;
  CHECK(fresh, "P4: a cell ends twice");
  journal_ += journal_bytes(ended);
  const bool ran = ended.status != Status::kAborted;
  state_.history.emplace(commit, std::move(ended));
  if (event.change != Change{} || (ran && !looks)) {
    end_at(commit, event.change, actions);
  } else if (!actions.empty()) {
    (void)perform(actions);  // the question checked them when the cell asked it
  }
  events.push_back(std::move(event));
  see_to(actions, events);
  forget_old();
  spill();
}

/// Adds the commit of a cell, and performs the actions that the cell asked for. They count from where the
/// cell began: after an undo the cell's own commit stays aside, on the branch that it was made on.
void Session::end_at(CommitId commit, const Change& change, const std::vector<checkpoint::Action>& actions) {
  const CommitId began_at = refs_.head();
  const std::optional<std::string> branch = refs_.names().current;
  if (!actions.empty()) (void)perform(actions);
  const bool moves_head = std::ranges::any_of(
      actions, [](const auto& action) { return std::holds_alternative<checkpoint::Checkout>(action); });
  if (!moves_head) return grow(commit, change);
  tree_.add(commit, began_at, change);
  refs_.committed_aside(commit, branch);
}

/// Performs all of the actions or none of them. Head may be elsewhere afterwards.
Result<Done> Session::perform(const std::vector<checkpoint::Action>& actions) {
  checkpoint::Refs after = refs_;
  for (const auto& action : actions) {
    if (auto done = after.perform(tree_, action); !done) return done;
  }
  if (after.head() != refs_.head()) state_.view = tree_.view(after.head());
  refs_ = std::move(after);
  ++state_.amended;
  return Done{};
}

/// Adds a commit on head. Its values are in the state already.
void Session::grow(CommitId commit, Change change) {
  const bool ends_redo = checkpoint::changes_state(change);
  checkpoint::apply(state_.view, change);
  tree_.add(commit, refs_.head(), std::move(change));
  refs_.committed(commit, ends_redo);
}

/// Leaves the session without an executor, in a new epoch: commits of the old one are refused from now on.
void Session::take_lead_away(std::vector<Event>& events) {
  const bool lost_a_cell = std::any_of(events.begin(), events.end(), [](const Event& event) {
    return std::holds_alternative<CellEnded>(event);
  });
  events.push_back(LeadTaken{state_.executor, lost_a_cell});
  ++state_.epoch.value;
  state_.executor = {};
}

/// Takes in the values that a cell made. A deletion of a name that is not bound is no change.
Change Session::bind(CommitId commit, Delta&& delta) {
  Change change;
  for (const auto& name : delta.deleted) {
    if (state_.view.contains(name)) change.unbound.insert(name);
  }
  const std::set<std::string> alone(delta.alone.begin(), delta.alone.end());
  for (std::string& name : delta.failed) {
    const bool is_alone = alone.contains(name);
    delta.changed.push_back(
        {.names = {std::move(name)}, .blocks = {}, .parts = {}, .type = {}, .alone = is_alone});
  }
  std::uint64_t ordinal = 0;
  for (CoVariable& value : delta.changed) {
    const CoVariableId id{commit, ordinal++};
    for (const auto& name : value.names) {
      change.bound[name] = id;
      change.unbound.erase(name);
    }
    add(id, std::move(value));
  }
  return change;
}

void Session::use(const Chunk& chunk) {
  if (chunk.bytes) {
    inline_bytes_ += chunk.size;
    value_bytes_ += chunk.size;
  } else if (++chunks_[chunk.digest] == 1) {
    value_bytes_ += chunk.size;
    moved_.wanted.push_back(chunk.digest);
  }
}

void Session::unuse(const Chunk& chunk) {
  if (chunk.bytes) {
    inline_bytes_ -= chunk.size;
    value_bytes_ -= chunk.size;
  } else if (const auto used = chunks_.find(chunk.digest); --used->second == 0) {
    chunks_.erase(used);
    state_.elsewhere.sha256.erase(chunk.digest);
    value_bytes_ -= chunk.size;
    moved_.dropped.push_back(chunk.digest);
  }
}

void Session::use(const CoVariable& value) {
  if (!value.kept) return;
  for (const Chunk& block : value.blocks) use(block);
}

void Session::unuse(const CoVariable& value) {
  if (!value.kept) return;
  for (const Chunk& block : value.blocks) unuse(block);
}

void Session::add(const CoVariableId& id, CoVariable&& value) {
  use(value);
  state_.co_variables.emplace(id, std::move(value));
}

void Session::drop(const CoVariableId& id) {
  const auto found = state_.co_variables.find(id);
  if (found == state_.co_variables.end()) return;
  unuse(found->second);
  state_.co_variables.erase(found);
}

/// Keeps within Spec::keep. Everything here depends on the log alone, so all replicas forget the same.
void Session::forget_old() {
  while (state_.history.size() > state_.spec.keep.cells) {
    const auto oldest = state_.history.begin();
    journal_ -= journal_bytes(oldest->second);
    state_.known.erase(oldest->second.execution);
    state_.history.erase(oldest);
  }
  for (auto it = state_.history.begin(); journal_ > state_.spec.keep.journal && it != state_.history.end();
       ++it) {
    journal_ -= journal_bytes(it->second);
    it->second.outputs.clear();
  }
  auto commit = tree_.nodes().begin();
  while (commit != tree_.nodes().end() &&
         (tree_.nodes().size() > state_.spec.keep.cells || value_bytes_ > state_.spec.keep.values)) {
    const CommitId id = (commit++)->first;
    if (!refs_.refers_to(id)) forget(id);
  }
}

void Session::forget(CommitId commit) {
  for (const CoVariableId& version : tree_.forget(commit)) drop(version);
  refs_.forgotten(commit);
}

/// Carries out those actions that are not about head and names (Refs::perform() does these).
void Session::see_to(const std::vector<checkpoint::Action>& actions, std::vector<Event>& events) {
  for (const auto& action : actions) {
    if (const auto* const wanted = std::get_if<checkpoint::Prune>(&action)) {
      for (const CommitId commit : refs_.to_prune(tree_, *wanted)) forget(commit);
    } else if (const auto* const allowed = std::get_if<checkpoint::AllowRepeat>(&action)) {
      for (const CommitId commit : allowed->commits) {
        if (Ended* const cell = find_in(state_.history, commit)) cell->may_repeat = true;
      }
    } else if (const auto* const suspend = std::get_if<checkpoint::Suspend>(&action)) {
      state_.suspended = suspend->suspended;
    } else if (const auto* const over = std::get_if<checkpoint::HandOver>(&action)) {
      hand_over(over->to, events);
    } else if (const auto* const copy = std::get_if<checkpoint::CopyAlways>(&action)) {
      for (const std::string& name : copy->names) {
        if (copy->always) {
          state_.copied_always.insert(name);
        } else {
          state_.copied_always.erase(name);
        }
      }
    }
  }
}

void Session::hand_over(ReplicaId to, std::vector<Event>& events) {
  if (!state_.members.contains(to) || state_.executor == to) return;
  events.push_back(LeadTaken{state_.executor, false});
  ++state_.epoch.value;
  state_.executor = to;
}

/// Moves old values from memory to the disk when there are too many. Which ones depends on the log alone, so
/// that the state stays the same on every replica. Values that head shows stay in memory.
void Session::spill() {
  if (inline_bytes_ <= state_.spec.keep.inline_values) return;
  std::set<CoVariableId> at_head;
  for (const auto& [name, version] : state_.view) at_head.insert(version);
  for (auto& [id, value] : state_.co_variables) {
    if (inline_bytes_ <= state_.spec.keep.inline_values / 2) break;
    if (at_head.contains(id)) continue;
    for (Chunk& block : value.blocks) {
      if (!block.bytes || block.size == 0) continue;
      unuse(block);
      moved_.spilled.push_back(*std::exchange(block.bytes, std::nullopt));
      use(block);
    }
  }
}

const CoVariable& Session::co_variable(const CoVariableId& id) const {
  const CoVariable* const found = find_in(state_.co_variables, id);
  CHECK(found != nullptr, "a view names a co-variable that is gone");
  return *found;
}

const Ended* Session::find(const ExecutionId& execution) const {
  const CommitId* const known = find_in(state_.known, execution);
  return known == nullptr ? nullptr : find_in(state_.history, *known);
}

}  // namespace banyan::session
