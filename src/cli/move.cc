// `banyan export`, `import`.

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <utility>

#include "cli/commands.h"
#include "cli/gateway_call.h"
#include "cli/moving/file_ways.h"
#include "cli/moving/session_file.h"
#include "cli/table/progress.h"
#include "cli/table/table.h"
#include "core/planner/plan.h"
#include "core/session/lineage.h"
#include "runtime/data_store/data_store_at.h"
#include "runtime/data_store/store_url.h"
#include "runtime/data_store/value_buffer.h"

namespace banyan::cli {

namespace {

using nlohmann::json;

using Clock = std::chrono::steady_clock;

constexpr std::size_t kStateMax = 256 << 20;  // what a gateway takes (node::Sizes::message_max)

std::string uuid() {
  std::random_device random;
  std::string text = "xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx";
  for (char& c : text) {
    if (c == 'x') c = "0123456789abcdef"[random() % 16];
  }
  return text;
}

std::uint64_t sum_of(const std::vector<FileChunk>& chunks) {
  std::uint64_t sum = 0;
  for (const FileChunk& chunk : chunks) sum += chunk.size;
  return sum;
}

/// A file of this machine: the one that was named, or a copy that lasts as long as this.
class LocalFile {
 public:
  /// Gets it from the store, if there is one.
  static Result<LocalFile> fetch(const MovingOptions& options) {
    LocalFile file(options);
    if (options.store.empty()) return file;
    umask(077);
    const auto store = runtime::blocking_store_at(options.store);
    if (!store) return tl::unexpected(store.error());
    const auto value = (*store)->get(options.file);
    if (!value) return tl::unexpected(value.error());
    std::ofstream out(file.path_, std::ios::binary);
    out << value->view();
    out.close();
    if (!out) return fail(ErrorKind::kIo, "cannot write " + file.path_.string() + "; is the disk full?");
    return file;
  }
  /// Where it is written.
  static LocalFile draft(const MovingOptions& options) {
    if (!options.store.empty()) umask(077);
    return LocalFile(options);
  }
  /// Puts it into the store, if there is one.
  [[nodiscard]] Result<Done> deliver(const MovingOptions& options) const {
    if (options.store.empty()) return Done{};
    const auto store = runtime::blocking_store_at(options.store);
    if (!store) return tl::unexpected(store.error());
    const auto bytes = runtime::map_file(path_);
    return bytes ? (*store)->put(options.file, *bytes) : Result<Done>(tl::unexpected(bytes.error()));
  }

