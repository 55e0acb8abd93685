#include "cli/backup/session_backup.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <utility>

#include "cli/moving/scratch_file.h"
#include "runtime/data_store/value_buffer.h"

namespace banyan::cli {

namespace {

using nlohmann::json;

constexpr std::string_view kFiles = "sessions/";
constexpr std::string_view kFile = ".banyan";
constexpr const char* kBeside = "chunks_beside";  // a field of the manifest

std::string file_key(const std::string& session) {
  return std::string(kFiles) + session + std::string(kFile);
}
std::string chunk_prefix(const std::string& session) { return "chunks-of/" + session + "/"; }
std::string chunk_key(const std::string& session, const Digest& digest) {
  return chunk_prefix(session) + to_hex(digest);
}

json listed_with_sha256(const std::vector<FileChunk>& chunks) {
  json list = json::array();
  for (const FileChunk& chunk : chunks) list.push_back({to_hex(chunk.digest), chunk.size, chunk.sha256});
  return list;
}

std::optional<std::vector<FileChunk>> beside(const json& manifest) {
  const auto list = manifest.find(kBeside);
  if (list == manifest.end() || !list->is_array()) return std::nullopt;
  std::vector<FileChunk> chunks;
  for (const json& one : *list) {
    const bool fits = one.is_array() && one.size() == 3 && one[0].is_string() &&
                      one[1].is_number_unsigned() && one[2].is_string();
    const auto digest = fits ? digest_from_hex(one[0].get<std::string>()) : std::nullopt;
    if (!digest) return std::nullopt;
    chunks.push_back({*digest, one[1].get<std::uint64_t>(), one[2].get<std::string>()});
  }
  return chunks;
}

/// The chunks of a session that the store has, and their sizes.
Result<std::map<Digest, std::uint64_t>> chunks_there(runtime::BlockingStore& store,
                                                     const std::string& session) {
  const std::string prefix = chunk_prefix(session);
  const auto values = store.list(prefix);
  if (!values) return tl::unexpected(values.error());
  std::map<Digest, std::uint64_t> found;
  for (const port::StoredValue& value : *values)
    if (const auto digest = digest_from_hex(value.key.substr(prefix.size()))) found[*digest] = value.bytes;
  return found;
}

}  // namespace

Result<SessionBackup> SessionBackup::open(runtime::BlockingStore& store, const std::string& session) {
  const auto value = store.get(file_key(session));
  if (!value) return tl::unexpected(value.error());
  const auto scratch = ScratchFile::make();
  if (!scratch) return tl::unexpected(scratch.error());
  std::ofstream out(scratch->path(), std::ios::binary);
  out << value->view();
  out.close();
  if (!out) return fail(ErrorKind::kIo, "cannot write " + scratch->path().string() + "; is the disk full?");
  auto file = SessionFile::open(scratch->path());
  if (!file && file.error().kind != ErrorKind::kCorrupt) return tl::unexpected(file.error());
  auto chunks = file ? beside(file->manifest()) : std::nullopt;
  if (!chunks || !file->chunks().empty() || file->manifest().value("session", json()) != session)
    return fail(ErrorKind::kCorrupt,
                file_key(session) + " is no backup of that session, or was changed since it was written");
  SessionBackup backup;
  backup.session_ = session;
  backup.manifest_ = file->manifest();
  backup.manifest_.erase(kBeside);
  backup.manifest_.erase("chunks");
  backup.state_ = file->state();
  backup.chunks_ = std::move(*chunks);
  backup.public_key_ = file->public_key();
  return backup;
}

Result<std::string> SessionBackup::chunk(runtime::BlockingStore& store, const FileChunk& chunk) const {
  const auto value = store.get(chunk_key(session_, chunk.digest));
  if (!value) return tl::unexpected(value.error());
  if (value->size() != chunk.size || digest_of(value->view()) != chunk.digest ||
      sha256_of(value->view()) != chunk.sha256)
    return fail(ErrorKind::kCorrupt, chunk_key(session_, chunk.digest) + " is not what was put there");
  return std::string(value->view());
}

session::Elsewhere SessionBackup::elsewhere() const {
  session::Elsewhere there{.prefix = chunk_prefix(session_), .sha256 = {}};
  for (const FileChunk& chunk : chunks_) there.sha256[chunk.digest] = chunk.sha256;
  return there;
}

Result<std::set<Digest>> SessionBackup::missing(runtime::BlockingStore& store) const {
  const auto there = chunks_there(store, session_);
  if (!there) return tl::unexpected(there.error());
  std::set<Digest> missing;
  for (const FileChunk& chunk : chunks_) {
    const auto found = there->find(chunk.digest);
    if (found == there->end() || found->second != chunk.size) missing.insert(chunk.digest);
  }
  return missing;
}

Result<std::vector<std::string>> sessions_backed_up(runtime::BlockingStore& store) {
  const auto values = store.list(std::string(kFiles));
  if (!values) return tl::unexpected(values.error());
  std::vector<std::string> sessions;
  for (const port::StoredValue& value : *values) {
    const std::string name = value.key.substr(kFiles.size());
    if (name.ends_with(kFile)) sessions.push_back(name.substr(0, name.size() - kFile.size()));
  }
  std::ranges::sort(sessions);
  return sessions;
}

Result<bool> remove_backup(runtime::BlockingStore& store, const std::string& session) {
  const auto there = store.head(file_key(session));
  if (!there && there.error().kind != ErrorKind::kNotFound) return tl::unexpected(there.error());
  const auto chunks = store.list(chunk_prefix(session));
  if (!chunks) return tl::unexpected(chunks.error());
  if (auto done = store.remove(file_key(session)); !done) return tl::unexpected(done.error());
  for (const port::StoredValue& chunk : *chunks)
    if (auto done = store.remove(chunk.key); !done) return tl::unexpected(done.error());
  return there || !chunks->empty();
}

/// What is known of a session's backup. Of what earlier processes have put, only what this user has signed is
/// believed: chunks that such a file does not name are put again.
Result<BackupWriter::Held*> BackupWriter::held(const std::string& session) {
  if (const auto known = held_.find(session); known != held_.end()) return &known->second;
  Held held;
  const auto own = keys_.public_key();
  if (!own) return tl::unexpected(own.error());
  auto backup = SessionBackup::open(store_, session);
  const bool none =
      !backup && (backup.error().kind == ErrorKind::kNotFound || backup.error().kind == ErrorKind::kCorrupt);
  if (!backup && !none) return tl::unexpected(backup.error());
  if (backup && *own == backup->public_key()) {
    held.manifest = backup->manifest();
    for (const FileChunk& chunk : backup->chunks()) held.sha256[chunk.digest] = chunk.sha256;
  }
  return &held_.emplace(session, std::move(held)).first->second;
}

Result<json> BackupWriter::newest(const std::string& session) {
  const auto known = held(session);
  if (!known) return tl::unexpected(known.error());
  return (*known)->manifest;
}

Result<BackupWriter::Saved> BackupWriter::save(
    json manifest, std::string_view state, const std::vector<FileChunk>& chunks,
    const std::function<Result<std::string>(const FileChunk&)>& fetch,
    const std::function<void(std::uint64_t)>& lacking) {
  const std::string session = manifest.at("session");
  const auto known = held(session);
  if (!known) return tl::unexpected(known.error());
  Held& held = **known;
  auto there = chunks_there(store_, session);
  if (!there) return tl::unexpected(there.error());
  std::vector<FileChunk> to_put;
  for (const FileChunk& chunk : chunks) {
    const auto stored = there->find(chunk.digest);
    const bool whole = stored != there->end() && stored->second == chunk.size;
    if (!whole || !held.sha256.contains(chunk.digest)) to_put.push_back(chunk);
  }
  Saved saved{.chunks = to_put.size(), .bytes = state.size() + cli::bytes_of(to_put), .not_removed = {}};
  lacking(cli::bytes_of(to_put));
  for (const FileChunk& chunk : to_put) {
    if (stop_()) return fail(ErrorKind::kUnavailable, "it was interrupted; the backup from before is there");
    auto bytes = fetch(chunk);
    if (!bytes) return tl::unexpected(bytes.error());
    std::string sum = sha256_of(*bytes);
    if (auto done = store_.put(chunk_key(session, chunk.digest), Blob(std::move(*bytes))); !done)
      return tl::unexpected(done.error());
    held.sha256[chunk.digest] = std::move(sum);
  }
  std::vector<FileChunk> named;
  for (const FileChunk& chunk : chunks)
    named.push_back({chunk.digest, chunk.size, held.sha256.at(chunk.digest)});

  manifest["chunks"] = json::array();
  manifest[kBeside] = listed_with_sha256(named);
  const auto scratch = ScratchFile::make();
  if (!scratch) return tl::unexpected(scratch.error());
  auto file = SessionFileWriter::create(scratch->path(), manifest, state);
  if (!file) return tl::unexpected(file.error());
  if (auto done = file->finish(keys_); !done) return tl::unexpected(done.error());
  const auto bytes = runtime::map_file(scratch->path());
  if (!bytes) return tl::unexpected(bytes.error());
  if (auto done = store_.put(file_key(session), *bytes); !done) return tl::unexpected(done.error());
  manifest.erase("chunks");
  manifest.erase(kBeside);
  held.manifest = std::move(manifest);

  for (const FileChunk& chunk : named) there->erase(chunk.digest);
  for (const auto& [digest, size] :
       *there) {  // a chunk that stays only takes room; the next backup tries again
    if (stop_()) break;
    if (const auto done = store_.remove(chunk_key(session, digest)); !done) {
      saved.not_removed = done.error();
      break;
    }
    held.sha256.erase(digest);
  }
  return saved;
}

}  // namespace banyan::cli
