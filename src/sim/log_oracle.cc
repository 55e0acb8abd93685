#include "sim/log_oracle.h"

#include <algorithm>
#include <utility>

#include "base/codec.h"
#include "base/overloaded.h"
#include "core/raft/membership.h"
#include "core/session/session.h"
#include "sim/json_field.h"
#include "sim/model_python.h"

namespace banyan::sim {

namespace {

/// What a host keeps of a replica begins with its id.
struct MetaBegins {
  ReplicaId id;
};

/// The digest of the namespace after a commit in a session whose namespace had that `state`. A cell may have
/// run where some values were missing. They are in the session still, and may come back.
std::string state_after(const std::string& state, const session::Commit& commit, LargeValues& values) {
  std::string after = text_of(commit.reply, "after");
  const std::string before = text_of(commit.reply, "before");
  if (before.empty() || before == state) return after;
  const auto session = values.variables(state), had = values.variables(before),
             left = values.variables(after);
  if (!session || !had || !left) return after;
  return values.note_namespace(text_of_variables(after_cell(*session, *had, *left)));
}

}  // namespace

StateOf StateOf::of(const session::Session& session) {
  return {session.id(), session.members().begin()->first, {session.last(), session.amended()}};
}

const std::string& LogOracle::empty_state() {
  static const std::string digest = Namespace().digest();
  return digest;
}

void LogOracle::durable(const HostId& host, const std::vector<node::DiskWrite>& batch) {
  std::set<SessionId> touched;
  for (const node::DiskWrite& write : batch) stored(host, write, touched);
  // Only now: within a batch a commit index may come before the entries that it speaks of.
  for (const SessionId& session : touched) {
    if (!sessions_[session].at.contains(host)) continue;  // dropped again
    Group& group = group_of(session, host);
    mark(session, group, group.copies[host]);
  }
}

/// Of the session whose replica the host holds; when it holds none, it becomes one of the last session's.
LogOracle::Group& LogOracle::group_of(const SessionId& session, const HostId& host) {
  Sessions& all = sessions_[session];
  if (all.groups.empty()) all.groups.emplace_back();
  return all.groups[all.at.try_emplace(host, all.groups.size() - 1).first->second];
}

const LogOracle::Group* LogOracle::last_group(const SessionId& session) const {
  const auto found = sessions_.find(session);
  return found == sessions_.end() || found->second.groups.empty() ? nullptr : &found->second.groups.back();
}

void LogOracle::stored(const HostId& host, const node::DiskWrite& write, std::set<SessionId>& touched) {
  const auto group = [&](const SessionId& session) -> Group& {
    touched.insert(session);
    return group_of(session, host);
  };
  std::visit(Overloaded{
                 [&](const node::PutEntries& put) { stored(group(put.session), host, put); },
                 [&](const node::PutMeta& put) { stored(group(put.session), host, put); },
                 [&](const node::PutSnapshot& put) {
                   if (put.snapshot.index.value == 1) born(host, put);
                   stored(group(put.session), host, put);
                 },
                 [&](const node::PutHardState& put) {
                   group(put.session).copies[host].commit = put.hard_state.commit;
                 },
                 [&](const node::DropReplica& drop) { dropped(host, drop.session); },
                 [&](const node::PutChunk& put) { values_.stored(host, put.digest); },
                 [&](const node::DropChunk& drop) { values_.dropped(host, drop.digest); },
                 [](const auto&) {},
             },
             write);
}

void LogOracle::lost_disk(const HostId& host) {
  values_.lost_disk(host);
  for (auto& [session, all] : sessions_) {
    const auto at = all.at.find(host);
    if (at == all.at.end()) continue;
    Group& group = all.groups[at->second];
    group.lost.push_back({host, std::move(group.copies[host]), group.last_wish});
    group.copies.erase(host);
    all.at.erase(at);
  }
}

void LogOracle::broken_contract(const HostId& host, std::string what) {
  report_("disk of " + host.value + ": " + std::move(what));
}

void LogOracle::learn(Group& group, const raft::Entry& entry) {
  const std::pair place{entry.index, entry.term};
  const Digest digest = digest_of(entry.data.view());
  const auto [found, fresh] = group.known.try_emplace(place);
  Known& known = found->second;
  if (!fresh) {
    if (known.digest != digest)
      report_("log matching: entry " + std::to_string(entry.index.value) + " of term " +
              std::to_string(entry.term.value) + " has two contents");
    return;
  }
  known.type = entry.type;
  known.digest = digest;
  // A leader puts a change into effect when its own disk tells that it is committed. Which host leads is not
  // known here. It may be any whose disk does not tell that yet, also one whose slow disk lacks the change.
  if (std::ranges::any_of(group.members_before, [&](const auto& member) {
        const auto copy = group.copies.find(member.second);
        return copy != group.copies.end() && copy->second.commit < group.changed_at;
      }))
    group.counted_before = std::max(group.counted_before, entry.index);
  if (entry.type == raft::EntryType::kCommand) {
    if (auto command = decode<session::Command>(entry.data.view())) known.command = std::move(*command);
  } else if (entry.type == raft::EntryType::kChange) {
    const auto change = decode<raft::Change>(entry.data.view());
    if (change && !change->context.empty()) {
      if (auto members = decode<session::SetMembers>(change->context.view()))
        known.command = std::move(*members);
    }
  }
  if (!known.command) return;
  if (const auto* set = std::get_if<session::SetMembers>(&*known.command))
    group.last_wish = std::max(group.last_wish, set->wish);
  if (const auto* propose = std::get_if<session::Propose>(&*known.command)) {
    if (propose->bid == session::Bid::kLead && !propose->aborts)
      group.leads[propose->execution].insert(place);
  } else if (const auto* commit = std::get_if<session::Commit>(&*known.command)) {
    group.commits[commit->execution].insert(place);
  } else if (const auto* import = std::get_if<session::Import>(&*known.command)) {
    group.imports[import->request].insert(place);
  }
}

/// A replica whose disk was lost has forgotten its votes, and what it has acknowledged. When the log names
/// it, its id must not be used again: it would be counted.
/// Of two members each majority has both, so that what one has forgotten the other one knows.
void LogOracle::stored(Group& group, const HostId& host, const node::PutMeta& put) {
  const auto meta = decode<MetaBegins>(put.meta);
  if (!meta) return;
  Copy& copy = group.copies[host];
  if (copy.replica == meta->id) return;
  copy.replica = meta->id;
  const bool forgot =
      std::ranges::any_of(group.lost, [&](const Lost& item) { return item.copy.replica == meta->id; });
  if (forgot && names(group, meta->id) && group.ever.size() != 2)
    report_("replica " + std::to_string(meta->id.value) + " of session " + put.session.value +
            " begins anew on " + host.value + ", whose disk was lost with its votes");
}

bool LogOracle::names(const Group& group, ReplicaId member) {
  if (group.ever.contains(member)) return true;
  return std::ranges::any_of(group.known, [&](const auto& entry) {
    if (!entry.second.command) return false;
    const auto* set = std::get_if<session::SetMembers>(&*entry.second.command);
    return set != nullptr && set->members.contains(member);
  });
}

void LogOracle::stored(Group& group, const HostId& host, const node::PutEntries& put) {
  Copy& copy = group.copies[host];
  copy.entries.erase(copy.entries.upper_bound(put.truncate_after), copy.entries.end());
  for (const raft::Entry& entry : put.entries) {
    learn(group, entry);
    copy.entries[entry.index] = entry.term;
  }
}

/// The first snapshot of a session names its founders: those of another session of the same id have other
/// ids. What the host has written of the replica before belongs to that session, too.
void LogOracle::born(const HostId& host, const node::PutSnapshot& put) {
  const auto founded = session::Session::restore(put.snapshot.data);
  if (!founded) return;
  Sessions& all = sessions_[put.session];
  const ReplicaId founder = founded->members().begin()->first;
  const auto own = std::ranges::find_if(
      all.groups, [&](const Group& group) { return group.ever.empty() || group.ever.contains(founder); });
  const auto number = static_cast<std::size_t>(own - all.groups.begin());
  if (own == all.groups.end()) all.groups.emplace_back();
  Group& group = all.groups[number];
  if (const auto at = all.at.find(host); at != all.at.end() && at->second != number) {
    group.copies[host] = std::move(all.groups[at->second].copies[host]);
    all.groups[at->second].copies.erase(host);
  }
  all.at[host] = number;
  if (!group.members.empty()) return;
  group.members = founded->members();
  group.ever.insert(group.members.begin(), group.members.end());
}

void LogOracle::dropped(const HostId& host, const SessionId& session) {
  Sessions& all = sessions_[session];
  const auto at = all.at.find(host);
  if (at == all.at.end()) return;
  all.groups[at->second].copies.erase(host);
  all.at.erase(at);
}

void LogOracle::stored(Group& group, const HostId& host, const node::PutSnapshot& put) {
  Copy& copy = group.copies[host];
  const auto at = copy.entries.find(put.snapshot.index);
  if (at != copy.entries.end() && at->second == put.snapshot.term) {
    // The copy still has the entries that the snapshot stands for, so they tell what it says.
    for (auto it = copy.entries.begin(); it != copy.entries.end() && it->first <= put.snapshot.index; ++it)
      group.committed.try_emplace(it->first, it->second);
  }
  group.committed.try_emplace(put.snapshot.index, put.snapshot.term);
  copy.snapshot = put.snapshot.index;
  copy.snapshot_term = put.snapshot.term;
  copy.marked = std::max(copy.marked, put.snapshot.index);
  copy.entries.erase(copy.entries.begin(), copy.entries.upper_bound(put.snapshot.index));
}

void LogOracle::mark(const SessionId& session, Group& group, Copy& copy) {
  for (auto it = copy.entries.upper_bound(copy.marked); it != copy.entries.end() && it->first <= copy.commit;
       ++it) {
    const auto [known, fresh] = group.committed.try_emplace(it->first, it->second);
    if (!fresh && known->second != it->second)
      report_("state machine safety: session " + session.value + " commits entry " +
              std::to_string(it->first.value) + " in terms " + std::to_string(known->second.value) + " and " +
              std::to_string(it->second.value));
    copy.marked = it->first;
  }
  replay(session, group);
}

void LogOracle::replay(const SessionId& session, Group& group) {
  while (true) {
    const raft::Index next = group.replayed + 1;
    const auto committed = group.committed.find(next);
    if (committed == group.committed.end()) return;
    const auto known = group.known.find({next, committed->second});
    if (known == group.known.end()) return;
    group.replayed = next;
    if (!known->second.command) continue;
    replay_command(session, group, next, *known->second.command);
    group.heads[{{group.last_commit}, group.amended}] = group.state;
  }
}

void LogOracle::end_running(Group& group, session::Status status, raft::Index at) {
  CommittedCell& cell = group.cells[*group.running];
  cell.ended = status;
  cell.ended_at = at;
  group.states[{++group.last_commit}] = group.state;
  group.running.reset();
}

void LogOracle::replay_command(const SessionId& session, Group& group, raft::Index at,
                               const session::Command& command) {
  const auto lose_lead = [&] {
    if (group.running) end_running(group, session::Status::kLost, at);
    ++group.epoch.value;
    group.executor = {};
  };
  std::visit(
      Overloaded{
          [&](const session::Propose& propose) {
            if (propose.bid != session::Bid::kLead || group.running ||
                group.cells.contains(propose.execution) || !group.members.contains(propose.replica) ||
                propose.restarts < group.last_clear)
              return;
            if (propose.aborts) {
              group.running = propose.execution;
              end_running(group, session::Status::kAborted, at);
              return;
            }
            if (group.executor != propose.replica) {
              group.executor = propose.replica;
              ++group.epoch.value;
            }
            group.running = propose.execution;
            group.suspended = false;
            CommittedCell& cell = group.cells[propose.execution];
            cell.executor = group.ever[propose.replica];
            cell.epoch = group.epoch;
            cell.clears = group.clears;
            cell.state_before = group.state;
            cell.started_at = at;
          },
          [&](const session::Commit& commit) {
            if (group.running != commit.execution || commit.epoch != group.epoch) return;
            CommittedCell& cell = group.cells[commit.execution];
            cell.reply = commit.reply;
            cell.execution_count = commit.execution_count;
            end_running(group, commit.status, at);
            if (const std::string after = text_of(commit.reply, "after"); !after.empty()) {
              group.state = state_after(group.state, commit, values_);
              if (commit.execution_count <= group.execution_count)
                report_("session " + session.value + ": execution_count of " + commit.execution.value +
                        " does not grow");
            }
            group.execution_count = std::max(group.execution_count, commit.execution_count);
            group.states[{group.last_commit}] = group.state;
            if (!commit.actions.empty()) ++group.amended;
            for (const auto& action : commit.actions) {
              const auto* checkout = std::get_if<checkpoint::Checkout>(&action);
              if (checkout == nullptr) continue;
              const auto there = group.states.find(checkout->commit);
              const bool brought = group.imported && checkout->commit <= group.imported->at.last;
              if (there != group.states.end())
                group.state = there->second;
              else if (brought)
                group.state.clear();  // the log that it was exported from was not known so far
              else
                report_("session " + session.value + ": a checkout of a commit that never was");
            }
          },
          [&](const session::TakeOver& take_over) {
            if (take_over.epoch == group.epoch) lose_lead();
          },
          [&](const session::Clear& clear) {
            if (clear.request <= group.last_clear) return;
            group.last_clear = clear.request;
            ++group.clears;
            lose_lead();
            group.state = empty_state();
            group.states[{++group.last_commit}] = group.state;
            group.execution_count = 0;
            group.suspended = false;
          },
          [&](const session::SetMembers& set) {
            group.members_before = std::exchange(group.members, set.members);
            group.counted_before = group.known.rbegin()->first.first;
            group.changed_at = at;
            group.ever.insert(set.members.begin(), set.members.end());
          },
          [](const session::Retired&) {},
          [&](const session::Amend& amend) {
            if (group.running || amend.seen.value != group.last_commit || amend.amended != group.amended)
              return;
            ++group.amended;
            for (const auto& action : amend.actions) {
              if (const auto* const rest = std::get_if<checkpoint::Suspend>(&action))
                group.suspended = rest->suspended;
              const auto* const over = std::get_if<checkpoint::HandOver>(&action);
              if (over == nullptr || over->to == group.executor || !group.members.contains(over->to))
                continue;
              group.executor = over->to;
              ++group.epoch.value;
            }
          },
          [&](const session::Import& import) { take_over_state(group, import); },
      },
      command);
}

/// Only a session in which nothing has happened takes another one's state. What that state comes to is known
/// from the log of the session that it was exported from.
void LogOracle::take_over_state(Group& group, const session::Import& import) {
  const auto brought = session::Session::restore(import.snapshot);
  if (!brought || group.running || group.last_commit != 0) return;
  group.imported = StateOf::of(*brought);
  group.state.clear();
  group.states.clear();
  group.heads.clear();
  if (const Group* const from = group_with(group.imported->session, group.imported->member)) {
    if (const auto head = from->heads.find(group.imported->at); head != from->heads.end())
      group.state = head->second;
    group.states = {from->states.begin(), from->states.upper_bound(brought->last())};
  }
  group.last_commit = brought->last().value;
  group.amended = brought->amended();
  group.execution_count = brought->execution_count();
}

std::size_t LogOracle::copies_of(const Group& group, raft::Index index, raft::Term term) {
  const auto has = [&](const Copy& copy) {
    const auto entry = copy.entries.find(index);
    if (entry != copy.entries.end()) return entry->second == term;
    return copy.snapshot >= index;
  };
  std::set<HostId> hosts;
  for (const auto& [host, copy] : group.copies)
    if (has(copy)) hosts.insert(host);
  for (const Lost& lost : group.lost)
    if (has(lost.copy)) hosts.insert(lost.host);
  return hosts.size();
}

/// The smallest membership whose majority may have committed the entry at `index`. Raft counts over the
/// members that are in effect on the leader: a change itself is counted over the members before it, an entry
/// after a change over those of the change, or before it where the leader's disk does not tell yet that the
/// change is committed. No disk need tell that, so changes after `replayed` count too.
std::size_t LogOracle::fewest_members(const Group& group, raft::Index index) {
  std::size_t fewest = group.members.size();
  if (index <= group.counted_before) fewest = std::min(fewest, group.members_before.size());
  for (auto it = group.known.lower_bound({group.replayed, {}});
       it != group.known.end() && it->first.first <= index; ++it) {
    if (!it->second.command) continue;
    if (const auto* set = std::get_if<session::SetMembers>(&*it->second.command))
      fewest = std::min(fewest, set->members.size());
  }
  return fewest;
}

bool LogOracle::on_majority(const Group& group, const std::set<std::pair<raft::Index, raft::Term>>& places) {
  return std::any_of(places.begin(), places.end(), [&](const auto& place) {
    return copies_of(group, place.first, place.second) * 2 > fewest_members(group, place.first);
  });
}

bool LogOracle::lead_durable(const SessionId& session, const ExecutionId& execution) const {
  const Group* const group = last_group(session);
  if (group == nullptr) return false;
  const auto places = group->leads.find(execution);
  return places != group->leads.end() && on_majority(*group, places->second);
}

bool LogOracle::commit_durable(const SessionId& session, const ExecutionId& execution) const {
  const Group* const group = last_group(session);
  if (group == nullptr) return false;
  const auto places = group->commits.find(execution);
  return places != group->commits.end() && on_majority(*group, places->second);
}

std::optional<session::Session> LogOracle::import_durable(const SessionId& session,
                                                          const std::string& request) const {
  const Group* const group = last_group(session);
  if (group == nullptr) return std::nullopt;
  const auto places = group->imports.find(request);
  if (places == group->imports.end() || !on_majority(*group, places->second)) return std::nullopt;
  const auto& entry = group->known.at(*places->second.begin());
  auto brought = session::Session::restore(std::get<session::Import>(*entry.command).snapshot);
  return brought ? std::optional(std::move(*brought)) : std::nullopt;
}

const LogOracle::Group* LogOracle::group_with(const SessionId& session, ReplicaId member) const {
  const auto all = sessions_.find(session);
  if (all == sessions_.end()) return nullptr;
  const auto& groups = all->second.groups;
  const auto found =
      std::ranges::find_if(groups, [&](const Group& group) { return group.ever.contains(member); });
  return found == groups.end() ? nullptr : &*found;
}

StandAt LogOracle::stands_at(const SessionId& session) const {
  const Group* const group = last_group(session);
  return group == nullptr ? StandAt{} : StandAt{{group->last_commit}, group->amended};
}

bool LogOracle::is_there(const StateOf& state) const {
  const Group* const group = group_with(state.session, state.member);
  return group != nullptr && !group->copies.empty();
}

std::optional<std::string> LogOracle::digest_in(const StateOf& state) const {
  const Group* const group = group_with(state.session, state.member);
  if (group == nullptr) return std::nullopt;
  const auto head = group->heads.find(state.at);
  return head == group->heads.end() ? std::nullopt : std::optional(head->second);
}

bool LogOracle::of_last_session(const SessionId& session, const ExecutionId& execution) const {
  const Group* const group = last_group(session);
  return group != nullptr && group->leads.contains(execution);
}

const CommittedCell* LogOracle::find(const SessionId& session, const ExecutionId& execution) const {
  const Group* const group = last_group(session);
  if (group == nullptr) return nullptr;
  const auto cell = group->cells.find(execution);
  return cell == group->cells.end() ? nullptr : &cell->second;
}

bool LogOracle::suspended(const SessionId& session) const {
  const Group* const last = last_group(session);
  if (last == nullptr) return false;
  const Group& group = *last;
  bool suspended = group.suspended;
  // The last entries may be committed although no disk says so yet: a majority of copies decides.
  for (auto it = group.known.upper_bound({group.replayed + 1, {}}); it != group.known.end(); ++it) {
    if (!it->second.command || !on_majority(group, {it->first})) continue;
    if (const auto* propose = std::get_if<session::Propose>(&*it->second.command)) {
      if (propose->bid == session::Bid::kLead && !propose->aborts) suspended = false;
    } else if (const auto* amend = std::get_if<session::Amend>(&*it->second.command)) {
      for (const auto& action : amend->actions) {
        if (const auto* rest = std::get_if<checkpoint::Suspend>(&action)) suspended = rest->suspended;
      }
    }
  }
  return suspended;
}

std::string LogOracle::state(const SessionId& session) const {
  const Group* const group = last_group(session);
  return group == nullptr ? empty_state() : group->state;
}

std::vector<HostId> LogOracle::hosts(const SessionId& session) const {
  std::vector<HostId> hosts;
  const Group* const group = last_group(session);
  if (group == nullptr) return hosts;
  for (const auto& [id, host] : group->members) hosts.push_back(host);
  return hosts;
}

std::vector<HostId> LogOracle::holders(const SessionId& session) const {
  std::vector<HostId> hosts;
  if (const Group* const group = last_group(session))
    for (const auto& [host, copy] : group->copies) hosts.push_back(host);
  return hosts;
}

std::vector<std::string> LogOracle::laggards(const SessionId& session) const {
  std::vector<std::string> names;
  const Group* const last = last_group(session);
  if (last == nullptr) return names;
  const Group& group = *last;
  const auto end = group.committed.rbegin();
  if (end == group.committed.rend()) return names;
  for (const auto& [id, host] : group.members) {
    const auto copy = group.copies.find(host);
    const bool holds =
        copy != group.copies.end() &&
        (copy->second.snapshot >= end->first ||
         (copy->second.entries.contains(end->first) && copy->second.entries.at(end->first) == end->second));
    if (!holds) names.push_back(host.value);
  }
  return names;
}

/// A host that has come back with an empty disk may have a replica of the same session, which is another one.
bool LogOracle::has_copy(const Group& group, ReplicaId member, const HostId& host) {
  const auto copy = group.copies.find(host);
  return copy != group.copies.end() &&
         (copy->second.replica == member || copy->second.replica == ReplicaId{});
}

std::vector<HostId> LogOracle::forgetful(const SessionId& session) const {
  std::vector<HostId> hosts;
  const Group* const group = last_group(session);
  if (group == nullptr) return hosts;
  for (const auto& [id, host] : group->members) {
    const bool lost = std::ranges::any_of(
        group->lost, [&](const Lost& item) { return item.host == host && item.copy.replica == id; });
    if (lost && !has_copy(*group, id, host)) hosts.push_back(host);
  }
  return hosts;
}

bool LogOracle::survives_without(const std::set<HostId>& hosts) const {
  return std::ranges::all_of(sessions_, [&](const auto& item) {
    if (item.second.groups.empty()) return true;
    const Group& group = item.second.groups.back();
    if (group.copies.empty()) return true;  // the session was deleted, or has not begun
    const auto fits = [&](const session::Members& members, std::ptrdiff_t lost_beside = 0) {
      const auto stay = std::ranges::count_if(members, [&](const auto& member) {
        return !hosts.contains(member.second) && has_copy(group, member.first, member.second);
      });
      return members.empty() || stay * 2 > std::ssize(members) + lost_beside;
    };
    const auto joins = [&](const Copy& copy) {
      return copy.replica != ReplicaId{} && !names(group, copy.replica);
    };
    const auto lost_now = std::ranges::count_if(
        group.copies, [&](const auto& copy) { return hosts.contains(copy.first) && joins(copy.second); });
    const auto lost_before = std::ranges::count_if(
        group.lost, [&](const Lost& lost) { return lost.wish == group.last_wish && joins(lost.copy); });
    if (!fits(group.members, lost_now + lost_before) || !fits(group.members_before)) return false;
    return std::ranges::all_of(group.known, [&](const auto& entry) {
      if (entry.first.first <= group.replayed || !entry.second.command) return true;
      const auto* set = std::get_if<session::SetMembers>(&*entry.second.command);
      return set == nullptr || fits(set->members);
    });
  });
}

std::string LogOracle::progress(const SessionId& session) const {
  const Group* const last = last_group(session);
  if (last == nullptr) return "no log";
  const Group& group = *last;
  std::string text = "log replayed to " + std::to_string(group.replayed.value);
  if (!group.committed.empty()) text += " of " + std::to_string(group.committed.rbegin()->first.value);
  for (const auto& [host, copy] : group.copies) {
    text += "; " + host.value + " snapshot " + std::to_string(copy.snapshot.value) + " entries";
    if (!copy.entries.empty())
      text += " " + std::to_string(copy.entries.begin()->first.value) + "-" +
              std::to_string(copy.entries.rbegin()->first.value);
    text += " commit " + std::to_string(copy.commit.value);
  }
  return text;
}

}  // namespace banyan::sim
