#include <stdlib.h>

#include <cstdlib>
#include <iostream>

#include "runtime/worker/process.h"
#include "runtime/worker/test_host.h"

namespace banyan::runtime {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

TestPython find_test_python() {
  const char* chosen = std::getenv("BANYAN_PYTHON");
  const std::string path = chosen != nullptr ? chosen : BANYAN_SOURCE_DIR "/.venv/bin/python";
  const std::string probe =
      "PYTHONPATH=" BANYAN_SOURCE_DIR "/python '" + path + "' -c 'import banyan.zygote' > /dev/null 2>&1";
  if (std::system(probe.c_str()) == 0) return {path, ""};
  return {"", path + " cannot import banyan.zygote; set BANYAN_PYTHON"};
}

jupyter::Header header_of(const std::string& text) {
  return jupyter::parse_header(text).value_or(jupyter::Header{});
}

}  // namespace

const TestPython& test_python() {
  static const TestPython python = find_test_python();
  return python;
}

std::string CellResult::stream() const {
  std::string text;
  for (const jupyter::Message& message : iopub)
    if (header_of(message.header).msg_type == "stream")
      text += json::parse(message.content.view())["text"].get<std::string>();
  return text;
}

std::vector<std::string> CellResult::types() const {
  std::vector<std::string> types;
  for (const jupyter::Message& message : iopub) types.push_back(header_of(message.header).msg_type);
  return types;
}

TestHost::TestHost(std::function<void(WorkerConfig&)> adjust) {
  std::string pattern = (fs::temp_directory_path() / "bw-XXXXXX").string();
  root_ = mkdtemp(pattern.data());
  config_.kernels[0].python = test_python().path;
  config_.env = {{"PYTHONPATH", BANYAN_SOURCE_DIR "/python"}};
  config_.kernels[0].preload = {"numpy"};
  config_.runtime_directory = root_ / "run";
  config_.log_directory = root_ / "log";
  config_.default_directory = root_;
  adjust(config_);
  auto created = WorkerLauncher::create(
      loop, config_, [this](node::HostEvent event) { on_event(std::move(event)); },
      [this](const node::Log& line) { log.push_back(line.text); });
  if (!created) throw std::runtime_error(created.error().message);
  launcher = std::move(*created);
}

TestHost::~TestHost() {
  if (testing::Test::HasFailure())
    for (const std::string& line : log) std::cerr << "log: " << line << "\n";
  launcher.reset();
  std::error_code ignored;
  fs::remove_all(root_, ignored);
}

bool TestHost::until(const std::function<bool()>& condition, std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition() && std::chrono::steady_clock::now() < end) loop.run_one_for(10ms);
  return condition();
}

void TestHost::on_event(node::HostEvent event) {
  if (const auto* fence = std::get_if<node::WorkerFenced>(&event); fence != nullptr && answers_fences)
    launcher->answer_fence({fence->worker, fence->execution, std::nullopt});
  if (const auto* from = std::get_if<node::FromWorker>(&event)) {
    const auto has = [](std::string_view text, std::string_view part) {
      return text.find(part) != std::string_view::npos;
    };
    const jupyter::Message& message = from->message;
    if (has(message.header, "\"execute_reply\"")) replied_.insert(header_of(message.parent_header).msg_id);
    if (has(message.header, "\"status\"") && has(message.content.view(), "idle"))
      idle_.insert(header_of(message.parent_header).msg_id);
  }
  if (const auto* exited = std::get_if<node::WorkerExited>(&event)) gone_.insert(exited->worker);
  events.push_back(std::move(event));
}

WorkerId TestHost::launch_only(session::Spec spec, std::set<std::string> libraries) {
  const WorkerId worker{next_worker_++};
  launcher->launch(
      {worker, SessionId{"5e551010-0000-4000-8000-00000000000a"}, std::move(spec), std::move(libraries)});
  return worker;
}

WorkerId TestHost::launch_view(const std::string& library, session::Spec spec) {
  const WorkerId worker = launch_only(std::move(spec), {library});
  EXPECT_TRUE(until([&] { return !all<node::WorkerReady>(worker).empty() || gone(worker); }));
  return worker;
}

WorkerId TestHost::launch(session::Spec spec) {
  const WorkerId worker = launch_only(std::move(spec));
  EXPECT_TRUE(until([&] { return !all<node::WorkerReady>(worker).empty() || gone(worker); }));
  return worker;
}

void TestHost::send(WorkerId worker, jupyter::Channel channel, const std::string& type, const json& content,
                    const std::string& id) {
  jupyter::Message message;
  message.channel = channel;
  message.header = json{{"msg_id", id},     {"session", "client"},
                        {"username", "me"}, {"date", "2026-11-21T04:00:00.000000Z"},
                        {"msg_type", type}, {"version", "5.4"}}
                       .dump();
  message.content = Blob(content.dump());
  launcher->send(worker, message);
}

std::string TestHost::request(WorkerId worker, const std::string& code, bool allow_stdin) {
  const std::string id = "cell-" + std::to_string(next_message_++);
  send(worker, jupyter::Channel::kShell, "execute_request",
       {{"code", code},
        {"silent", false},
        {"store_history", true},
        {"user_expressions", json::object()},
        {"allow_stdin", allow_stdin},
        {"stop_on_error", true}},
       id);
  return id;
}

CellResult TestHost::run(WorkerId worker, const std::string& code) {
  return finish(worker, request(worker, code));
}

CellResult TestHost::finish(WorkerId worker, const std::string& id) {
  EXPECT_TRUE(until([&] { return (replied_.contains(id) && idle_.contains(id)) || gone(worker); }, 60s))
      << id;
  return cell(worker, id);
}

CellResult TestHost::cell(WorkerId worker, const std::string& id) const {
  CellResult result;
  bool ended = false;  // our extension says idle before the report, and ipykernel says it once more
  for (const node::FromWorker* from : all<node::FromWorker>(worker)) {
    if (from->message.parent_header.find('"' + id + '"') == std::string::npos) continue;
    if (from->message.channel == jupyter::Channel::kIopub && !ended) {
      result.iopub.push_back(from->message);
      ended = from->message.content.view().find(R"("idle")") != std::string_view::npos;
    }
    if (header_of(from->message.header).msg_type == "execute_reply")
      result.reply = json::parse(from->message.content.view());
  }
  for (const node::WorkerReport* report : all<node::WorkerReport>(worker))
    if (report->execution.value == id) result.report = *report;
  return result;
}

std::string TestHost::end_of(WorkerId worker) {
  if (!until([&] { return gone(worker); })) return "it lives";
  return all<node::WorkerExited>(worker).front()->reason;
}

int TestHost::pid_of(WorkerId worker) const {
  const auto ready = all<node::WorkerReady>(worker);
  return ready.empty() ? 0 : static_cast<int>(ready.front()->pid);
}

}  // namespace banyan::runtime
