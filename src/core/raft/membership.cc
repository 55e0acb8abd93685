#include "core/raft/membership.h"

namespace banyan::raft {
namespace {

void make_voter(Membership& m, ReplicaId id) {
  m.learners.erase(id);
  m.learners_next.erase(id);
  m.voters.insert(id);
}

void make_learner(Membership& m, ReplicaId id) {
  m.voters.erase(id);
  // A replica that still votes in the outgoing half must not be a learner of the same configuration.
  (m.outgoing.contains(id) ? m.learners_next : m.learners).insert(id);
}

void remove(Membership& m, ReplicaId id) {
  m.voters.erase(id);
  m.learners.erase(id);
  m.learners_next.erase(id);
}

Result<Membership> leave_joint(Membership m) {
  if (!is_joint(m)) return fail(ErrorKind::kInvalid, "no joint membership to leave");
  m.learners.merge(m.learners_next);
  m.outgoing.clear();
  m.auto_leave = false;
  return m;
}

void append_ids(std::string& text, const std::set<ReplicaId>& ids) {
  for (const ReplicaId id : ids) {
    if (!text.empty()) text += ' ';
    text += std::to_string(id.value);
  }
}

}  // namespace

Result<Membership> changed(const Membership& before, const Change& change) {
  if (change.steps.empty()) return leave_joint(before);
  if (is_joint(before))
    return fail(ErrorKind::kInvalid, "a joint membership must be left before the next change");
  // One step changes one voter at most, and then any two quorums of before and after meet.
  const bool joint = change.transition != Transition::kAuto || change.steps.size() > 1;
  Membership after = before;
  if (joint) {
    if (before.voters.empty()) return fail(ErrorKind::kInvalid, "a membership without voters cannot change");
    after.outgoing = before.voters;
    after.auto_leave = change.transition != Transition::kJointExplicit;
  }
  for (const ChangeStep& step : change.steps) {
    if (step.id == kNobody) return fail(ErrorKind::kInvalid, "replica id 0 is nobody");
    switch (step.kind) {
      case ChangeKind::kAddVoter:
        make_voter(after, step.id);
        break;
      case ChangeKind::kAddLearner:
        make_learner(after, step.id);
        break;
      case ChangeKind::kRemove:
        remove(after, step.id);
        break;
    }
  }
  if (after.voters.empty()) return fail(ErrorKind::kInvalid, "the change leaves no voter");
  return after;
}

bool is_voter(const Membership& m, ReplicaId id) { return m.voters.contains(id) || m.outgoing.contains(id); }

std::set<ReplicaId> members(const Membership& m) {
  std::set<ReplicaId> all = m.voters;
  for (const auto* part : {&m.outgoing, &m.learners, &m.learners_next})
    all.insert(part->begin(), part->end());
  return all;
}

std::string to_string(const Membership& m) {
  std::string text;
  append_ids(text, m.voters);
  if (is_joint(m)) {
    text += " &";
    append_ids(text, m.outgoing);
  }
  if (!m.learners.empty()) {
    text += " learners";
    append_ids(text, m.learners);
  }
  if (!m.learners_next.empty()) {
    text += " learners-next";
    append_ids(text, m.learners_next);
  }
  if (m.auto_leave) text += " auto-leave";
  return text;
}

}  // namespace banyan::raft
