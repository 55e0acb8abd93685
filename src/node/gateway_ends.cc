#include "node/gateway_ends.h"

#include <algorithm>
#include <utility>

#include "node/gateway_messages.h"

namespace banyan::node {

namespace {

constexpr std::size_t kEndedMax = 256;  // cells whose end is remembered after it was delivered

/// Why the cell was lost, aborted or refused, when no worker has replied to it.
Verdict verdict_of(const ExecutionEnded& end) {
  const std::string reason = end.reason.empty() ? "No reason is known" : end.reason;
  if (end.status == session::Status::kLost)
    return {"ExecutionLost",
            reason +
                ". The cell may have run partly; it is not run again by itself. Variables are as they were "
                "before the cell."};
  if (end.status == session::Status::kAborted && end.reason.empty()) return {};
  return {"NotRun", reason + ". The cell was not run."};
}

}  // namespace

void CellEnds::judge(AcceptedCell cell, Verdict verdict) {
  const std::uint64_t number = cell.record.number;
  cell.record.verdict = std::move(verdict);
  gateway_.store(cell_key(session_, number), to_record(cell.record), session_, VerdictNoted{number});
  judged_[number] = std::move(cell);
}

void CellEnds::on_noted(std::uint64_t number) {
  if (const auto judged = judged_.extract(number)) tell_verdict(judged.mapped());
}

void CellEnds::tell_verdict(const AcceptedCell& cell) {
  const CellRecord& record = cell.record;
  endings_[record.number] = {cell.execution, record.client, std::nullopt};
  tell_error(record.client, record.request, *record.verdict, {record.number, 0, true}, 0);
}

void CellEnds::tell(const AcceptedCell& cell, const HostId& host, const ExecutionEnded& end) {
  const CellRecord& record = cell.record;
  endings_[record.number] = {cell.execution, record.client, host};
  if (end.reply.content.empty())
    return tell_error(record.client, record.request, verdict_of(end), {record.number, 0, true},
                      end.execution_count);
  if (clients_.knows(record.client)) {
    jupyter::Message reply = end.reply;
    reply.channel = jupyter::Channel::kShell;
    reply.parent_header = record.request.header;
    clients_.send(record.client, std::move(reply), {record.number, 0, false});
  }
  clients_.publish(status_message("idle", record.request.header, gateway_.author(session_)),
                   {record.number, 0, true});
}

void CellEnds::refuse(const ClientId& client, const jupyter::Message& request, const Verdict& verdict) {
  tell_error(client, request, verdict, {}, 0);
}

/// The end of a cell that no worker has replied to, framed by busy and idle as clients expect.
void CellEnds::tell_error(const ClientId& client, const jupyter::Message& request, const Verdict& verdict,
                          CellTag tag, std::uint64_t execution_count) {
  const std::string& parent = request.header;
  const bool aborted = verdict.name.empty();
  CellTag middle = tag;
  middle.end = false;
  clients_.publish(status_message("busy", parent, gateway_.author(session_)), middle);
  if (!aborted)
    clients_.publish(error_output(verdict.name, verdict.text, parent, gateway_.author(session_)), middle);
  if (clients_.knows(client)) {
    std::string content =
        aborted ? aborted_content() : error_content(verdict.name, verdict.text, execution_count);
    clients_.send(client,
                  jupyter::make_message(jupyter::Channel::kShell, "execute_reply", parent, std::move(content),
                                        gateway_.author(session_)),
                  middle);
  }
  clients_.publish(status_message("idle", parent, gateway_.author(session_)), tag);
}

void CellEnds::on_delivered(const ClientId& client, const CellTag& tag) {
  const auto ending = endings_.find(tag.cell);
  if (tag.end && ending != endings_.end() && client == ending->second.client) forget(tag.cell);
}

void CellEnds::drop_unwanted() {
  for (auto it = endings_.begin(); it != endings_.end();) {
    const auto current = it++;
    if (!clients_.knows(current->second.client)) forget(current->first);
  }
}

void CellEnds::forget(std::uint64_t number) {
  const Ending ending = std::move(endings_.extract(number).mapped());
  if (ending.host) gateway_.send(*ending.host, OutputDelivered{session_, ending.execution, 0, true});
  gateway_.store(cell_key(session_, number), {});
  remember(ending.execution);
}

void CellEnds::remember(const ExecutionId& execution) {
  if (remembers(execution)) return;
  ended_before_.push_back(execution);
  if (ended_before_.size() > kEndedMax) ended_before_.pop_front();
}

void CellEnds::close() {
  for (const auto& [number, cell] : judged_) gateway_.store(cell_key(session_, number), {});
  for (const auto& [number, ending] : endings_) gateway_.store(cell_key(session_, number), {});
}

bool CellEnds::knows(const ExecutionId& execution) const {
  const auto same = [&](const auto& item) { return item.second.execution == execution; };
  return std::ranges::any_of(judged_, same) || std::ranges::any_of(endings_, same);
}

bool CellEnds::remembers(const ExecutionId& execution) const {
  return std::ranges::find(ended_before_, execution) != ended_before_.end();
}

}  // namespace banyan::node
