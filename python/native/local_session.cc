#include "local_session.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <utility>
#include <variant>

#include "base/codec.h"
#include "core/session/history.h"
#include "core/session/lineage.h"
#include "core/view/shown.h"

namespace banyan {

namespace {

using session::Command;
using session::Event;

constexpr ReplicaId kSelf{1};
constexpr std::size_t kInlineMax = 64 << 10;  // Larger chunks are kept beside the log.

/// Moves the bytes of a large chunk to those beside the log, and copies those of a small one, which are in
/// the caller's memory.
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

Result<std::string> LocalSession::look(std::string_view question) const {
  auto answer = session::ask(session_, pending_, question);
  if (!answer) return tl::unexpected(answer.error());
  return answer->actions.empty() ? std::move(answer->content) : std::string();
}

LocalStep LocalSession::commit(LocalCell cell) {
  LocalStep step;
  settle(cell.delta, step.added);
  // Commits have growing numbers, so no two cells get the same name.
  const ExecutionId execution{"local-" + std::to_string(session_.last().value + 1)};
  view_.on_ran(CommitId{session_.last().value + 1});
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
  if (!actions.empty()) {  // The user has asked for something new, so what failed before is tried again.
    view_.forget_failures();
    refused_.clear();
  }
  // If the cell ended with an error, they are dropped.
  if (cell.status == session::Status::kOk) commit.actions = std::move(actions);
  for (const Event& event : apply({std::move(propose), std::move(commit)}, step)) {
    if (const auto* ended = std::get_if<session::CellEnded>(&event)) view_.on_changed(ended->change);
  }
  needed_.clear();
  return step;
}

LocalStep LocalSession::restart() {
  LocalStep step;
  (void)apply({session::Clear{session_.last_clear() + 1}}, step);
  view_.on_emptied();
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
  // A chunk that is held but is not newly wanted is in the store already.
  std::erase_if(step.added,
                [&](const auto& chunk) { return !wanted.contains(chunk.first) || !held(chunk.first); });
  std::ranges::copy_if(dropped, std::back_inserter(step.dropped), std::not_fn(held));
  return all;
}

void LocalSession::need(const std::vector<std::string>& names) { needed_.insert(names.begin(), names.end()); }

/// A name that a cell has bound anew is no longer unread.
std::vector<std::string> LocalSession::unread() const {
  std::vector<std::string> names;
  for (const auto& [name, version] : view_.unread()) {
    if (view::shows(session_.view(), name, version)) names.push_back(name);
  }
  return names;
}

const LocalRepeat* LocalSession::next_repeat() {
  repeat_.reset();
  const view::Standing standing{.session = session_,
                                .refused = refused_,
                                .gpus = session::kAnyGpus,  // Those of the machine on which the cells ran.
                                .reads = needed_};
  view_.look_at_all_again();
  view_.leave_unread(standing);
  std::optional<planner::Step> step = view_.plan(standing).step;
  if (!step) return nullptr;
  const session::Ended& cell = session_.history().at(step->cell);
  repeat_ = LocalRepeat{.load = std::move(step->load),
                        .unbind = std::move(step->unbind),
                        .commit = step->cell,
                        .code = cell.code,
                        .fails = cell.status == session::Status::kError,
                        .makes = session::made_by(session_, step->cell)};
  return &*repeat_;
}

void LocalSession::repeated(const std::vector<std::string>& made, const std::vector<std::string>& changed,
                            const std::string& error) {
  if (!repeat_) return;
  view_.on_changed({.bound = repeat_->load, .unbound = repeat_->unbind});
  view_.on_repeated(session_, {.commit = repeat_->commit, .made = made, .changed = changed, .error = error},
                    refused_);
}

void LocalSession::cannot_load(const std::vector<std::string>& names,
                               const std::vector<std::string>& as_before) {
  const checkpoint::View& wanted = repeat_ ? repeat_->load : session_.view();
  view_.on_changed(repeat_ ? checkpoint::Change{.bound = repeat_->load, .unbound = repeat_->unbind}
                           : behind());
  for (const auto& name : names) {
    if (const auto version = wanted.find(name); version != wanted.end()) {
      view_.on_not_loaded(name, version->second);
    } else {
      view_.on_changed({.bound = {}, .unbound = {name}});
    }
  }
  for (const auto& name : as_before)
    view_.on_changed({.bound = {{name, view::unknown_after(session_.last())}}, .unbound = {}});
}

void LocalSession::shows_head() { view_.on_changed(behind()); }

}  // namespace banyan
