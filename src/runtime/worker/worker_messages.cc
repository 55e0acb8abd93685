#include "runtime/worker/worker_messages.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace banyan::runtime {
namespace {

using nlohmann::json;

// A worker may say anything, and the session keeps these in memory: how many effects of a cell, and how long
// each.
constexpr std::size_t kEffectsMax = 16;
constexpr std::size_t kEffectMax = 500;
constexpr std::size_t kModulesMax = 500;  // in one frame
constexpr std::size_t kModuleNameMax = 100;
constexpr std::size_t kTypeMax = 100;
constexpr std::size_t kTypesMax = 16;                    // of one cell
constexpr std::int64_t kLongest_us = 1'000'000'000'000;  // 12 days; sums of several do not overflow

/// Thrown where a field is missing or has the wrong type, and caught in this file.
class Malformed : public std::exception {
 public:
  explicit Malformed(std::string what) : what_(std::move(what)) {}
  [[nodiscard]] const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

const json& field(const json& object, const char* key) {
  if (!object.is_object() || !object.contains(key)) throw Malformed(std::string("it lacks ") + key);
  return object[key];
}

std::string text(const json& value) {
  if (!value.is_string()) throw Malformed("a text is no string");
  return value.get<std::string>();
}

std::uint64_t count(const json& value) {
  if (!value.is_number_unsigned()) throw Malformed("a count is no unsigned number");
  return value.get<std::uint64_t>();
}

bool flag(const json& value) {
  if (!value.is_boolean()) throw Malformed("a flag is no boolean");
  return value.get<bool>();
}

int small_number(const json& value) {
  if (!value.is_number_integer() || value > 0x7fff'ffff || value < 0)
    throw Malformed("a number is out of range");
  return value.get<int>();
}

const json& list(json&& value) = delete;
const json& list(const json& value) {
  if (!value.is_array()) throw Malformed("a list is no array");
  return value;
}

std::vector<std::string> names(const json& value) {
  std::vector<std::string> result;
  for (const json& name : list(value)) result.push_back(text(name));
  return result;
}

/// Reads a block: a BLOB, or {"known": DIGEST, "size": BYTES} for one that the host agent has already.
session::Chunk block(const Frame& frame, const json& reference) {
  if (const auto known = reference.is_object() ? reference.find("known") : reference.end();
      known != reference.end()) {
    const auto digest = digest_from_hex(text(*known));
    if (!digest) throw Malformed("a digest is malformed");
    return {.digest = *digest, .size = count(field(reference, "size")), .bytes = {}};
  }
  Result<Blob> bytes = frame.blob(reference);
  if (!bytes) throw Malformed(bytes.error().message);
  return {.digest = {}, .size = bytes->size(), .bytes = std::move(*bytes)};
}

session::CoVariable covariable(const Frame& frame, const json& value) {
  session::CoVariable result;
  result.names = names(field(value, "names"));
  if (result.names.empty()) throw Malformed("a co-variable has no names");
  std::ranges::sort(result.names);
  for (const json& part : list(field(value, "parts"))) {
    for (const json& each : list(part)) result.blocks.push_back(block(frame, each));
    result.parts.push_back(static_cast<std::uint32_t>(part.size()));
  }
  if (result.parts.empty()) throw Malformed("a co-variable has no pickle");
  if (const auto type = value.find("type"); type != value.end())
    result.type = text(*type).substr(0, kTypeMax);
  return result;
}

std::vector<session::Removal> removals(const json& value) {
  std::vector<session::Removal> result;
  for (const json& one : list(value)) result.push_back({text(field(one, "name")), text(field(one, "path"))});
  return result;
}

std::vector<std::string> failed_names(const json& body) {
  std::vector<std::string> names;
  for (const json& each : list(field(body, "failed"))) names.push_back(text(field(each, "name")));
  return names;
}

/// Reads the field `of`, an array `[{KEY: …, "us": N}, …]`; empty when there is none.
std::map<std::string, std::int64_t> times(const json& body, const char* of, const char* key) {
  std::map<std::string, std::int64_t> found;
  const auto took = body.find(of);
  if (took == body.end()) return found;
  for (const json& each : list(*took))
    found.emplace(text(field(each, key)), static_cast<std::int64_t>(count(field(each, "us"))));
  return found;
}

/// Reads the times by type, and keeps those of the types that took longest.
std::map<std::string, std::int64_t> serialised(const json& body) {
  const auto said = times(body, "serialised", "type");
  std::vector<std::pair<std::int64_t, std::string>> longest;
  for (const auto& [type, us] : said) {
    if (us >= 0 && us <= kLongest_us) longest.emplace_back(us, type.substr(0, kTypeMax));
  }
  std::ranges::sort(longest, std::greater{});
  longest.resize(std::min(longest.size(), kTypesMax));
  std::map<std::string, std::int64_t> found;
  for (const auto& [us, type] : longest) found.emplace(type, us);
  return found;
}

/// The devices that the process uses; an older worker does not say it.
std::set<DeviceId> uses(const json& body) {
  std::set<DeviceId> devices;
  if (const auto said = body.find("devices"); said != body.end())
    for (std::string& name : names(*said)) devices.insert({std::move(name)});
  return devices;
}

session::Delta delta(const Frame& frame) {
  session::Delta result;
  for (const json& each : list(field(frame.body, "changed")))
    result.changed.push_back(covariable(frame, each));
  result.deleted = names(field(frame.body, "deleted"));
  result.failed = failed_names(frame.body);
  for (const json& each : list(field(frame.body, "failed")))
    if (each.value("alone", json(false)) == true) result.alone.push_back(text(field(each, "name")));
  result.footprint = {names(field(frame.body, "reads")), flag(field(frame.body, "reads_all")),
                      names(field(frame.body, "effects")), 0, serialised(frame.body)};
  if (result.footprint.reads_all) result.footprint.reads.clear();
  if (const auto gpus = frame.body.find("gpus"); gpus != frame.body.end())
    result.footprint.gpus = count(*gpus);
  if (const auto work = frame.body.find("work"); work != frame.body.end())
    result.footprint.work = names(*work);
  if (const auto begun = frame.body.find("begun"); begun != frame.body.end())
    result.footprint.begun = names(*begun);
  for (auto* const texts : {&result.footprint.effects, &result.footprint.work, &result.footprint.begun}) {
    texts->resize(std::min(texts->size(), kEffectsMax));
    for (std::string& text : *texts) text.resize(std::min(text.size(), kEffectMax));
  }
  return result;
}

std::string bytes(const Frame& frame, const json& reference) {
  Result<Blob> blob = frame.blob(reference);
  if (!blob) throw Malformed(blob.error().message);
  return std::string(blob->view());
}

std::optional<node::WorkerReport::Reply> reply(const Frame& frame) {
  const auto found = frame.body.find("reply");
  if (found == frame.body.end()) return std::nullopt;
  return node::WorkerReport::Reply{bytes(frame, field(*found, "content")),
                                   bytes(frame, field(*found, "metadata"))};
}

/// Writes an object without nesting as JSON text. User code could send a value so deep that writing it would
/// overflow the stack.
std::string flat_text(const json& object) {
  const auto flat = [](const json& value) { return value.is_primitive(); };
  if (!object.is_object() || !std::ranges::all_of(object, flat)) throw Malformed("no flat object");
  return object.dump();
}

/// The bytes that a repeat_frame() has asked for.
std::vector<session::Chunk> wanted_blocks(const Frame& frame) {
  std::vector<session::Chunk> blocks;
  const auto found = frame.body.find("blocks");
  if (found == frame.body.end()) return blocks;
  for (const json& each : list(*found))
    if (session::Chunk one = block(frame, each); one.bytes) blocks.push_back(std::move(one));
  return blocks;
}

WorkerSays parse_worker(WorkerId worker, const Frame& frame) {
  const json& body = frame.body;
  const std::string type = text(field(body, "type"));
  if (type == "hello") return Hello{text(field(body, "python"))};
  if (type == "fence") return node::WorkerFenced{worker, ExecutionId{text(field(body, "execution"))}};
  if (type == "report")
    return node::WorkerReport{worker,
                              ExecutionId{text(field(body, "execution"))},
                              count(field(body, "count")),
                              delta(frame),
                              reply(frame),
                              uses(body)};
  if (type == "applied")
    return node::WorkerApplied{worker, CommitId{count(field(body, "commit"))}, failed_names(body),
                               names(field(body, "lacking")), times(body, "took", "name")};
  if (type == "repeated")
    return node::WorkerRepeated{worker,
                                CommitId{count(field(body, "commit"))},
                                names(field(body, "made")),
                                names(field(body, "changed")),
                                text(field(body, "error")),
                                serialised(body),
                                wanted_blocks(frame)};
  if (type == "reads")
    return node::WorkerReads{worker, ExecutionId{text(field(body, "execution"))},
                             names(field(body, "names"))};
  if (type == "removes")
    return node::WorkerRemoves{worker, text(field(body, "request")), removals(field(body, "removes"))};
  if (type == "ask") return node::WorkerAsks{worker, flat_text(field(body, "question"))};
  throw Malformed("unknown type");
}

ZygoteSays parse_zygote(const json& body) {
  const std::string type = text(field(body, "type"));
  if (type == "ready") {
    if (!body.contains("protocol")) return ZygoteReady{};
    return ZygoteReady{count(field(body, "protocol")), text(field(body, "python")),
                       text(field(body, "package"))};
  }
  if (type == "imported") {
    ZygoteImported done{.failed = names(field(body, "failed")),
                        .unfit = names(field(body, "unfit")),
                        .left = names(field(body, "left")),
                        .files = {}};
    for (const json& each : list(field(body, "files")))
      done.files.push_back(
          {text(field(each, "path")), static_cast<std::int64_t>(count(field(each, "mtime_ns")))});
    return done;
  }
  const WorkerId worker{count(field(body, "worker"))};
  if (type == "spawned") return Spawned{worker, small_number(field(body, "pid"))};
  if (type == "failed") return SpawnFailed{worker, text(field(body, "reason"))};
  if (type == "exited" && body.contains("signal"))
    return Exited{worker, {.code = 0, .signal = small_number(body["signal"])}};
  if (type == "exited") return Exited{worker, {.code = small_number(field(body, "code")), .signal = 0}};
  throw Malformed("unknown type");
}

bool is_module_name(const std::string& name) {
  const auto fits = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
  };
  return !name.empty() && name.size() <= kModuleNameMax && std::ranges::all_of(name, fits);
}

/// The type of a frame for an error message.
std::string type_of(const Frame& frame) {
  const auto type = frame.body.find("type");
  return type != frame.body.end() && type->is_string() ? type->get<std::string>().substr(0, 32) : "untyped";
}

Error malformed(const Frame& frame, const Malformed& error) {
  return {ErrorKind::kCorrupt, "a frame (" + type_of(frame) + ") is malformed: " + error.what()};
}

}  // namespace

Result<WorkerSays> parse_worker_frame(WorkerId worker, const Frame& frame) {
  try {
    return parse_worker(worker, frame);
  } catch (const Malformed& error) {
    return tl::unexpected(malformed(frame, error));
  }
}

std::vector<std::string> imported_in(const Frame& frame) {
  std::vector<std::string> modules;
  const auto found = frame.body.find("imported");
  if (found == frame.body.end() || !found->is_array()) return modules;
  for (const json& each : *found) {
    if (modules.size() == kModulesMax) break;
    if (each.is_string() && is_module_name(each.get_ref<const std::string&>())) modules.push_back(each);
  }
  return modules;
}

Result<ZygoteSays> parse_zygote_frame(const Frame& frame) {
  try {
    return parse_zygote(frame.body);
  } catch (const Malformed& error) {
    return tl::unexpected(malformed(frame, error));
  }
}

namespace {

void add_digests(std::vector<session::Chunk>& blocks) {
  for (session::Chunk& block : blocks)
    if (block.bytes) block.digest = digest_of(block.bytes->view());
}

std::uint64_t bytes_of(const std::vector<session::Chunk>& blocks) {
  std::uint64_t bytes = 0;
  for (const session::Chunk& block : blocks) bytes += block.bytes ? block.size : 0;
  return bytes;
}

}  // namespace

void add_digests(node::WorkerReport& report) {
  for (session::CoVariable& covariable : report.delta.changed) add_digests(covariable.blocks);
}

void add_digests(node::WorkerRepeated& repeated) { add_digests(repeated.blocks); }

std::uint64_t bytes_of(const node::WorkerReport& report) {
  std::uint64_t bytes = 0;
  for (const session::CoVariable& covariable : report.delta.changed) bytes += bytes_of(covariable.blocks);
  return bytes;
}

std::uint64_t bytes_of(const node::WorkerRepeated& repeated) { return bytes_of(repeated.blocks); }

Outgoing answer_frame(const node::AnswerFence& answer) {
  Outgoing out;
  out.body = {{"type", answer.refusal ? "refuse" : "go"}, {"execution", answer.execution.value}};
  if (answer.refusal) out.body["reason"] = *answer.refusal;
  for (const DeviceId& device : answer.devices) out.body["devices"].push_back(device.value);
  return out;
}

Outgoing answer_frame(const node::AnswerWorker& answer) {
  Outgoing out;
  out.body = {{"type", "answer"}};
  if (answer.answer) {
    out.body["content"] = json::parse(*answer.answer);
  } else {
    out.body["error"] = answer.answer.error().message;
  }
  return out;
}

Outgoing apply_frame(const node::ApplyToWorker& view) {
  Outgoing out;
  json changed = json::array();
  for (const session::CoVariable& covariable : view.changed) {
    json parts = json::array();
    auto block = covariable.blocks.begin();
    for (std::uint32_t size : covariable.parts) {
      json part = json::array();
      for (; size > 0 && block != covariable.blocks.end(); --size, ++block) {
        if (block->bytes) {
          part.push_back(out.add(*block->bytes));
          part.back()["digest"] = to_hex(block->digest);
        } else {
          part.push_back({{"known", to_hex(block->digest)}, {"size", block->size}});
        }
      }
      parts.push_back(std::move(part));
    }
    changed.push_back({{"names", covariable.names}, {"parts", std::move(parts)}});
  }
  out.body = {{"type", "apply"},   {"commit", view.commit.value},   {"count", view.execution_count},
              {"code", view.code}, {"changed", std::move(changed)}, {"deleted", view.deleted}};
  return out;
}

Outgoing reads_frame(const node::AskReads& question) {
  Outgoing out;
  out.body = {{"type", "reads"},
              {"execution", question.execution.value},
              {"code", question.code},
              {"names", question.names}};
  return out;
}

Outgoing removes_frame(const node::AskRemovals& question) {
  Outgoing out;
  out.body = {{"type", "removes"}, {"request", question.request}, {"names", question.names}};
  return out;
}

Outgoing repeat_frame(const node::RepeatOnWorker& cell) {
  json makes = json::array();
  for (const session::CoVariable& covariable : cell.makes) {
    json digests = json::array();
    for (const session::Chunk& block : covariable.blocks) digests.push_back(to_hex(block.digest));
    makes.push_back({{"names", covariable.names}, {"blocks", std::move(digests)}, {"kept", covariable.kept}});
  }
  json wanted = json::array();
  for (const Digest& digest : cell.wanted) wanted.push_back(to_hex(digest));
  Outgoing out;
  out.body = {{"type", "repeat"},    {"commit", cell.commit.value}, {"code", cell.code},
              {"fails", cell.fails}, {"makes", std::move(makes)},   {"wanted", std::move(wanted)}};
  return out;
}

Outgoing spawn_frame(const SpawnRequest& request) {
  Outgoing out;
  out.body = {{"type", "spawn"},
              {"worker", request.worker.value},
              {"session_id", request.session.value},
              {"connection_file", request.connection_file.string()},
              {"cwd", request.directory.string()},
              {"env", request.env},
              {"log", request.log.string()}};
  return out;
}

Outgoing kill_frame(WorkerId worker) {
  Outgoing out;
  out.body = {{"type", "kill"}, {"worker", worker.value}};
  return out;
}

Outgoing import_frame(const std::vector<std::string>& modules) {
  Outgoing out;
  out.body = {{"type", "import"}, {"modules", modules}};
  return out;
}

}  // namespace banyan::runtime
