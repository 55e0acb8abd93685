#include "runtime/kernel_shim/shim.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/http/client.h"

namespace banyan::runtime {
namespace {

namespace asio = boost::asio;
using jupyter::Channel;
using nlohmann::json;

constexpr Duration kBackoffMin = 50ms;
constexpr Duration kBackoffMax = 2s;
constexpr Duration kCallTimeout = 10s;  // for an interrupt or a deletion
constexpr int kNotFoundMax = 5;         // a gateway that has just restarted may not know its kernels at once

WallTime wall_time() {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::microseconds>(since_epoch).count()};
}

// The gateway's message in the JSON body of an error.
std::string message_in(const HttpAnswer& answer) {
  const json body = json::parse(answer.body, nullptr, false);
  if (body.is_object() && body.contains("message") && body["message"].is_string()) return body["message"];
  return "status " + std::to_string(answer.status);
}

bool is_our_fault(int close_code) {
  return close_code == 1002 || close_code == 1003 || close_code == 1007 || close_code == 1009;
}

}  // namespace

Shim::Shim(asio::io_context& loop, ShimOptions options)
    : loop_(loop), options_(std::move(options)), random_(options_.seed), client_id_(random_.uuid()) {}

Shim::~Shim() = default;

KernelExit Shim::run() {
  auto front = ZmqFront::bind(
      loop_, context_, options_.connection,
      [this](const jupyter::Header& header, jupyter::WireMessage wire) { forward(header, std::move(wire)); },
      options_.log);
  if (!front) {
    options_.log(front.error().message);
    return KernelExit::kUsage;
  }
  front_ = std::move(*front);
  asio::co_spawn(loop_, start(), asio::detached);
  while (!exit_) loop_.run_one();
  return *exit_;
}

void Shim::end(KernelExit code) {
  if (!exit_) exit_ = code;
}

asio::awaitable<void> Shim::start() {
  json body = {{"env", options_.env}};
  if (!options_.kernel_name.empty()) body["name"] = options_.kernel_name;
  const std::string advice =
      ". Start one with `banyan up`, or point BANYAN_URL and BANYAN_TOKEN at a gateway that runs.";
  const auto answer =
      co_await http_call(options_.gateway, {.method = "POST", .target = "/api/kernels", .body = body.dump()});
  if (!answer) {
    options_.log(answer.error().message + advice);
    co_return end(KernelExit::kNoGateway);
  }
  if (answer->status == 401 || answer->status == 403) {
    options_.log("the gateway at " + options_.gateway.authority() + " refuses the token" + advice);
    co_return end(KernelExit::kNoGateway);
  }
  const json model = json::parse(answer->body, nullptr, false);
  if (answer->status != 201 || !model.is_object() || !model.contains("id") || !model["id"].is_string()) {
    options_.log("the gateway did not start the kernel: " + message_in(*answer));
    co_return end(KernelExit::kRefused);
  }
  kernel_id_ = model["id"];
  co_await carry();
}

// Keeps a WebSocket to the gateway open, through all lives of the gateway, and reads from it.
asio::awaitable<void> Shim::carry() {
  const std::string target =
      "/api/kernels/" + percent_encode(kernel_id_) + "/channels?session_id=" + percent_encode(client_id_);
  asio::steady_timer pause(loop_);
  Duration backoff = kBackoffMin;
  int not_found = 0;
  while (!ending_) {
    auto socket = co_await MessageSocket::connect(options_.gateway, target, jupyter::SubProtocol::kV1);
    if (ending_) co_return;
    if (!socket) {
      not_found = socket.error().kind == ErrorKind::kNotFound ? not_found + 1 : 0;
      if (not_found >= kNotFoundMax || socket.error().kind == ErrorKind::kDenied) {
        options_.log("the kernel is lost: " + socket.error().message);
        co_return end(KernelExit::kKernelLost);
      }
      if (backoff == kBackoffMin) options_.log(socket.error().message + "; trying again");
      pause.expires_after(backoff);
      co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
      backoff = std::min(backoff * 2, kBackoffMax);
      continue;
    }
    backoff = kBackoffMin;
    not_found = 0;
    socket_.emplace(std::move(*socket));
    for (const jupyter::Message& message : pending_.take_to_send()) socket_->send(message);
    for (;;) {
      auto message = co_await socket_->read();
      if (message) {
        co_await deliver(std::move(*message));
      } else if (!ending_) {
        options_.log(message.error().message);
      }
      if (!message && message.error().kind != ErrorKind::kInvalid) break;
    }
    if (is_our_fault(socket_->close_code())) {
      options_.log("the gateway refused a message; " + std::to_string(pending_.size()) +
                   " requests are given up");
      pending_ = Pending();
    }
    socket_.reset();
  }
}

