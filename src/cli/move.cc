// `banyan export`, `import`.

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/hex.h"
#include "cli/commands.h"
#include "cli/gateway_call.h"
#include "cli/moving/file_ways.h"
#include "cli/moving/scratch_file.h"
#include "cli/moving/session_file.h"
#include "cli/session_transfer.h"
#include "cli/stop_signals.h"
#include "cli/table/progress.h"
#include "cli/table/table.h"
#include "runtime/data_store/data_store_at.h"
#include "runtime/data_store/store_url.h"
#include "runtime/data_store/value_buffer.h"

namespace banyan::cli {

namespace {

using nlohmann::json;

using Clock = std::chrono::steady_clock;

/// A file on this machine: the one that was named, or a copy of one in a data store, which is removed with
/// this object.
class LocalFile {
 public:
  /// The file to read; it is got from the store, if there is one.
  static Result<LocalFile> fetch(const MovingOptions& options) {
    auto drafted = draft(options);
    if (!drafted || options.store.empty()) return drafted;
    LocalFile& file = *drafted;
    const auto store = runtime::blocking_store_at(options.store);
    if (!store) return tl::unexpected(store.error());
    const auto value = (*store)->get(options.file);
    if (!value) return tl::unexpected(value.error());
    std::ofstream out(file.path(), std::ios::binary);
    out << value->view();
    out.close();
    if (!out) return fail(ErrorKind::kIo, "cannot write " + file.path().string() + "; is the disk full?");
    return drafted;
  }
  /// The file to write.
  static Result<LocalFile> draft(const MovingOptions& options) {
    if (options.store.empty()) return LocalFile(options.file, std::nullopt);
    auto scratch = ScratchFile::make();
    if (!scratch) return tl::unexpected(scratch.error());
    return LocalFile({}, std::move(*scratch));
  }
  /// Puts the written file into the store, if there is one.
  [[nodiscard]] Result<Done> deliver(const MovingOptions& options) const {
    if (options.store.empty()) return Done{};
    const auto store = runtime::blocking_store_at(options.store);
    if (!store) return tl::unexpected(store.error());
    const auto bytes = runtime::map_file(path());
    return bytes ? (*store)->put(options.file, *bytes) : Result<Done>(tl::unexpected(bytes.error()));
  }

  [[nodiscard]] std::filesystem::path path() const { return scratch_ ? scratch_->path() : path_; }

 private:
  LocalFile(std::filesystem::path path, std::optional<ScratchFile> scratch)
      : path_(std::move(path)), scratch_(std::move(scratch)) {}