  LocalFile(LocalFile&& other) noexcept
      : path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, false)) {}
  LocalFile& operator=(LocalFile&&) = delete;
  ~LocalFile() {
    std::error_code error;
    if (temporary_) std::filesystem::remove(path_, error);
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  explicit LocalFile(const MovingOptions& options)
      : path_(options.store.empty() ? std::filesystem::path(options.file)
                                    : std::filesystem::temp_directory_path() / ("banyan-" + uuid())),
        temporary_(!options.store.empty()) {}

  std::filesystem::path path_;
  bool temporary_;
};

// ---- export

/// What a reader of the file is shown.
json manifest_of(const session::Session& session) {
  const session::View& view = session.view();
  const planner::Plan plan = planner::plan(view, {}, session::lineage_of(session));
  json variables = json::array();
  for (const auto& [name, version] : view) {
    const session::CoVariable& value = session.co_variable(version);
    json one = {
        {"name", name}, {"bytes", value.bytes()}, {"state", value.serialised() ? "stored" : "made again"}};
    if (const auto lost = plan.lost.find(version); lost != plan.lost.end()) {
      one["state"] = "lost";
      one["reason"] = lost->second;
    }
    variables.push_back(std::move(one));
  }
  char host[256] = "";
  (void)gethostname(host, sizeof host - 1);
  const passwd* const user = getpwuid(geteuid());
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char at[32] = "";
  std::strftime(at, sizeof at, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return {{"session", session.id().value},
          {"kernel", session.spec().kernel_name},
          {"host", host},
          {"user", user == nullptr ? "" : user->pw_name},
          {"at", at},
          {"cells", session.history().size()},
          {"commits", session.tree().nodes().size()},
          {"runs", plan.steps.size()},
          {"variables", std::move(variables)}};
}

bool is_of_user(const std::string& name) { return !name.starts_with('<'); }

std::string contents_text(const json& manifest) {
  std::string text = "session " + plain(manifest, "session") + ", " + plain(manifest, "kernel") + ", " +
                     plain(manifest, "cells") + " cells; exported on " + plain(manifest, "host") + " by " +
                     plain(manifest, "user") + ", " + plain(manifest, "at") + "\n";
  std::vector<std::vector<Cell>> rows;
  bool environment = false;
  for (const json& one : manifest.value("variables", json::array())) {
    environment |= text_of(one, "name") == "<environ>" && text_of(one, "state") == "stored";
    if (!is_of_user(text_of(one, "name"))) continue;
    const std::string state = text_of(one, "state");
    rows.push_back({{text_of(one, "name")},
                    {bytes_text(number_of(one, "bytes"))},
                    {state, state == "lost"     ? Colour::kRed
                            : state == "stored" ? Colour::kGreen
                                                : Colour::kYellow},
                    {one.contains("reason") ? text_of(one, "reason") : ""}});
  }
  text += rows.empty() ? "no variables\n"
                       : render({{"VARIABLE"}, {"BYTES", Align::kRight}, {"VALUE"}, {"WHY"}}, rows,
                                stdout_wants_colour());
  if (environment) text += "with it goes what cells have set in os.environ\n";
  if (number_of(manifest, "runs") > 0)
    text += text_of(manifest, "runs") + " cells run again where it is opened\n";
  return text;
}

int leave(const MovingOptions& options) {
  const auto session_id = find_session(options.show.gateway, options.session);
  if (!session_id) return complain(session_id.error());
  const std::string place_name = place_of(options.store);
  const auto rate =
      static_cast<std::uint64_t>(FileWays(FileWays::file_of_user()).bytes_per_second(place_name)) + 1;
  const std::string what = "export?values=" + options.values + "&bytes_per_s=" + std::to_string(rate);
  const auto state = call_raw(options.show.gateway, {.target = session_path(*session_id, what),
                                                     .timeout = std::chrono::seconds(120),
                                                     .body_bytes_max = kStateMax});
  if (!state) return complain(state.error());
  if (state->status != 200) return complain(error_of(*state));
  const auto session = session::Session::restore(Blob(state->body));
  if (!session) return complain(session.error());
  std::vector<FileChunk> chunks;
  std::set<Digest> seen;
  for (const auto& [commit, node] : session->tree().nodes()) {
    for (const auto& [name, version] : node.change.bound) {
      const session::CoVariable& value = session->co_variable(version);
      for (const session::Chunk& block : value.blocks)
        if (value.kept && !block.bytes && seen.insert(block.digest).second)
          chunks.push_back({block.digest, block.size});
    }
  }
  json manifest = manifest_of(*session);
  manifest["chunks"] = listed(chunks);
  const auto begun = Clock::now();
  const LocalFile place = LocalFile::draft(options);
  auto file = SessionFileWriter::create(place.path(), manifest, state->body);
  if (!file) return complain(file.error());
  ProgressBar bar("exporting", sum_of(chunks));
  for (const FileChunk& chunk : chunks) {
    const auto bytes =
        call_raw(options.show.gateway, {.target = session_path(*session_id, "chunks/" + to_hex(chunk.digest)),
                                        .body_bytes_max = chunk.size + 1});
    if (!bytes) return complain(bytes.error());
    if (bytes->status != 200) return complain(error_of(*bytes));
    if (digest_of(bytes->body) != chunk.digest)
      return complain({ErrorKind::kCorrupt, "a chunk came damaged; try again"});
    if (const auto added = file->add(bytes->body); !added) return complain(added.error());
    bar.advance(chunk.size);
  }
  if (const auto done = file->finish(Keys(Keys::folder_of_user())); !done) return complain(done.error());
  if (const auto done = place.deliver(options); !done) return complain(done.error());
  FileWays(FileWays::file_of_user()).wrote(place_name, sum_of(chunks), Clock::now() - begun);
  manifest.erase("chunks");
  manifest["file"] = options.file;
  manifest["bytes"] = std::filesystem::file_size(place.path());
  return print_answer(
      options.show, manifest,
      contents_text(manifest) + options.file + ": " + bytes_text(number_of(manifest, "bytes")) + "\n");
}

// ---- import

volatile sig_atomic_t g_stop = 0;

/// While it lives, SIGINT and SIGTERM only say that they came.
class StopSignals {
 public:
  StopSignals() {
    g_stop = 0;
    interrupt_ = std::signal(SIGINT, [](int) { g_stop = 1; });
    terminate_ = std::signal(SIGTERM, [](int) { g_stop = 1; });
  }
  ~StopSignals() {
    (void)std::signal(SIGINT, interrupt_);
    (void)std::signal(SIGTERM, terminate_);
  }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

 private:
  void (*interrupt_)(int);
  void (*terminate_)(int);
};

/// Leaves nothing behind where it fails, or is interrupted.
Result<std::string> enter(const MovingOptions& options, SessionFile& file) {
  const StopSignals signals;
  const runtime::AddressOptions& gateway = options.show.gateway;
  const auto created = call_raw(gateway, {.method = "POST",
                                          .target = "/api/kernels",
                                          .body = json{{"name", text_of(file.manifest(), "kernel")}}.dump()});
  if (!created) return tl::unexpected(created.error());
  if (created->status != 201) return tl::unexpected(error_of(*created));
  const std::string session = text_of(json::parse(created->body, nullptr, false), "id");
  const std::string upload = uuid();
  ProgressBar bar("importing", sum_of(file.chunks()));
  auto done = file.each_chunk([&](const FileChunk& chunk, std::string bytes) -> Result<Done> {
    if (g_stop != 0) return fail(ErrorKind::kUnavailable, "interrupted; nothing was imported");
    const auto stored = call_raw(
        gateway, {.method = "PUT",
                  .target = session_path(session, "chunks/" + to_hex(chunk.digest) + "?upload=" + upload),
                  .body = std::move(bytes)});
    if (!stored) return tl::unexpected(stored.error());
    if (stored->status != 204) return tl::unexpected(error_of(*stored));
    bar.advance(chunk.size);
    return Done{};
  });
  if (done && g_stop != 0) done = fail(ErrorKind::kUnavailable, "interrupted; nothing was imported");
  if (done) {
    const auto entered = call_raw(
        gateway,
        {.method = "POST", .target = session_path(session, "import?upload=" + upload), .body = file.state()});
    if (!entered) {
      done = tl::unexpected(entered.error());
    } else if (entered->status != 200) {
      done = tl::unexpected(error_of(*entered));
    }
  }
  if (done) return session;
  (void)call_raw(gateway, {.method = "DELETE", .target = "/api/kernels/" + session});
  return tl::unexpected(done.error());
}

int enter(const MovingOptions& options) {
  const auto begun = Clock::now();
  const auto place = LocalFile::fetch(options);
  if (!place) return complain(place.error());
  const Duration fetched = Clock::now() - begun;
  auto file = SessionFile::open(place->path());
  if (!file) return complain(file.error());
  const Keys keys(Keys::folder_of_user());
  const std::string key = file->public_key();
  auto signer =
      key.empty() ? Result<std::string>(fail(ErrorKind::kDenied, "nobody has signed it")) : keys.name_of(key);
  json shown = file->manifest();
  shown.erase("chunks");
  shown["key"] = key.empty() ? json() : json(hex_of(key));
  shown["signer"] = signer ? json(*signer) : json();
  const std::string contents =
      contents_text(shown) +
      (key.empty() ? "no signature"
                   : "signed by " + (signer ? *signer : "somebody unknown") + ", key " + hex_of(key)) +
      "\n";
  if (options.only_show) return print_answer(options.show, shown, contents);
  if (!options.show.json) std::fputs(contents.c_str(), stdout);
  if (!options.trust.empty() && !key.empty() && !signer) {
    if (const auto trusted = keys.trust(key, options.trust); !trusted) return complain(trusted.error());
    signer = options.trust;
  }
  if (!signer && !options.unsigned_too)
    return complain(
        {ErrorKind::kInvalid, options.file + " is not imported: " + signer.error().message +
                                  ", and opening it runs what is in it. If you know where it is from, "
                                  "--trust NAME takes files of its signer, --unsigned this one"});
  const auto entering = Clock::now();
  const auto session = enter(options, *file);
  if (!session) return complain(session.error());
  FileWays(FileWays::file_of_user())
      .read(place_of(options.store), sum_of(file->chunks()), fetched + (Clock::now() - entering));
  shown["id"] = *session;
  return print_answer(options.show, shown,
                      "imported as session " + *session + "; its notebook: banyan document " +
                          session->substr(0, 8) + " -o notebook.ipynb\n");
}

}  // namespace

std::string place_of(const std::string& store) {
  const auto url = runtime::parse_store_url(store);
  if (store.empty() || !url) {
    char host[256] = "";
    (void)gethostname(host, sizeof host - 1);
    return std::string("files of ") + host;  // home folders may be shared
  }
  const auto endpoint = url->query.find("endpoint");
  return url->scheme + "://" + url->host + (url->port ? ":" + std::to_string(*url->port) : "") + url->path +
         (endpoint == url->query.end() ? "" : "?endpoint=" + runtime::without_secrets(endpoint->second));
}

int move_session(const MovingOptions& options) {
  if (options.verb == "export") return leave(options);
  if (options.verb == "import") return enter(options);
  return operate_session(options);
}

}  // namespace banyan::cli