void Shim::forward(const jupyter::Header& header, jupyter::WireMessage wire) {
  if (ending_) return;
  if (header.msg_type == "shutdown_request") {
    ending_ = true;
    asio::co_spawn(loop_, shut_down(std::move(wire)), asio::detached);
    return;
  }
  if (socket_) socket_->send(wire.message);
  if (!socket_ || Pending::wants_reply(header)) pending_.add(header, std::move(wire));
}

asio::awaitable<void> Shim::deliver(jupyter::Message message) {
  if (kernel_session_.empty()) {
    if (const auto header = jupyter::parse_header(message.header)) kernel_session_ = header->session;
  }
  if (message.channel == Channel::kIopub) co_return co_await front_->publish(std::move(message));
  const auto parent = jupyter::parse_header(message.parent_header);
  if (!parent) co_return;
  const bool asks_back = message.channel == Channel::kStdin;
  const auto identities = asks_back ? pending_.identities(parent->msg_id) : pending_.answered(parent->msg_id);
  if (!identities.empty()) front_->reply(identities, message);
}

asio::awaitable<void> Shim::shut_down(jupyter::WireMessage request) {
  const std::string parent = request.message.header;
  const auto status = [&](const char* state) {
    return own_message(Channel::kIopub, "status", parent, json{{"execution_state", state}}.dump());
  };
  co_await front_->publish(status("busy"));
  co_await delete_kernel();
  const json content = json::parse(request.message.content.view(), nullptr, false);
  const bool restart = content.is_object() && content.contains("restart") && content["restart"] == true;
  const std::string answer = json{{"status", "ok"}, {"restart", restart}}.dump();
  front_->reply(request.identities, own_message(request.message.channel, "shutdown_reply", parent, answer));
  co_await front_->publish(own_message(Channel::kIopub, "shutdown_reply", parent, answer));
  co_await front_->publish(status("idle"));
  end(KernelExit::kDone);
}

asio::awaitable<void> Shim::delete_kernel() {
  asio::steady_timer pause(loop_);
  while (kernel_id_.empty()) {  // the kernel is being created
    pause.expires_after(kBackoffMin);
    co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  const auto answer = co_await http_call(
      options_.gateway,
      {.method = "DELETE", .target = "/api/kernels/" + percent_encode(kernel_id_), .timeout = kCallTimeout});
  if (answer && (answer->status == 204 || answer->status == 404)) co_return;
  options_.log("kernel " + kernel_id_ +
               " may still run: " + (answer ? message_in(*answer) : answer.error().message));
}

jupyter::Message Shim::own_message(Channel channel, std::string_view type, const std::string& parent,
                                   std::string content) {
  const std::string session = kernel_session_.empty() ? client_id_ : kernel_session_;
  return jupyter::make_message(channel, type, parent, std::move(content),
                               {.session = session, .msg_id = random_.uuid(), .date = wall_time()});
}

void Shim::interrupt() {
  if (ending_ || kernel_id_.empty()) return;
  asio::co_spawn(
      loop_,
      [](Shim& self) -> asio::awaitable<void> {
        const auto answer = co_await http_call(self.options_.gateway,
                                               {.method = "POST",
                                                .target = "/api/kernels/" + self.kernel_id_ + "/interrupt",
                                                .timeout = kCallTimeout});
        if (!answer) self.options_.log("the interrupt is lost: " + answer.error().message);
      }(*this),
      asio::detached);
}

void Shim::terminate() {
  if (std::exchange(ending_, true)) return;
  asio::co_spawn(
      loop_,
      [](Shim& self) -> asio::awaitable<void> {
        co_await self.delete_kernel();
        self.end(KernelExit::kDone);
      }(*this),
      asio::detached);
}

}  // namespace banyan::runtime
