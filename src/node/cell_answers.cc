#include "node/cell_answers.h"

#include <utility>

#include "core/jupyter/message.h"

namespace banyan::node {

void answer_ended(HostContext& host, const SessionId& session, const session::Ended& ended,
                  std::uint64_t outputs_seen) {
  for (std::uint64_t seq = outputs_seen + 1; seq <= ended.outputs.size(); ++seq)
    host.send(kGateway, FromKernel{session, ended.execution, seq, ended.outputs[seq - 1]});
  ExecutionEnded answer;
  answer.session = session;
  answer.execution = ended.execution;
  answer.status = ended.status;
  answer.outputs = ended.outputs_total;
  answer.reply = jupyter::make_message(jupyter::Channel::kShell, "execute_reply", ended.parent_header,
                                       ended.reply, host.author(session));
  if (!ended.reply_metadata.empty()) answer.reply.metadata = ended.reply_metadata;
  answer.reason = ended.reason;
  answer.execution_count = ended.execution_count;
  answer.commit = ended.commit;
  host.send(kGateway, std::move(answer));
}

void answer_aborted(HostContext& host, const SessionId& session, const ExecutionId& execution) {
  ExecutionEnded answer;
  answer.session = session;
  answer.execution = execution;
  answer.status = session::Status::kAborted;
  host.send(kGateway, std::move(answer));
}

}  // namespace banyan::node
