#include "node/gateway_channels.h"

#include <utility>

#include "node/gateway_messages.h"

namespace banyan::node {

using jupyter::Channel;
using jupyter::Message;

namespace {

/// Kernelspecs and kernel_info offer no subshells; a worker would never answer.
bool is_for_subshell(const Message& message) {
  return message.channel == Channel::kShell && message.header.find("subshell_id") != std::string::npos &&
         !text_member(message.header, "subshell_id").empty();
}

}  // namespace

void Channels::open_client(ConnectionId connection, const ClientId& client, ClientManner manner) {
  const bool ask_again = input_ && (input_->client == client ? !clients_.has_yet_to_get(client, input_->place)
                                                             : !clients_.connected(input_->client));
  clients_.attach(connection, client, manner);
  if (const AcceptedCell* const cell = cells_.running())
    clients_.send(client, status_message("busy", cell->record.request.header, gateway_.author(record_.id)));
  if (ask_again) {
    const std::uint64_t place = clients_.send(client, input_->message);
    if (input_->client == client) input_->place = place;
  }
  cells_.note_delivered();
}

void Channels::from_client(ConnectionId connection, Message message) {
  const ClientId* const known = clients_.client_of(connection);
  if (known == nullptr) return;
  const ClientId client = *known;
  const auto header = jupyter::parse_header(message.header);
  if (!header || header->msg_id.empty() || header->msg_type.empty()) {
    gateway_.log(Log::Level::kWarning, "session " + record_.id.value +
                                           ": a client's message without a msg_id or msg_type is dropped");
    return;
  }
  const std::string& type = header->msg_type;
  if (message.channel == Channel::kIopub) return;  // nothing for the kernel travels there
  if (message.channel == Channel::kStdin) return input_reply(std::move(message));
  if (is_for_subshell(message)) {
    const Verdict verdict{"NotSupported",
                          "The cells of a session are one sequence: there are no subshells. Send the request "
                          "without a subshell_id."};
    if (type == "execute_request") return cells_.refuse(client, message, verdict);
    return answer(client, message, error_content(verdict.name, verdict.text));
  }
  if (type == "execute_request") return cells_.accept(client, std::move(message), header->msg_id);
  if (type != "kernel_info_request" && type != "comm_info_request") last_use_.note();
  if (type == "interrupt_request") {
    interrupt();
    return answer(client, message, R"({"status":"ok"})");
  }
  if (type == "shutdown_request") return shutdown(client, message);
  auto dropped = requests_.add(header->msg_id,
                               {.client = client, .message = std::move(message), .type = type}, executing());
  if (dropped) lose(*dropped);
}

void Channels::on_worker_gone(const HostId& host) {
  for (const Requests::Request& request : requests_.lose(host)) lose(request);
  route_waiting();
}

void Channels::on_report(const HostId& host, const ReplicaReport& report) {
  if (requests_.miss_worker(host, report)) on_worker_gone(host);
}

void Channels::on_cell_ended(const ExecutionId& execution) {
  requests_.on_cell_ended();
  if (input_ && text_member(input_->message.parent_header, "msg_id") == execution.value) input_.reset();
}

void Channels::on_restarted(const Restarts::Asked& restart) {
  input_.reset();
  for (const auto& [replica, host] : record_.committed) on_worker_gone(host);
  for (const auto& [client, request] : restart.shutdowns)
    answer(client, request, R"({"status":"ok","restart":true})");
}

/// Not while an executor is being chosen: they follow its cell.
void Channels::route_waiting() {
  if (requests_.any_waits() && !cells_.dispatch().offered()) requests_.route_waiting(executing());
}

void Channels::lose(const Requests::Request& request) {
  answer(request.client, request.message,
         error_content("KernelUnavailable",
                       "The worker that was to answer this request is gone; another replica takes over. Try "
                       "again."));
}

/// The gateway's own answer, framed by busy and idle as clients expect of a kernel.
void Channels::answer(const ClientId& client, const Message& request, std::string content) {
  const std::string type = reply_type(text_member(request.header, "msg_type"));
  clients_.publish(status_message("busy", request.header, gateway_.author(record_.id)));
  if (!type.empty() && clients_.knows(client)) {
    clients_.send(client, jupyter::make_message(request.channel, type, request.header, std::move(content),
                                                gateway_.author(record_.id)));
  }
  clients_.publish(status_message("idle", request.header, gateway_.author(record_.id)));
  cells_.show_busy();
  cells_.note_delivered();
}

void Channels::shutdown(const ClientId& client, const Message& request) {
  if (is_literal(request.content.view(), "restart", "true")) return restarts_.ask(client, request);
  const std::string content = R"({"status":"ok","restart":false})";
  answer(client, request, content);
  clients_.publish(jupyter::make_message(Channel::kIopub, "shutdown_reply", request.header, content,
                                         gateway_.author(record_.id)));
  wants_end_ = true;
}

void Channels::interrupt() {
  last_use_.note();
  if (cells_.interrupt()) return;
  if (const auto host = cells_.executor(); host && gateway_.usable(*host))
    gateway_.send(*host, Interrupt{record_.id});
}

void Channels::input_reply(Message reply) {
  if (!input_ && asked_for_input_) return;  // another connection was faster
  input_.reset();
  last_use_.note();
  if (const auto host = cells_.executor(); host && gateway_.usable(*host))
    gateway_.send(*host, ToKernel{record_.id, std::move(reply)});
}

void Channels::from_kernel(Message message) {
  switch (message.channel) {
    case Channel::kIopub:
      return pass_iopub(std::move(message));
    case Channel::kStdin:
      return pass_input(std::move(message));
    case Channel::kShell:
    case Channel::kControl:
      return pass_reply(std::move(message));
  }
}

/// To the client that asked; exactly once, although a request may have gone to two replicas.
void Channels::pass_reply(Message reply) {
  if (text_member(reply.header, "msg_type") == "execute_reply") return;  // only a commit answers a cell
  const auto parent = jupyter::parse_header(reply.parent_header);
  if (!parent || parent->msg_id.empty()) return;
  if (const auto client = requests_.take_reply(*parent)) clients_.send(*client, std::move(reply));
  cells_.note_delivered();
}

void Channels::pass_iopub(Message message) {
  const std::string parent = text_member(message.parent_header, "msg_id");
  const bool status = is_status(message);
  if (status && parent.empty()) return;  // "starting" of some replica's worker says nothing of the session
  const bool idle = status && is_idle(message);
  clients_.publish(std::move(message));
  if (idle) {
    requests_.on_idle(parent);
    if (!runs(parent)) cells_.show_busy();
  }
  cells_.note_delivered();
}

Executing Channels::executing() const {
  return {.executor = cells_.executor(),
          .runs_cell = cells_.running() != nullptr && !cells_.dispatch().waits(),
          .last_commit = cells_.last().commit(),
          .ended_by = cells_.last().told_by()};
}

bool Channels::runs(const std::string& msg_id) const {
  const AcceptedCell* const cell = cells_.running();
  return cell != nullptr && cell->execution.value == msg_id;
}

/// input(): only the client that ran the cell is asked, but everybody while that one is away.
void Channels::pass_input(Message request) {
  const auto parent = jupyter::parse_header(request.parent_header);
  if (!parent) return;
  ClientId client{parent->session};
  if (runs(parent->msg_id)) client = cells_.running()->record.client;
  if (client.value.empty()) return;
  asked_for_input_ = true;
  clients_.expect(client);
  const std::uint64_t place =
      clients_.connected(client) ? clients_.send(client, request) : clients_.publish(request);
  input_ = Input{std::move(client), std::move(request), place};
  cells_.note_delivered();
}

}  // namespace banyan::node
