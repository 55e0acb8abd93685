#include "node/cell_ending.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "node/gateway_messages.h"

namespace banyan::node {

namespace {

using nlohmann::json;

constexpr Duration kCommitAgain = 1s;
constexpr Duration kSafeAgain = 50ms;   // not safe yet, or no leader took it
constexpr Duration kWaitTold = 2s;      // a cell that waits for copies for so long says so
constexpr Duration kTellAgain = 200ms;  // so often it adds up how much is left

std::uint64_t count_field(std::string_view object) {
  const json parsed = json::parse(object, nullptr, false);
  const auto field = parsed.find("execution_count");  // what is no object has none
  return field != parsed.end() && field->is_number_unsigned() ? field->get<std::uint64_t>() : 0;
}

session::Status status_of(std::string_view reply) {
  const std::string status = text_field(reply, "status");
  if (status == "ok") return session::Status::kOk;
  return status == "aborted" ? session::Status::kAborted : session::Status::kError;
}

bool is_suspension(const checkpoint::Action& action) {
  const auto* const suspend = std::get_if<checkpoint::Suspend>(&action);
  return suspend != nullptr && suspend->suspended;
}

/// The session sleeps after this commit, and what is in memory then may go.
bool suspends(const session::Commit& commit) { return std::ranges::any_of(commit.actions, is_suspension); }

}  // namespace

void CellEnding::on_report(WorkerReport event, const session::Session& session) {
  const Sizes& sizes = parts_.host.sizes();
  // Others ask for what is captured when the commit is in the log, and one that suspends waits for all
  // before.
  const bool waits_for_all = waits_for_all_ || session.spec().durability == session::Durability::kSync ||
                             (!may_lose_ && std::ranges::any_of(actions_, is_suspension));
  ChunkCopies::Limits limits{.inline_max = sizes.inline_chunk_max};
  if (!waits_for_all) limits.awaited_max = sizes.durable_inline;
  copies_.take(event.delta, limits);
  refuse_unknown_blocks(event.delta, session);
  delta_ = std::move(event.delta);
  note_awaited(session, waits_for_all);
  execution_count_ = event.execution_count;
  if (!event.reply) return;
  reply_ = parts_.outputs.own(jupyter::Channel::kShell, "execute_reply", std::move(event.reply->content));
  reply_->metadata = std::move(event.reply->metadata);
}

/// A worker leaves out blocks of what it shows. User code may have made it say anything.
void CellEnding::refuse_unknown_blocks(session::Delta& delta, const session::Session& session) {
  const auto unknown = [&](const session::Chunk& block) {
    return !block.bytes && !session.chunks().contains(block.digest) && !copies_.has(block.digest);
  };
  std::erase_if(delta.changed, [&](const session::CoVariable& value) {
    if (std::ranges::none_of(value.blocks, unknown)) return false;
    parts_.host.log(Log::Level::kError,
                    "session " + session_id_.value + ": a worker named a block that is not there");
    delta.failed.insert(delta.failed.end(), value.names.begin(), value.names.end());
    return true;
  });
}

/// A value that the reply waits for may have blocks that came with an earlier one, and are on their way.
void CellEnding::note_awaited(const session::Session& session, bool waits_for_all) {
  const std::uint64_t most = parts_.host.sizes().durable_inline;
  for (const session::CoVariable& value : delta_->changed) {
    if (!waits_for_all && value.bytes() > most) continue;
    for (const session::Chunk& block : value.blocks) {
      const bool is_old = !block.bytes && session.chunks().contains(block.digest);
      if (is_old && parts_.pending.contains(block.digest)) awaited_.insert(block.digest);
    }
  }
}

void CellEnding::on_history(const std::vector<checkpoint::Action>& actions, bool forced) {
  asked_history_ = true;
  may_lose_ |= forced;
  actions_.insert(actions_.end(), actions.begin(), actions.end());
}

void CellEnding::on_death(const std::string& reason, const session::Session& session) {
  const std::string text = "the kernel died: " + reason + ". Variables are as they were before this cell.";
  json content = {{"ename", "KernelDied"}, {"evalue", text}, {"traceback", {"KernelDied: " + text}}};
  parts_.outputs.add(parts_.outputs.own(jupyter::Channel::kIopub, "error", dump(content)));
  execution_count_ = session.execution_count() + 1;
  content["status"] = "error";
  content["execution_count"] = execution_count_;
  reply_ = parts_.outputs.own(jupyter::Channel::kShell, "execute_reply", dump(content));
  idle_ = true;
  delta_ = session::Delta{};
  actions_.clear();
  copies_.clear();
  awaited_.clear();
  parts_.outputs.send();
}

void CellEnding::forget() {
  reply_.reset();
  idle_ = false;
}

void CellEnding::make_commit_if_complete(const session::Session& session, Epoch epoch, bool fenced,
                                         std::optional<Time> since) {
  if (commit_ || !reply_ || !idle_ || (fenced && !delta_)) return;
  stay_awake_for_own();
  const std::string reply(reply_->content.view());
  session::Commit commit;
  commit.execution = execution_;
  commit.epoch = epoch;
  commit.status = status_of(reply);
  commit.reply = reply;
  commit.reply_metadata = reply_->metadata;
  commit.outputs = parts_.outputs.log().journal();
  commit.outputs_total = parts_.outputs.log().total();
  commit.execution_count = delta_ ? execution_count_ : count_field(reply);
  if (since) commit.runtime_us = microseconds(parts_.host.now().mono - *since);
  if (delta_) {
    commit.delta = *delta_;
  } else {
    commit.delta.footprint.work = session.work();  // a request without code does not look
  }
  if (commit.status == session::Status::kOk) commit.actions = actions_;  // an error takes them back
  commit.asked_history = asked_history_;
  commit.ended_at_us = parts_.host.now().wall.us;
  commit_ = std::move(commit);
  for (const auto& [digest, bytes] : copies_.bytes()) {
    parts_.sync.held().add(execution_, digest);  // until the end is known, which it is not yet
    parts_.chunks.put(digest, bytes);
  }
  for (const auto& [digest, bytes] : copies_.captured()) {
    parts_.sync.held().add(execution_, digest);
    parts_.pending.add(execution_, digest, bytes.size(), session.chunks().contains(digest));
    parts_.chunks.capture(digest, bytes);
  }
  // Who has the reply, and asks how the session is, finds what is pending.
  if (!copies_.captured().empty()) parts_.host.report_soon(session_id_);
  for (const auto& [id, host] : session.members()) {
    if (id != parts_.log.id()) send_copies(host);
  }
  propose_if_safe(session);
}

/// What a cell makes beside its %suspend could not be looked at when that was asked; and such a cell does not
/// run again.
void CellEnding::stay_awake_for_own() {
  if (may_lose_ || !delta_ || delta_->failed.empty()) return;
  if (std::erase_if(actions_, is_suspension) == 0) return;
  parts_.outputs.say("banyan: the session is not suspended: it would lose '" + delta_->failed.front() +
                     "', which this cell made: delete what is not needed, or say --force\n");
}

/// P1: what a reply waits for is on disk at a majority, like the commit itself.
bool CellEnding::is_safe(const session::Session& session) {
  if (!copies_.are_safe(session.members().size() / 2 + 1, parts_.chunks)) return false;
  std::erase_if(awaited_, [this](const Digest& digest) { return !parts_.pending.contains(digest); });
  return awaited_.empty() && (may_lose_ || !suspends(*commit_) || parts_.pending.empty());
}

void CellEnding::propose_if_safe(const session::Session& session) {
  if (!commit_) return;
  const Time now = parts_.host.now().mono;
  if (proposed_at_ && now - *proposed_at_ < kCommitAgain) return;
  repeat_at_ = now + kSafeAgain;
  if (!is_safe(session)) return tell_wait(session, now);
  parts_.outputs.close_progress("has waited for the disks of other hosts",
                                "a majority has stored its values");
  if (!parts_.log.propose(*commit_)) return;
  proposed_at_ = now;
}

/// Where it takes long.
void CellEnding::tell_wait(const session::Session& session, Time now) {
  if (!wait_) wait_ = {.tell_at = now + kWaitTold};
  // There may be thousands of chunks, and this is asked when each is stored.
  if (now < wait_->tell_at) return;
  wait_->tell_at = now + kTellAgain;
  std::uint64_t left = copies_.unsafe_bytes(session.members().size() / 2 + 1, parts_.chunks);
  if (suspends(*commit_) || !awaited_.empty()) left += parts_.pending.bytes();
  wait_->most = std::max(wait_->most, left);
  parts_.outputs.show_progress(
      "waits for the disks of other hosts",
      {.what = "a majority stores " + std::to_string(left / 1'000'000) + " MB of values",
       .percent = wait_->most == 0 ? 0 : 100 * (wait_->most - left) / wait_->most});
}

void CellEnding::repeat_if_due(const session::Session& session) {
  if (commit_) copies_.send_more(parts_.host, {session_id_, execution_});
  if (repeat_at_ && *repeat_at_ <= parts_.host.now().mono) propose_if_safe(session);
}

void CellEnding::on_new_leader(const session::Session& session) {
  proposed_at_.reset();
  propose_if_safe(session);
}

void CellEnding::on_chunk_stored(const HostId& host, const Digest& digest, const session::Session& session) {
  for (const auto& [id, where] : session.members()) {
    if (where == host && id != parts_.log.id()) copies_.on_stored(id, digest);
  }
  if (commit_) copies_.send_more(parts_.host, {session_id_, execution_});
  propose_if_safe(session);
}

/// Of a commit that waits for a majority, which is another one now.
void CellEnding::on_members_changed(const session::Session& session) {
  if (!commit_) return;
  for (const ReplicaId member : copies_.on_members(session.members(), parts_.log.id()))
    send_copies(session.members().at(member));
}

void CellEnding::on_peer_restarted(const HostId& peer, const session::Session& session) {
  if (!commit_) return;
  for (const auto& [id, host] : session.members()) {
    if (host == peer) send_copies(peer);
  }
}

}  // namespace banyan::node
