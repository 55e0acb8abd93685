#include "runtime/kernel_shim/kernel_main.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <zmq.hpp>

#include "core/jupyter/zmq_codec.h"
#include "runtime/http/http_front.h"
#include "runtime/kernel_shim/connection_file.h"

namespace banyan::runtime {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;
using jupyter::Channel;
using jupyter::Message;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

std::string text_of(const std::string& object, const char* member) {
  return json::parse(object).value(member, std::string());
}

std::string numbered(int i) { return "{\"n\":" + std::to_string(i) + "}"; }

/// A gateway on a thread of its own that knows one kernel, k1.
class ScriptedGateway {
 public:
  ScriptedGateway() {
    listen(0);
    thread_ = std::thread([this] { io_.run(); });
  }
  ~ScriptedGateway() {
    on_thread([this] { front_.reset(); });
    guard_.reset();
    io_.stop();
    thread_.join();
  }

  /// Crashes, and starts a new life on the same port after `pause`.
  void restart(std::chrono::milliseconds pause) {
    const std::uint16_t same = port;
    on_thread([this] { front_.reset(); });
    std::this_thread::sleep_for(pause);
    on_thread([this, same] { listen(same); });
  }

  /// The calls so far: METHOD /target, and the msg_types of messages.
  std::vector<std::string> seen() {
    const std::lock_guard lock(mutex_);
    return seen_;
  }
  bool wait_for(const std::string& call) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 10s, [&] { return std::ranges::count(seen_, call) > 0; });
  }
  json creation() {
    const std::lock_guard lock(mutex_);
    return creation_;
  }

  std::uint16_t port = 0;
  std::atomic<int> create_status = 201;
  std::atomic<bool> mute = false;  ///< takes messages and answers none

 private:
  void listen(std::uint16_t at) {
    auto front = HttpFront::listen(
        io_, {.port = at}, [this](node::GatewayEvent event) { handle(std::move(event)); },
        [](const node::Log&) {});
    ASSERT_TRUE(front) << front.error().message;
    front_ = std::move(*front);
    port = front_->port();
  }

  void on_thread(std::function<void()> task) {
    std::promise<void> done;
    asio::post(io_, [&] {
      task();
      done.set_value();
    });
    done.get_future().wait();
  }

  void note(const std::string& what) {
    const std::lock_guard lock(mutex_);
    seen_.push_back(what);
    changed_.notify_all();
  }

  void handle(node::GatewayEvent event) {
    if (const auto* request = std::get_if<node::HttpRequest>(&event)) {
      node::HttpReply reply{request->id, 204, {}, ""};
      if (request->method == "POST" && request->target == "/api/kernels") {
        const std::lock_guard lock(mutex_);
        creation_ = json::parse(request->body);
        reply.status = create_status;
        reply.body = create_status == 201 ? R"({"id":"k1"})" : R"({"message":"no room"})";
        if (request->headers.at("authorization") != "token t0ken") reply.status = 403;
      }
      note(request->method + " " + request->target);
      front_->reply(reply);
    } else if (const auto* opening = std::get_if<node::ClientOpening>(&event)) {
      note("OPEN " + opening->target.substr(0, opening->target.find('=')));
      front_->accept(opening->id);
    } else if (const auto* from = std::get_if<node::FromClient>(&event)) {
      const std::string type = text_of(from->message.header, "msg_type");
      note(type);
      if (!mute) answer(from->id, type, from->message);
    }
  }

  void answer(ConnectionId client, const std::string& type, const Message& request) {
    const auto send = [&](Channel channel, const char* name, const std::string& content) {
      front_->send(client, jupyter::make_message(channel, name, request.header, content,
                                                 {.session = "kernel-session", .msg_id = "g", .date = {}}));
    };
    if (type == "kernel_info_request") {
      send(Channel::kIopub, "status", R"({"execution_state":"busy"})");
      send(Channel::kShell, "kernel_info_reply", R"({"status":"ok"})");
      send(Channel::kIopub, "status", R"({"execution_state":"idle"})");
    } else if (type == "execute_request") {
      send(Channel::kIopub, "stream", R"({"name":"stdout","text":"hello"})");
      send(Channel::kStdin, "input_request", R"({"prompt":"?"})");
      send(Channel::kShell, "execute_reply", R"({"status":"ok"})");
    } else if (type == "outputs_request") {
      for (int i = 0; i < 10'000; ++i) send(Channel::kIopub, "stream", numbered(i));
      send(Channel::kShell, "outputs_reply", "{}");
    } else if (type == "interrupt_request") {
      send(Channel::kControl, "interrupt_reply", "{}");
    }
  }

  asio::io_context io_;
  asio::executor_work_guard<asio::io_context::executor_type> guard_ = asio::make_work_guard(io_);
  std::unique_ptr<HttpFront> front_;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> seen_;
  json creation_;
};

