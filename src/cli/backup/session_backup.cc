#include "cli/backup/session_backup.h"

#include <fstream>
#include <optional>
#include <set>
#include <utility>

#include "cli/moving/scratch_file.h"
#include "runtime/data_store/value_buffer.h"

namespace banyan::cli {

namespace {

using nlohmann::json;

constexpr std::string_view kRoot = "sessions/";
constexpr std::string_view kFile = "/session.banyan";
constexpr const char* kElsewhere = "chunks_beside";  // in the manifest

std::string file_key(const std::string& session) { return std::string(kRoot) + session + std::string(kFile); }
std::string chunk_prefix(const std::string& session) { return std::string(kRoot) + session + "/chunks/"; }
std::string chunk_key(const std::string& session, const Digest& digest) {
  return chunk_prefix(session) + to_hex(digest);
}

json listed_with_sha256(const std::vector<FileChunk>& chunks) {
  json list = json::array();
  for (const FileChunk& chunk : chunks) list.push_back({to_hex(chunk.digest), chunk.size, chunk.sha256});
  return list;
}

std::optional<std::vector<FileChunk>> beside(const json& manifest) {
  const auto list = manifest.find(kElsewhere);
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

}  // namespace

Result<SessionBackup> SessionBackup::open(runtime::BlockingStore& store, const std::string& session) {
  const auto value = store.get(file_key(session));
  if (!value) return tl::unexpected(value.error());
  const ScratchFile scratch;
  std::ofstream out(scratch.path(), std::ios::binary);
  out << value->view();
  out.close();
  if (!out) return fail(ErrorKind::kIo, "cannot write " + scratch.path().string() + "; is the disk full?");
  auto file = SessionFile::open(scratch.path());
  if (!file && file.error().kind != ErrorKind::kCorrupt) return tl::unexpected(file.error());
  auto chunks = file ? beside(file->manifest()) : std::nullopt;
  if (!chunks || !file->chunks().empty())
    return fail(ErrorKind::kCorrupt,
                file_key(session) + " is no backup, or was changed since it was written");
  SessionBackup backup;
  backup.session_ = session;
  backup.manifest_ = file->manifest();
  backup.manifest_.erase(kElsewhere);
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

Result<std::vector<std::string>> sessions_backed_up(runtime::BlockingStore& store) {
  const auto values = store.list(std::string(kRoot));
  if (!values) return tl::unexpected(values.error());
  std::vector<std::string> sessions;
  for (const port::StoredValue& value : *values) {
    if (value.key.ends_with(kFile))
      sessions.push_back(value.key.substr(kRoot.size(), value.key.size() - kRoot.size() - kFile.size()));
  }
  return sessions;
}

Result<Done> remove_backup(runtime::BlockingStore& store, const std::string& session) {
  const auto chunks = store.list(chunk_prefix(session));
  if (!chunks) return tl::unexpected(chunks.error());
  if (auto done = store.remove(file_key(session)); !done) return done;
  for (const port::StoredValue& chunk : *chunks)
    if (auto done = store.remove(chunk.key); !done) return done;
  return Done{};
}

/// Of an earlier process only what it has signed is believed: a chunk that it does not name is put again.
Result<BackupWriter::Held*> BackupWriter::held(const std::string& session) {
  if (const auto known = held_.find(session); known != held_.end()) return &known->second;
  Held held;
  const std::string prefix = chunk_prefix(session);
  const auto values = store_.list(prefix);
  if (!values) return tl::unexpected(values.error());
  for (const port::StoredValue& value : *values)
    if (const auto digest = digest_from_hex(value.key.substr(prefix.size()))) held.chunks[*digest] = {};
  auto backup = SessionBackup::open(store_, session);
  const bool none =
      !backup && (backup.error().kind == ErrorKind::kNotFound || backup.error().kind == ErrorKind::kCorrupt);
  if (!backup && !none) return tl::unexpected(backup.error());
  if (backup) {
    const auto own = keys_.public_key();
    if (!own) return tl::unexpected(own.error());
    if (*own == backup->public_key()) {
      held.manifest = backup->manifest();
      for (const FileChunk& chunk : backup->chunks())
        if (const auto there = held.chunks.find(chunk.digest); there != held.chunks.end())
          there->second = chunk.sha256;
    }
  }
  return &held_.emplace(session, std::move(held)).first->second;
}

Result<json> BackupWriter::newest(const std::string& session) {
  const auto known = held(session);
  if (!known) return tl::unexpected(known.error());
  return (*known)->manifest;
}

Result<std::vector<FileChunk>> BackupWriter::lacking(const std::string& session,
                                                     const std::vector<FileChunk>& chunks) {
  const auto known = held(session);
  if (!known) return tl::unexpected(known.error());
  std::vector<FileChunk> lacking;
  for (const FileChunk& chunk : chunks) {
    const auto there = (*known)->chunks.find(chunk.digest);
    if (there == (*known)->chunks.end() || there->second.empty()) lacking.push_back(chunk);
  }
  return lacking;
}

Result<BackupWriter::Saved> BackupWriter::save(
    const std::string& session, json manifest, std::string_view state, const std::vector<FileChunk>& chunks,
    const std::function<Result<std::string>(const FileChunk&)>& fetch) {
  const auto lacking = this->lacking(session, chunks);
  if (!lacking) return tl::unexpected(lacking.error());
  Held& held = held_.at(session);
  Saved saved{.chunks = lacking->size(), .bytes = state.size() + bytes_of(*lacking)};
  for (const FileChunk& chunk : *lacking) {
    auto bytes = fetch(chunk);
    if (!bytes) return tl::unexpected(bytes.error());
    std::string sum = sha256_of(*bytes);
    if (auto done = store_.put(chunk_key(session, chunk.digest), Blob(std::move(*bytes))); !done)
      return tl::unexpected(done.error());
    held.chunks[chunk.digest] = std::move(sum);
  }
  std::vector<FileChunk> named;
  for (const FileChunk& chunk : chunks)
    named.push_back({chunk.digest, chunk.size, held.chunks.at(chunk.digest)});

  manifest["chunks"] = json::array();
  manifest[kElsewhere] = listed_with_sha256(named);
  const ScratchFile scratch;
  auto file = SessionFileWriter::create(scratch.path(), manifest, state);
  if (!file) return tl::unexpected(file.error());
  if (auto done = file->finish(keys_); !done) return tl::unexpected(done.error());
  const auto bytes = runtime::map_file(scratch.path());
  if (!bytes) return tl::unexpected(bytes.error());
  if (auto done = store_.put(file_key(session), *bytes); !done) return tl::unexpected(done.error());
  manifest.erase("chunks");
  manifest.erase(kElsewhere);
  held.manifest = std::move(manifest);

  std::set<Digest> used;
  for (const FileChunk& chunk : named) used.insert(chunk.digest);
  for (auto it = held.chunks.begin(); it != held.chunks.end();) {
    const auto old = it++;
    if (used.contains(old->first)) continue;
    // One that stays takes room, no more: the next backup tries again.
    if (store_.remove(chunk_key(session, old->first))) held.chunks.erase(old);
  }
  return saved;
}

}  // namespace banyan::cli
