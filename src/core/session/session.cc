#include "core/session/session.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/codec.h"

namespace banyan::session {

namespace {
constexpr Keep kKeep;

std::uint64_t journal_bytes(const Ended& ended) {
  std::uint64_t bytes = 0;
  for (const auto& output : ended.outputs) bytes += output.size();
  return bytes;
}
}  // namespace

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

Session::Session(Spec spec, Members members) {
  state_.spec = std::move(spec);
  state_.members = std::move(members);
}

Result<Session> Session::restore(const Blob& snapshot) {
  auto state = decode<State>(snapshot.view());
  if (!state) return tl::unexpected(state.error());
  Session session({}, {});
  session.state_ = std::move(*state);
  for (const auto& [commit, ended] : session.state_.history) session.journal_ += journal_bytes(ended);
  return session;
}

Blob Session::snapshot() const { return Blob(encode(state_)); }

std::vector<Event> Session::apply(Command command) {
  std::vector<Event> events;
  std::visit([&](auto& c) { apply(std::move(c), events); }, command);
  return events;
}

void Session::apply(Propose&& propose, std::vector<Event>& events) {
  const bool over = state_.known.contains(propose.execution);
  const bool stranger = !state_.members.contains(propose.replica);
  const bool outdated = propose.restarts < state_.last_clear;
  if (over || stranger || outdated || state_.running) {
    const bool repeated = state_.running && state_.running->execution == propose.execution &&
                          state_.running->executor == propose.replica && state_.running->life == propose.life;
    if (propose.bid == Bid::kLead && !repeated) events.push_back(BidLost{propose.execution, propose.replica});
    return;
  }
  Election& election = state_.elections[propose.execution];
  if (propose.bid == Bid::kYield) {
    election.yielded.insert(propose.replica);
    const bool all = std::all_of(state_.members.begin(), state_.members.end(),
                                 [&](const auto& member) { return election.yielded.contains(member.first); });
    if (!all || election.winner) return;
    events.push_back(AllYielded{propose.execution});
    state_.elections.erase(propose.execution);
    return;
  }
  if (state_.spec.rounds == Rounds::kFirstLead) return start(propose, events);
  if (election.winner) {
    if (election.winner->replica != propose.replica)
      events.push_back(BidLost{propose.execution, propose.replica});
    return;
  }
  events.push_back(VoteWanted{propose.execution, propose.replica});
  election.winner = std::move(propose);
}

void Session::apply(Vote&& vote, std::vector<Event>& events) {
  const auto found = state_.elections.find(vote.execution);
  if (found == state_.elections.end() || state_.running) return;
  Election& election = found->second;
  if (!election.winner || election.winner->replica != vote.winner || !state_.members.contains(vote.voter))
    return;
  election.votes.insert(vote.voter);
  if (election.votes.size() * 2 <= state_.members.size()) return;
  const Propose winner = *election.winner;
  start(winner, events);
}

void Session::start(const Propose& propose, std::vector<Event>& events) {
  CHECK(!state_.running, "P3: two cells of a session run at once");
  CHECK(!state_.known.contains(propose.execution), "P2: a cell starts that had ended");
  // An executor keeps its epoch for consecutive cells; any other replica opens a new one.
  if (state_.executor != propose.replica) {
    ++state_.epoch.value;
    state_.executor = propose.replica;
  }
  state_.elections.clear();  // one cell at a time: other bids were for this one or come again
  state_.running = Running{propose.execution,     state_.epoch,    propose.replica, propose.code,
                           propose.parent_header, propose.cell_id, propose.life};
  events.push_back(Started{propose.execution, state_.epoch, propose.replica, propose.life});
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
  state_.execution_count = std::max(state_.execution_count, commit.execution_count);
  end_running(std::move(ended), events);
  change_namespace(commit.delta);
}

void Session::apply(TakeOver&& take_over, std::vector<Event>& events) {
  if (take_over.epoch != state_.epoch) return;
  if (state_.running) lose_running(std::move(take_over.reason), events);
  take_lead_away(events);
}

void Session::apply(Clear&& clear, std::vector<Event>& events) {
  if (clear.request <= state_.last_clear) return;  // said twice, or overtaken
  state_.last_clear = clear.request;
  if (state_.running) lose_running("the kernel was restarted while the cell ran", events);
  take_lead_away(events);
  state_.cleared = {++state_.head.value};
  state_.view.clear();
  state_.co_variables.clear();
  state_.elections.clear();
  state_.execution_count = 0;
  events.push_back(Cleared{clear.request});
}

void Session::apply(SetMembers&& set, std::vector<Event>& events) {
  state_.members = std::move(set.members);
  events.push_back(MembersChanged{});
}

void Session::lose_running(std::string reason, std::vector<Event>& events) {
  Ended ended;
  ended.status = Status::kLost;
  ended.reason = std::move(reason);
  end_running(std::move(ended), events);
}

void Session::end_running(Ended ended, std::vector<Event>& events) {
  Running running = std::move(*state_.running);
  state_.running.reset();
  const ExecutionId execution = running.execution;
  ended.parent = state_.head;
  ended.commit = {++state_.head.value};
  ended.execution = execution;
  ended.epoch = running.epoch;
  ended.code = std::move(running.code);
  ended.parent_header = std::move(running.parent_header);
  ended.cell_id = std::move(running.cell_id);
  events.push_back(CellEnded{execution, ended.status, running.executor});
  const bool fresh = state_.known.emplace(execution, ended.commit).second;
  CHECK(fresh, "P4: a cell ends twice");
  journal_ += journal_bytes(ended);
  state_.history.emplace(ended.commit, std::move(ended));
  forget_old();
}

void Session::take_lead_away(std::vector<Event>& events) {
  const bool lost_a_cell = std::any_of(events.begin(), events.end(), [](const Event& event) {
    return std::holds_alternative<CellEnded>(event);
  });
  events.push_back(LeadTaken{state_.executor, lost_a_cell});
  ++state_.epoch.value;
  state_.executor = {};
}

void Session::unbind(const std::string& name) {
  const auto bound = state_.view.find(name);
  if (bound == state_.view.end()) return;
  const auto group = state_.co_variables.find(bound->second);
  state_.view.erase(bound);
  auto& names = group->second.names;
  names.erase(std::remove(names.begin(), names.end(), name), names.end());
  if (names.empty()) state_.co_variables.erase(group);
}

void Session::change_namespace(const Delta& delta) {
  for (const auto& name : delta.deleted) unbind(name);
  for (const auto& name : delta.failed) unbind(name);
  std::uint64_t ordinal = 0;
  for (const CoVariable& changed : delta.changed) {
    const CoVariableId id{state_.head, ordinal++};
    for (const auto& name : changed.names) {
      unbind(name);
      state_.view.emplace(name, id);
    }
    state_.co_variables.emplace(id, changed);
  }
}

void Session::forget_old() {
  while (state_.history.size() > kKeep.cells) {
    const auto oldest = state_.history.begin();
    journal_ -= journal_bytes(oldest->second);
    state_.known.erase(oldest->second.execution);
    state_.history.erase(oldest);
  }
  for (auto it = state_.history.begin(); journal_ > kKeep.journal && it != state_.history.end(); ++it) {
    journal_ -= journal_bytes(it->second);
    it->second.outputs.clear();
  }
}

const CoVariable& Session::co_variable(const CoVariableId& id) const {
  const auto found = state_.co_variables.find(id);
  CHECK(found != state_.co_variables.end(), "a view names a co-variable that is gone");
  return found->second;
}

const Ended* Session::find(const ExecutionId& execution) const {
  const auto known = state_.known.find(execution);
  if (known == state_.known.end()) return nullptr;
  const auto found = state_.history.find(known->second);
  return found == state_.history.end() ? nullptr : &found->second;
}

}  // namespace banyan::session