/// `banyan kernel` on a thread, and a client that behaves as Jupyter's do.
class KernelMainTest : public testing::Test {
 protected:
  KernelMainTest() { fs::create_directories(directory); }
  ~KernelMainTest() override {
    if (kernel.joinable()) stop();
    fs::remove_all(directory);
  }

  void start(const json& connection = json::object()) {
    const json file = {{"shell_port", 1},
                       {"control_port", 2},
                       {"stdin_port", 3},
                       {"iopub_port", 4},
                       {"hb_port", 5},
                       {"transport", "ipc"},
                       {"ip", (directory / "k").string()},
                       {"key", "secret"},
                       {"signature_scheme", "hmac-sha256"}};
    json all = file;
    all.update(connection);
    std::ofstream(directory / "connection.json") << all;
    where = *parse_connection_file(all.dump());
    kernel = std::thread([this] {
      exit_code = kernel_main({.connection_file = (directory / "connection.json").string(),
                               .gateway = {.url = "http://127.0.0.1:" + std::to_string(gateway.port),
                                           .token = "t0ken",
                                           .platform = {}},
                               .kernel_name = "python3"});
    });
    for (auto* socket : {&shell, &control, &stdin_socket, &heartbeat}) {
      socket->set(zmq::sockopt::rcvtimeo, 10'000);
      socket->set(zmq::sockopt::linger, 0);
    }
    for (auto* socket : {&shell, &control, &stdin_socket}) socket->set(zmq::sockopt::routing_id, "ann");
    iopub.set(zmq::sockopt::rcvtimeo, 10'000);
    iopub.set(zmq::sockopt::rcvhwm, 0);
    iopub.set(zmq::sockopt::subscribe, "");
    shell.connect(where.address(where.shell_port));
    control.connect(where.address(where.control_port));
    stdin_socket.connect(where.address(where.stdin_port));
    iopub.connect(where.address(where.iopub_port));
    heartbeat.connect(where.address(where.hb_port));
  }

  void stop() {
    if (exit_code < 0) std::raise(SIGTERM);
    kernel.join();
  }

  void send(zmq::socket_t& socket, const std::string& type, const std::string& msg_id,
            const std::string& content = "{}", const std::string& key = "secret") {
    const Message message = {
        .channel = Channel::kShell,
        .header = json{{"msg_id", msg_id}, {"msg_type", type}, {"session", "ann's"}}.dump(),
        .parent_header = "{}",
        .metadata = "{}",
        .content = Blob(content),
        .buffers = {}};
    const auto frames = jupyter::to_wire({}, message, jupyter::Signer(key));
    for (std::size_t i = 0; i < frames.size(); ++i) {
      socket.send(zmq::buffer(frames[i].view()),
                  i + 1 < frames.size() ? zmq::send_flags::sndmore : zmq::send_flags::none);
    }
  }

  /// The next message, its signature checked; fails the test when none comes.
  Message receive(zmq::socket_t& socket) {
    std::vector<Blob> frames;
    for (bool more = true; more;) {
      zmq::message_t part;
      if (!socket.recv(part)) {
        ADD_FAILURE() << "no message within ten seconds";
        return {};
      }
      more = part.more();
      frames.emplace_back(part.to_string());
    }
    const auto wire = jupyter::from_wire(Channel::kShell, frames, jupyter::Signer("secret"));
    if (!wire) {
      ADD_FAILURE() << wire.error().message;
      return {};
    }
    return wire->message;
  }

  std::string type_of(const Message& message) { return text_of(message.header, "msg_type"); }

  /// Asks until the kernel answers and something is heard on iopub, as jupyter_client does.
  void become_ready() {
    iopub.set(zmq::sockopt::rcvtimeo, 100);
    for (int i = 0; i < 100; ++i) {
      send(shell, "kernel_info_request", "ready-" + std::to_string(i));
      EXPECT_EQ(type_of(receive(shell)), "kernel_info_reply");
      zmq::message_t part;
      if (iopub.recv(part)) break;
    }
    for (zmq::message_t part; iopub.recv(part);) continue;
    iopub.set(zmq::sockopt::rcvtimeo, 10'000);
  }

  fs::path directory = fs::path("/tmp") / ("kernel_main_" + std::to_string(::getpid()));
  ConnectionFile where;
  ScriptedGateway gateway;
  zmq::context_t context;
  zmq::socket_t shell{context, zmq::socket_type::dealer};
  zmq::socket_t control{context, zmq::socket_type::dealer};
  zmq::socket_t stdin_socket{context, zmq::socket_type::dealer};
  zmq::socket_t iopub{context, zmq::socket_type::sub};
  zmq::socket_t heartbeat{context, zmq::socket_type::req};
  std::thread kernel;
  std::atomic<int> exit_code = -1;
};

TEST_F(KernelMainTest, CreatesAKernelAndCarriesACell) {
  setenv("KERNEL_GPUS", "1", 1);
  start();
  become_ready();
  EXPECT_EQ(gateway.creation()["name"], "python3");
  EXPECT_EQ(gateway.creation()["env"]["KERNEL_GPUS"], "1");
  EXPECT_TRUE(gateway.creation()["env"].contains("KERNEL_WORKING_DIR"));

  send(shell, "execute_request", "cell-1");
  const Message output = receive(iopub);
  EXPECT_EQ(type_of(output), "stream");
  EXPECT_EQ(text_of(output.header, "session"), "kernel-session") << "headers are the kernel's own";
  EXPECT_EQ(text_of(output.parent_header, "msg_id"), "cell-1");
  EXPECT_EQ(output.content.view(), R"({"name":"stdout","text":"hello"})");
  EXPECT_EQ(type_of(receive(stdin_socket)), "input_request") << "for who runs the cell";
  EXPECT_EQ(type_of(receive(shell)), "execute_reply");
  send(stdin_socket, "input_reply", "input-1");
  EXPECT_TRUE(gateway.wait_for("input_reply"));
  unsetenv("KERNEL_GPUS");
}

TEST_F(KernelMainTest, AnswersTheHeartbeat) {
  start();
  heartbeat.send(zmq::str_buffer("ping"));
  zmq::message_t echo;
  ASSERT_TRUE(heartbeat.recv(echo));
  EXPECT_EQ(echo.to_string(), "ping");
}

TEST_F(KernelMainTest, ServesTcpAsWell) {
  json ports;
  {
    zmq::context_t reserving;  // when it ends, the ports are free again
    std::vector<zmq::socket_t> sockets;
    for (const char* name : {"shell_port", "control_port", "stdin_port", "iopub_port", "hb_port"}) {
      sockets.emplace_back(reserving, zmq::socket_type::rep).bind("tcp://127.0.0.1:*");
      const std::string endpoint = sockets.back().get(zmq::sockopt::last_endpoint);
      ports[name] = std::stoul(endpoint.substr(endpoint.rfind(':') + 1));
    }
  }
  ports.update({{"transport", "tcp"}, {"ip", "127.0.0.1"}});
  start(ports);
  become_ready();
}

TEST_F(KernelMainTest, DropsMessagesThatAreNotSigned) {
  start();
  become_ready();
  testing::internal::CaptureStderr();
  send(shell, "execute_request", "forged", "{}", "wrong key");
  send(shell, "execute_request", "not json", "{");
  shell.send(zmq::str_buffer("garbage"));
  send(shell, "kernel_info_request", "honest");
  EXPECT_EQ(text_of(receive(shell).parent_header, "msg_id"), "honest");
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("signature"));
  EXPECT_THAT(log, testing::Not(HasSubstr("secret")));
  EXPECT_EQ(std::ranges::count(gateway.seen(), "execute_request"), 0);
}

TEST_F(KernelMainTest, CarriesTenThousandOutputsWholeAndInOrder) {
  start();
  become_ready();
  send(shell, "outputs_request", "many");
  for (int i = 0; i < 10'000; ++i) ASSERT_EQ(receive(iopub).content.view(), numbered(i));
  EXPECT_EQ(type_of(receive(shell)), "outputs_reply");
}

TEST_F(KernelMainTest, CarriesOnAfterTheGatewayRestarted) {
  start();
  become_ready();
  gateway.mute = true;
  send(shell, "complete_request", "before");
  ASSERT_TRUE(gateway.wait_for("complete_request"));
  gateway.restart(150ms);
  gateway.mute = false;
  send(shell, "kernel_info_request", "after");
  EXPECT_EQ(text_of(receive(shell).parent_header, "msg_id"), "after");
  EXPECT_EQ(std::ranges::count(gateway.seen(), "complete_request"), 2)
      << "what was not answered is sent again";
  EXPECT_EQ(std::ranges::count(gateway.seen(), "POST /api/kernels"), 1) << "it is still the same kernel";
}

TEST_F(KernelMainTest, DeletesTheKernelWhenItIsShutDown) {
  start();
  become_ready();
  send(control, "shutdown_request", "bye", R"({"restart":true})");
  const Message reply = receive(control);
  EXPECT_EQ(type_of(reply), "shutdown_reply");
  EXPECT_EQ(json::parse(reply.content.view())["restart"], true);
  EXPECT_EQ(text_of(reply.parent_header, "msg_id"), "bye");
  kernel.join();
  EXPECT_EQ(exit_code, 0);
  EXPECT_EQ(gateway.seen().back(), "DELETE /api/kernels/k1");
}

TEST_F(KernelMainTest, InterruptsBySignalAndByMessage) {
  start();
  become_ready();
  send(control, "interrupt_request", "i");
  EXPECT_EQ(type_of(receive(control)), "interrupt_reply");
  std::raise(SIGINT);
  EXPECT_TRUE(gateway.wait_for("POST /api/kernels/k1/interrupt"));
  stop();
  EXPECT_EQ(exit_code, 0);
  EXPECT_EQ(gateway.seen().back(), "DELETE /api/kernels/k1") << "SIGTERM takes the kernel along";
}

TEST_F(KernelMainTest, SaysWhatToDoWithoutAGateway) {
  std::ofstream(directory / "connection.json")
      << R"({"shell_port":1,"control_port":2,"stdin_port":3,"iopub_port":4,"hb_port":5,"transport":"ipc","ip":")" +
             (directory / "k").string() + "\"}";
  const auto run = [&](const std::string& file, AddressOptions address, std::string& log) {
    testing::internal::CaptureStderr();
    const int code = kernel_main({.connection_file = file, .gateway = std::move(address), .kernel_name = {}});
    log = testing::internal::GetCapturedStderr();
    return code;
  };
  const std::string file = (directory / "connection.json").string();
  const std::string url = "http://127.0.0.1:" + std::to_string(gateway.port);
  std::string log;
  EXPECT_EQ(run(file, {.url = "http://127.0.0.1:9", .token = "t0ken", .platform = {}}, log), 3);
  EXPECT_THAT(log, testing::AllOf(HasSubstr("127.0.0.1:9"), HasSubstr("banyan up")));
  EXPECT_EQ(run(file, {.url = url, .token = "wr0ng", .platform = {}}, log), 3);
  EXPECT_THAT(log, testing::AllOf(HasSubstr("token"), testing::Not(HasSubstr("wr0ng"))));
  gateway.create_status = 503;
  EXPECT_EQ(run(file, {.url = url, .token = "t0ken", .platform = {}}, log), 1);
  EXPECT_THAT(log, HasSubstr("no room"));
  EXPECT_EQ(run("/nowhere.json", {.url = url, .token = {}, .platform = {}}, log), 2);
}

}  // namespace
}  // namespace banyan::runtime
