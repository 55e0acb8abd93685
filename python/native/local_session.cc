#include "local_session.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <utility>
#include <variant>

#include "base/codec.h"
#include "core/session/history.h"

namespace banyan {

namespace {

using session::Command;
using session::Event;

constexpr ReplicaId kSelf{1};
constexpr std::size_t kInlineMax = 64 << 10;  // larger chunks are kept beside the log

/// Puts a chunk's bytes beside the log when they are many, else copies them from the caller's memory.
void settle(session::Chunk& chunk, std::map<Digest, Blob>& beside) {
  if (!chunk.bytes) return;
  if (chunk.size > kInlineMax) {
    beside.insert_or_assign(chunk.digest, *std::exchange(chunk.bytes, std::nullopt));
  } else {
    chunk.bytes = Blob(std::string(chunk.bytes->view()));
  }
}

void settle(session::Delta& delta, std::map<Digest, Blob>& beside) {
  for (session::CoVariable& value : delta.changed) {
    for (session::Chunk& block : value.blocks) settle(block, beside);
  }
}

}  // namespace

LocalSession::LocalSession(const std::string& id, std::uint64_t values_max)
    : session_(SessionId{id}, session::Spec{.kernel_name = "local", .keep = {.values = values_max}},
               {{kSelf, HostId{"local"}}}) {}

Result<LocalSession> LocalSession::restore(const Blob& snapshot) {
  auto session = session::Session::restore(snapshot);
  if (!session) return tl::unexpected(session.error());
  return LocalSession(std::move(*session));
}

Result<Done> LocalSession::replay(const Blob& record) {
  auto commands = decode<std::vector<Command>>(record.view());
  if (!commands) return tl::unexpected(commands.error());
  for (Command& command : *commands) (void)session_.apply(std::move(command));
  return Done{};
}

Result<std::string> LocalSession::ask(std::string_view question) {
  auto answer = session::ask(session_, pending_, question);
  if (!answer) return tl::unexpected(answer.error());
  asked_ = true;
  pending_.insert(pending_.end(), answer->actions.begin(), answer->actions.end());
  return std::move(answer->content);
}

LocalStep LocalSession::commit(LocalCell cell) {
  LocalStep step;
  settle(cell.delta, step.added);
  // Numbers of commits grow, so this names no cell twice.
  const ExecutionId execution{"local-" + std::to_string(session_.last().value + 1)};
  const bool same_executor = session_.executor() == kSelf;
  session::Propose propose{.execution = execution,
                           .replica = kSelf,
                           .code = std::move(cell.code),
                           .parent_header = "{}",
                           .cell_id = {},
                           .life = {},
                           .restarts = session_.last_clear()};
  session::Commit commit{.execution = execution,
                         .epoch = {session_.epoch().value + (same_executor ? 0 : 1)},
                         .status = cell.status,
                         .reply = "{}",
                         .outputs = {},
                         .execution_count = cell.execution_count,
                         .runtime_us = cell.runtime_us,
                         .delta = std::move(cell.delta),
                         .actions = {},
                         .ended_at_us = cell.ended_at_us,
                         .asked_history = std::exchange(asked_, false) || cell.looks};
  auto actions = std::exchange(pending_, {});
  if (cell.status == session::Status::kOk) commit.actions = std::move(actions);  // an error takes them back
  for (const Event& event : apply({std::move(propose), std::move(commit)}, step)) {
    if (const auto* ended = std::get_if<session::CellEnded>(&event)) checkpoint::apply(shown_, ended->change);
  }
  return step;
}

LocalStep LocalSession::restart() {
  LocalStep step;
  (void)apply({session::Clear{session_.last_clear() + 1}}, step);
  shown_.clear();
  return step;
}

std::vector<Event> LocalSession::apply(const std::vector<Command>& commands, LocalStep& step) {
  step.record = encode(commands);
  std::vector<Event> all;
  std::set<Digest> wanted, dropped;
  for (const Command& command : commands) {
    for (Event& event : session_.apply(command)) {
      if (const auto* moved = std::get_if<session::ValuesMoved>(&event)) {
        for (const Blob& chunk : moved->spilled) step.added.insert_or_assign(digest_of(chunk.view()), chunk);
        wanted.insert(moved->wanted.begin(), moved->wanted.end());
        dropped.insert(moved->dropped.begin(), moved->dropped.end());
      }
      all.push_back(std::move(event));
    }
  }
  const auto held = [&](const Digest& digest) { return session_.chunks().contains(digest); };
  // What is held and not wanted newly is in the store already.
  std::erase_if(step.added,
                [&](const auto& chunk) { return !wanted.contains(chunk.first) || !held(chunk.first); });
  std::ranges::copy_if(dropped, std::back_inserter(step.dropped), std::not_fn(held));
  return all;
}

checkpoint::Change LocalSession::behind() const { return checkpoint::difference(shown_, session_.view()); }

void LocalSession::shows_head(const std::vector<std::string>& missing) {
  shown_ = session_.view();
  for (const auto& name : missing) shown_.erase(name);
}

}  // namespace banyan