  std::filesystem::path path_;
  std::optional<ScratchFile> scratch_;  ///< the copy, when the file is in a store
};

/// The version of Python in the field `python`; empty when there is none.
std::string python_in(const json& said) {
  const std::string python = text_of(said, "python");
  return python == "-" ? "" : python;
}

/// The version of a session's Python; empty when its hosts do not say.
std::string python_of(const runtime::AddressOptions& gateway, const std::string& session) {
  const auto sessions = sessions_of(gateway);
  const api::Session* const one = sessions ? find(*sessions, session) : nullptr;
  return one == nullptr ? std::string() : one->python;
}

/// The minor version: "3.11" of "3.11.2".
std::string minor_of(const std::string& python) {
  const auto dot = python.find('.');
  return dot == std::string::npos ? python : python.substr(0, python.find('.', dot + 1));
}

/// A warning for a session whose values were made by another minor version of Python; empty when it is the
/// same.
std::string python_note(const std::string& from, const std::string& here) {
  if (from.empty() || here.empty() || minor_of(from) == minor_of(here)) return {};
  return "its values are of Python " + from + " and its kernel here is Python " + here +
         ": functions and classes that its cells defined may not load, or fail when they are used, until "
         "these cells run again; what does not load is named when the session is first used\n";
}

// ---- export

Result<Done> write_chunks(const MovingOptions& options, const std::string& session,
                          const std::vector<FileChunk>& chunks, SessionFileWriter& file) {
  ProgressBar bar("exporting", bytes_of(chunks));
  for (const FileChunk& chunk : chunks) {
    const auto bytes = fetch_chunk(options.show.gateway, session, chunk);
    if (!bytes) return tl::unexpected(bytes.error());
    if (auto added = file.add(*bytes); !added) return added;
    bar.advance(chunk.size);
  }
  return Done{};
}

int leave(const MovingOptions& options) {
  const auto session_id = find_session(options.show.gateway, options.session);
  if (!session_id) return complain(session_id.error());
  const std::string place_name = place_of(options.store);
  const auto rate =
      static_cast<std::uint64_t>(FileWays(FileWays::file_of_user()).bytes_per_second(place_name)) + 1;
  const auto exported = fetch_session(options.show.gateway, *session_id, options.values, rate);
  if (!exported) return complain(exported.error());
  const std::vector<FileChunk>& chunks = exported->chunks;
  json manifest = manifest_of(exported->session);
  manifest["python"] = python_of(options.show.gateway, *session_id);
  manifest["chunks"] = listed(chunks);
  const auto begun = Clock::now();
  const auto place = LocalFile::draft(options);
  if (!place) return complain(place.error());
  auto file = SessionFileWriter::create(place->path(), manifest, exported->state);
  if (!file) return complain(file.error());
  if (const auto done = write_chunks(options, *session_id, chunks, *file); !done)
    return complain(done.error());
  if (const auto done = file->finish(Keys(Keys::folder_of_user())); !done) return complain(done.error());
  if (const auto done = place->deliver(options); !done) return complain(done.error());
  FileWays(FileWays::file_of_user()).wrote(place_name, bytes_of(chunks), Clock::now() - begun);
  manifest.erase("chunks");
  manifest["file"] = options.file;
  manifest["bytes"] = std::filesystem::file_size(place->path());
  return print_answer(
      options.show, manifest,
      contents_text(manifest) + options.file + ": " + bytes_text(number_of(manifest, "bytes")) + "\n");
}

// ---- import

int enter(const MovingOptions& options) {
  const auto begun = Clock::now();
  const auto place = LocalFile::fetch(options);
  if (!place) return complain(place.error());
  const Duration fetched = Clock::now() - begun;
  auto file = SessionFile::open(place->path());
  if (!file) return complain(file.error());
  const Keys keys(Keys::folder_of_user());
  const std::string key = file->public_key();
  auto signer = signer_of(keys, key, options.only_show ? "" : options.trust);
  json shown = file->manifest();
  shown.erase("chunks");
  shown["key"] = key.empty() ? json() : json(hex_text(key));
  shown["signer"] = signer ? json(*signer) : json();
  const std::string contents = contents_text(shown) + signature_text(key, signer);
  if (options.only_show) return print_answer(options.show, shown, contents);
  if (!options.show.json) std::fputs(contents.c_str(), stdout);
  if (!signer && !options.unsigned_too) return complain(not_taken(options.file, signer.error()));
  const StopSignals signals;
  const auto entering = Clock::now();
  const auto session = [&] {
    ProgressBar bar("importing", bytes_of(file->chunks()));
    const auto bring = [&](const BringChunk& take) {
      return file->each_chunk([&](const FileChunk& chunk, std::string bytes) {
        auto taken = take(chunk.digest, std::move(bytes));
        bar.advance(chunk.size);
        return taken;
      });
    };
    const std::string kernel = options.kernel.empty() ? text_of(file->manifest(), "kernel") : options.kernel;
    return found_session(options.show.gateway, kernel, bring, [&] { return file->state(); });
  }();
  if (!session) return complain(session.error());
  FileWays(FileWays::file_of_user())
      .read(place_of(options.store), bytes_of(file->chunks()), fetched + (Clock::now() - entering));
  shown["id"] = *session;
  const std::string note = python_note(python_in(shown), python_of(options.show.gateway, *session));
  if (!note.empty()) shown["note"] = note;
  return print_answer(options.show, shown,
                      note + "imported as session " + *session + "; its notebook: banyan document " +
                          session->substr(0, 8) + " -o notebook.ipynb\n");
}

}  // namespace

std::string place_of(const std::string& store) {
  std::string place = runtime::place_of(store);
  if (!place.empty()) return place;
  char host[256] = "";
  (void)gethostname(host, sizeof host - 1);
  return std::string("files of ") + host;  // the host's name, because machines may share home folders
}

int move_session(const MovingOptions& options) {
  if (!options.store.empty()) umask(077);  // the store may be a folder: its files are for this user only
  if (options.verb == "export") return leave(options);
  if (options.verb == "import") return enter(options);
  return operate_session(options);
}

}  // namespace banyan::cli
