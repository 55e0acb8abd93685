#include "runtime/storage/rocks_store.h"

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include <map>
#include <utility>

#include "base/codec.h"
#include "base/overloaded.h"
#include "runtime/failpoint/failpoint.h"
#include "runtime/storage/packing.h"

namespace banyan::runtime {

namespace {

constexpr std::uint64_t kBlock = 1 << 20;  // a chunk is stored in values of this size
// Where the chunks of one call have so much together, their blocks go past the write-ahead log, straight to
// their files: large values are then written once.
constexpr std::uint64_t kPastTheLog = 4 << 20;
constexpr std::uint64_t kFlushesToClean =
    32;  // every flush begins a log file; after so many all families are flushed, so that old ones go
constexpr std::uint64_t kGarbageMin = 64 << 20;
constexpr std::uint64_t kStoresToLook = 64;  // garbage is looked for after so many calls of store()
constexpr std::string_view kFormat = "2";
constexpr std::string_view kFormatKey = "format";
constexpr std::string_view kSpeedsKey = "speeds";
constexpr std::string_view kUnderWay =
    "chunk/";  // a record, digest to size, of each chunk whose blocks go ahead of its batch

/// Column families, in the order of their handles.
enum Family : std::size_t { kDefault, kReplica, kLog, kChunk };

std::string big_endian(std::uint64_t value) {
  std::string bytes(8, '\0');
  for (int i = 7; i >= 0; --i, value >>= 8) bytes[static_cast<std::size_t>(i)] = static_cast<char>(value);
  return bytes;
}

std::uint64_t from_big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<unsigned char>(byte);
  return value;
}

/// A session id holds no NUL, so keys of one session never run into those of another.
std::string replica_key(const SessionId& session, char what) { return session.value + '\0' + what; }
std::string log_key(const SessionId& session, std::uint64_t index) {
  return session.value + '\0' + big_endian(index);
}
std::string chunk_key(const Digest& digest) { return big_endian(digest.high) + big_endian(digest.low); }
std::string block_key(const Digest& digest, std::uint64_t block) {
  return chunk_key(digest) + big_endian(block);
}
constexpr std::size_t kDigestBytes = 16;

/// The digest in the key of a chunk; nothing in the key of a block, which is longer.
std::optional<Digest> digest_in(std::string_view key) {
  if (key.size() != kDigestBytes) return std::nullopt;
  return Digest{from_big_endian(key.substr(0, 8)), from_big_endian(key.substr(8))};
}
std::string under_way_key(const Digest& digest) { return std::string(kUnderWay) + chunk_key(digest); }

std::string_view view(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }
rocksdb::Slice slice(std::string_view view) { return {view.data(), view.size()}; }

rocksdb::Options database_options() {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.create_missing_column_families = true;
  options.max_open_files = 64;
  options.max_total_wal_size = 64 << 20;
  options.wal_bytes_per_sync = 1 << 20;  // blocks of chunks leave early, so that the fsync has little left
  options.max_background_jobs = 2;
  options.keep_log_file_num = 2;
  options.max_log_file_size = 4 << 20;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  options.info_log_level = rocksdb::InfoLogLevel::WARN_LEVEL;
  // This forgives a record that a crash cut short, and nothing else. Point-in-time recovery would silently
  // drop what was acknowledged after a damaged record; absolute consistency would refuse to start after every
  // power cut.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  return options;
}

rocksdb::ColumnFamilyOptions family_options(const std::shared_ptr<rocksdb::Cache>& cache, Family family) {
  rocksdb::ColumnFamilyOptions options;
  options.write_buffer_size = family == kChunk ? 8 << 20 : 2 << 20;
  options.max_write_buffer_number = 2;
  options.compression = rocksdb::kNoCompression;
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = cache;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  if (family == kChunk) {
    // The tables of this family hold little more than where blobs are, so many tables do no harm, and no
    // write has to wait for a compaction that collects garbage.
    options.level0_slowdown_writes_trigger = options.level0_stop_writes_trigger = 10'000;
    options.enable_blob_files = true;  // large values are written once, not again at each compaction
    options.min_blob_size = 16 << 10;
    options.blob_garbage_collection_age_cutoff = 1.0;  // where collect_garbage() has enabled collection
    options.blob_garbage_collection_force_threshold = 0.5;
  }
  return options;
}

/// Which entries of a log are stored: `first` to `last`.
struct Extent {
  std::uint64_t first = 0;
  std::uint64_t last = 0;  // below `first`, or 0, when none is
};

tl::unexpected<Error> undecodable(const SessionId& session, const std::string& what) {
  return fail(ErrorKind::kCorrupt,
              "the " + what + " of session " + session.value +
                  " does not decode; move the data directory away and start the host agent "
                  "again: it is filled from its peers");
}

}  // namespace

struct RocksStore::Impl {
  /// A WriteBatch, and what the chunks will be after it.
  struct Batch {
    rocksdb::WriteBatch writes;
    std::map<Digest, std::optional<std::uint64_t>> sizes;  // nothing when dropped
    bool past_the_log = false;                             // blocks go past the write-ahead log
  };

  explicit Impl(std::filesystem::path where) : folder(std::move(where)) {}
  ~Impl() {
    for (auto* handle : handles) (void)db->DestroyColumnFamilyHandle(handle);
  }

  [[nodiscard]] tl::unexpected<Error> failed(const rocksdb::Status& status, const std::string& doing) const {
    const ErrorKind kind = status.IsCorruption() ? ErrorKind::kCorrupt : ErrorKind::kIo;
    std::string advice = "check the disk";
    if (status.IsNoSpace()) advice = "make room on the disk";
    if (kind == ErrorKind::kCorrupt)
      advice = "move the folder away and start the host agent again: it is filled from its peers";
    return fail(kind, doing + " in " + folder.string() + " failed: " + status.ToString() + "; " + advice);
  }

  Result<Done> open();
  Result<Done> check_format();
  Result<Done> drop_unfinished_chunks();
  Result<Done> recover_replicas(std::map<SessionId, node::StoredReplica>& replicas);
  Result<Done> recover_chunks(std::vector<Digest>& chunks);
  Result<Done> recover_logs(std::map<SessionId, node::StoredReplica>& replicas);

  void put_entries(Batch& batch, const node::PutEntries& write);
  void put_snapshot(Batch& batch, const node::PutSnapshot& write);
  void drop_replica(Batch& batch, const SessionId& session);
  rocksdb::Status announce(const std::vector<node::DiskWrite>& writes, Batch& batch);
  rocksdb::Status put_chunk(Batch& batch, const node::PutChunk& write);
  rocksdb::Status flush_chunks();
  rocksdb::Status collect_garbage();
  void drop_chunk(Batch& batch, const Digest& digest);

  void put(Batch& batch, Family family, const std::string& key, std::string_view value) const {
    (void)batch.writes.Put(handles[family], key, slice(value));
  }
  void remove(Batch& batch, Family family, const std::string& key) const {
    (void)batch.writes.Delete(handles[family], key);
  }
  [[nodiscard]] std::optional<std::uint64_t> stored_size(const Digest& digest) const {
    std::string size;
    if (!db->Get({}, handles[kChunk], chunk_key(digest), &size).ok()) return std::nullopt;
    return from_big_endian(size);
  }

  std::filesystem::path folder;
  std::unique_ptr<rocksdb::DB> db;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  std::map<SessionId, Extent> extents;
  Packer packer;
  std::uint64_t flushes = 0;
  std::uint64_t stores = 0;
  bool collecting = false;
};

Result<Done> RocksStore::Impl::open() {
  const auto cache = rocksdb::NewLRUCache(8 << 20);
  const std::vector<rocksdb::ColumnFamilyDescriptor> families = {
      {rocksdb::kDefaultColumnFamilyName, family_options(cache, kDefault)},
      {"replica", family_options(cache, kReplica)},
      {"log", family_options(cache, kLog)},
      {"chunk", family_options(cache, kChunk)}};
  rocksdb::DB* opened = nullptr;
  const auto status = rocksdb::DB::Open(database_options(), folder.string(), families, &handles, &opened);
  if (!status.ok()) return failed(status, "opening the store");
  db.reset(opened);
  if (auto done = check_format(); !done) return done;
  return drop_unfinished_chunks();
}

Result<Done> RocksStore::Impl::check_format() {
  std::string format;
  const rocksdb::Status read = db->Get({}, std::string(kFormatKey), &format);
  if (read.IsNotFound()) {
    const rocksdb::Status written = db->Put({}, std::string(kFormatKey), std::string(kFormat));
    if (!written.ok()) return failed(written, "writing the format");
    return Done{};
  }
  if (!read.ok()) return failed(read, "reading the format");
  if (format == kFormat) return Done{};
  return fail(ErrorKind::kConflict, "the store in " + folder.string() + " has format " + format +
                                        "; this version reads " + std::string(kFormat) +
                                        " only. Use the version that wrote it");
}

/// Drops the blocks that a crash has left behind between a chunk's blocks and the batch that makes the chunk
/// exist.
Result<Done> RocksStore::Impl::drop_unfinished_chunks() {
  Batch batch;
  std::unique_ptr<rocksdb::Iterator> it(db->NewIterator({}));
  for (it->Seek(std::string(kUnderWay)); it->Valid() && view(it->key()).starts_with(kUnderWay); it->Next()) {
    const std::string_view name = view(it->key()).substr(kUnderWay.size());
    const Digest digest = *digest_in(name);
    const std::uint64_t size = from_big_endian(view(it->value()));
    const bool exists = stored_size(digest).has_value();
    for (std::uint64_t block = 0; !exists && block * kBlock < size; ++block)
      remove(batch, kChunk, block_key(digest, block));
    remove(batch, kDefault, it->key().ToString());
  }
  if (!it->status().ok()) return failed(it->status(), "reading the chunks");
  if (const auto status = db->Write({}, &batch.writes); !status.ok()) return failed(status, "cleaning up");
  return Done{};
}

void RocksStore::Impl::put_entries(Batch& batch, const node::PutEntries& write) {
  Extent& extent = extents[write.session];
  for (std::uint64_t index = write.truncate_after.value + 1; index <= extent.last; ++index)
    remove(batch, kLog, log_key(write.session, index));
  if (extent.last > write.truncate_after.value) extent.last = write.truncate_after.value;
  for (const raft::Entry& entry : write.entries) {
    put(batch, kLog, log_key(write.session, entry.index.value), encode(entry));
    if (extent.last < extent.first || extent.first == 0) extent.first = entry.index.value;
    extent.last = entry.index.value;
  }
}

void RocksStore::Impl::put_snapshot(Batch& batch, const node::PutSnapshot& write) {
  put(batch, kReplica, replica_key(write.session, 's'), encode(write.snapshot));
  Extent& extent = extents[write.session];
  for (; extent.first != 0 && extent.first <= extent.last && extent.first <= write.snapshot.index.value;
       ++extent.first)
    remove(batch, kLog, log_key(write.session, extent.first));
}

void RocksStore::Impl::drop_replica(Batch& batch, const SessionId& session) {
  for (const char what : {'m', 'h', 's'}) remove(batch, kReplica, replica_key(session, what));
  const Extent extent = extents[session];
  for (std::uint64_t index = extent.first; index != 0 && index <= extent.last; ++index)
    remove(batch, kLog, log_key(session, index));
  extents.erase(session);
}

/// Notes durably which chunks have blocks that go ahead of the batch, so that the next life finds those that
/// never came to exist. Decides whether the blocks go past the log.
rocksdb::Status RocksStore::Impl::announce(const std::vector<node::DiskWrite>& writes, Batch& batch) {
  rocksdb::WriteBatch announced;
  std::uint64_t bytes = 0;
  for (const node::DiskWrite& write : writes) {
    const auto* chunk = std::get_if<node::PutChunk>(&write);
    if (chunk == nullptr) continue;
    bytes += chunk->bytes.size();
    const std::string key = under_way_key(chunk->digest);
    (void)announced.Put(key, big_endian(chunk->bytes.size()));
    remove(batch, kDefault, key);
  }
  if (bytes == 0) return {};
  batch.past_the_log = bytes >= kPastTheLog;
  rocksdb::WriteOptions options;
  options.sync = batch.past_the_log;  // or the files of the blocks could be durable before this record
  return db->Write(options, &announced);
}

/// Writes the blocks ahead of the batch, one by one, so that a chunk of gigabytes is never in memory twice.
/// The size record, which is in the batch, makes the chunk exist.
rocksdb::Status RocksStore::Impl::put_chunk(Batch& batch, const node::PutChunk& write) {
  const std::string_view bytes = write.bytes.view();
  const std::string size = big_endian(bytes.size());
  // Where the same batch drops this chunk first, its blocks must come after that, in the batch.
  const bool ahead = !batch.sizes.contains(write.digest);
  rocksdb::WriteOptions options;
  options.disableWAL = batch.past_the_log;
  for (std::uint64_t block = 0; block * kBlock < bytes.size(); ++block) {
    const std::string_view part = bytes.substr(block * kBlock, kBlock);
    if (!ahead) {
      put(batch, kChunk, block_key(write.digest, block), packer.pack(part));
      continue;
    }
    const auto status =
        db->Put(options, handles[kChunk], block_key(write.digest, block), slice(packer.pack(part)));
    if (!status.ok()) return status;
    failpoint("store.block");
  }
  put(batch, kChunk, chunk_key(write.digest), size);
  batch.sizes[write.digest] = bytes.size();
  return {};
}

/// Makes blocks durable that went past the log.
rocksdb::Status RocksStore::Impl::flush_chunks() {
  if (++flushes % kFlushesToClean == 0) return db->Flush({}, handles);
  return db->Flush({}, handles[kChunk]);
}

/// Lets RocksDB collect garbage only while garbage is most of what is there. While it may, it rewrites the
/// living blobs of old files in every compaction, however little garbage lies between them: all chunks, again
/// and again.
rocksdb::Status RocksStore::Impl::collect_garbage() {
  std::uint64_t all = 0;
  std::uint64_t garbage = 0;
  (void)db->GetIntProperty(handles[kChunk], rocksdb::DB::Properties::kLiveBlobFileSize, &all);
  (void)db->GetIntProperty(handles[kChunk], rocksdb::DB::Properties::kLiveBlobFileGarbageSize, &garbage);
  std::error_code unknown;
  const auto room =
      std::filesystem::space(folder, unknown).available;  // living blobs are there twice meanwhile
  const bool may = !unknown && room / 2 > all - garbage;
  const bool wanted = may && (collecting ? garbage > all / 4 : garbage > kGarbageMin && garbage > all / 2);
  if (wanted == collecting) return {};
  collecting = wanted;
  return db->SetOptions(handles[kChunk], {{"enable_blob_garbage_collection", collecting ? "true" : "false"}});
}

void RocksStore::Impl::drop_chunk(Batch& batch, const Digest& digest) {
  const auto here = batch.sizes.find(digest);
  const auto size = here != batch.sizes.end() ? here->second : stored_size(digest);
  batch.sizes[digest].reset();
  if (!size) return;
  remove(batch, kChunk, chunk_key(digest));
  for (std::uint64_t block = 0; block * kBlock < *size; ++block)
    remove(batch, kChunk, block_key(digest, block));
}

namespace {

/// Takes a record of the column family `replica` into the replica.
Result<Done> take_record(node::StoredReplica& replica, char what, std::string_view value) {
  if (what == 'm') {
    replica.meta = value;
  } else if (what == 'h') {
    auto state = decode<raft::HardState>(value);
    if (!state) return undecodable(replica.session, "hard state");
    replica.hard_state = *state;
  } else {
    auto snapshot = decode<raft::Snapshot>(value);
    if (!snapshot) return undecodable(replica.session, "snapshot");
    replica.snapshot = std::move(*snapshot);
  }
  return Done{};
}

}  // namespace

Result<Done> RocksStore::Impl::recover_replicas(std::map<SessionId, node::StoredReplica>& replicas) {
  std::unique_ptr<rocksdb::Iterator> it(db->NewIterator({}, handles[kReplica]));
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    const std::string_view key = view(it->key());
    const SessionId session{std::string(key.substr(0, key.size() - 2))};
    node::StoredReplica& replica = replicas[session];
    replica.session = session;
    if (auto taken = take_record(replica, key.back(), view(it->value())); !taken) return taken;
  }
  if (!it->status().ok()) return failed(it->status(), "reading the replicas");
  return Done{};
}

Result<Done> RocksStore::Impl::recover_logs(std::map<SessionId, node::StoredReplica>& replicas) {
  std::unique_ptr<rocksdb::Iterator> it(db->NewIterator({}, handles[kLog]));
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    const std::string_view key = view(it->key());
    const SessionId session{std::string(key.substr(0, key.size() - 9))};
    auto entry = decode<raft::Entry>(view(it->value()));
    if (!entry) return undecodable(session, "log");
    Extent& extent = extents[session];
    if (extent.first == 0) extent.first = entry->index.value;
    extent.last = entry->index.value;
    replicas[session].entries.push_back(std::move(*entry));
  }
  if (!it->status().ok()) return failed(it->status(), "reading the logs");
  return Done{};
}

Result<Done> RocksStore::Impl::recover_chunks(std::vector<Digest>& chunks) {
  const std::unique_ptr<rocksdb::Iterator> it(db->NewIterator({}, handles[kChunk]));
  it->SeekToFirst();
  while (it->Valid()) {
    const std::string key(view(it->key()).substr(0, kDigestBytes));
    if (const auto digest = digest_in(view(it->key()))) chunks.push_back(*digest);
    // Skip the chunk's blocks: an iterator that steps over them would read them.
    it->Seek(key + std::string(kDigestBytes, '\xff'));
  }
  if (!it->status().ok()) return failed(it->status(), "reading the chunks");
  return Done{};
}

RocksStore::RocksStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RocksStore::~RocksStore() = default;

Result<std::unique_ptr<RocksStore>> RocksStore::open(const std::filesystem::path& folder) {
  auto impl = std::make_unique<Impl>(folder);
  if (auto done = impl->open(); !done) return tl::unexpected(done.error());
  return std::unique_ptr<RocksStore>(new RocksStore(std::move(impl)));
}

Result<node::Recovered> RocksStore::recover() {
  std::map<SessionId, node::StoredReplica> replicas;
  if (auto done = impl_->recover_replicas(replicas); !done) return tl::unexpected(done.error());
  if (auto done = impl_->recover_logs(replicas); !done) return tl::unexpected(done.error());
  node::Recovered result;
  for (auto& [session, replica] : replicas) {
    replica.session = session;
    result.replicas.push_back(std::move(replica));
  }
  if (auto done = impl_->recover_chunks(result.chunks); !done) return tl::unexpected(done.error());
  // Speeds that cannot be read are learned anew.
  if (!impl_->db->Get({}, impl_->handles[kDefault], kSpeedsKey, &result.speeds).ok()) result.speeds.clear();
  return result;
}

Result<Done> RocksStore::store(const std::vector<node::DiskWrite>& writes) {
  Impl::Batch batch;
  rocksdb::Status status = impl_->announce(writes, batch);
  if (!status.ok()) return impl_->failed(status, "announcing chunks");
  for (const node::DiskWrite& write : writes) {
    std::visit(
        Overloaded{
            [&](const node::PutMeta& w) { impl_->put(batch, kReplica, replica_key(w.session, 'm'), w.meta); },
            [&](const node::PutHardState& w) {
              impl_->put(batch, kReplica, replica_key(w.session, 'h'), encode(w.hard_state));
            },
            [&](const node::PutEntries& w) { impl_->put_entries(batch, w); },
            [&](const node::PutSnapshot& w) { impl_->put_snapshot(batch, w); },
            [&](const node::DropReplica& w) { impl_->drop_replica(batch, w.session); },
            [&](const node::PutChunk& w) { status = impl_->put_chunk(batch, w); },
            [&](const node::DropChunk& w) { impl_->drop_chunk(batch, w.digest); },
            [&](const node::PutSpeeds& w) { impl_->put(batch, kDefault, std::string(kSpeedsKey), w.record); },
        },
        write);
    if (!status.ok()) return impl_->failed(status, "writing a chunk");
  }
  rocksdb::WriteOptions durable;
  durable.sync = true;
  failpoint("store.before");
  if (batch.past_the_log) status = impl_->flush_chunks();
  if (!status.ok()) return impl_->failed(status, "writing chunks");
  if (batch.past_the_log) failpoint("store.flushed");
  status = impl_->db->Write(durable, &batch.writes);
  if (!status.ok()) return impl_->failed(status, "writing the log");
  failpoint("store.after");
  if (batch.past_the_log || ++impl_->stores % kStoresToLook == 0) status = impl_->collect_garbage();
  if (!status.ok()) return impl_->failed(status, "collecting garbage");
  return Done{};
}

Result<node::StoredReplica> RocksStore::load_replica(const SessionId& session) const {
  node::StoredReplica replica{
      .session = session, .meta = {}, .hard_state = {}, .snapshot = {}, .entries = {}};
  bool found = false;
  for (const char what : {'m', 'h', 's'}) {
    std::string value;
    const auto status = impl_->db->Get({}, impl_->handles[kReplica], replica_key(session, what), &value);
    if (status.IsNotFound()) continue;
    if (!status.ok()) return impl_->failed(status, "reading a replica");
    found = true;
    if (auto taken = take_record(replica, what, value); !taken) return tl::unexpected(taken.error());
  }
  if (!found) return fail(ErrorKind::kNotFound, "no replica of session " + session.value + " is stored");
  const std::unique_ptr<rocksdb::Iterator> it(impl_->db->NewIterator({}, impl_->handles[kLog]));
  const std::string first = log_key(session, 0);
  for (it->Seek(first); it->Valid() && view(it->key()).starts_with(session.value + '\0'); it->Next()) {
    auto entry = decode<raft::Entry>(view(it->value()));
    if (!entry) return undecodable(session, "log");
    replica.entries.push_back(std::move(*entry));
  }
  if (!it->status().ok()) return impl_->failed(it->status(), "reading a log");
  return replica;
}

std::optional<Blob> RocksStore::load_chunk(const Digest& digest) const {
  const auto size = impl_->stored_size(digest);
  if (!size) return std::nullopt;
  std::string bytes;
  bytes.reserve(*size);
  for (std::uint64_t block = 0; bytes.size() < *size; ++block) {
    rocksdb::PinnableSlice part;
    if (!impl_->db->Get({}, impl_->handles[kChunk], block_key(digest, block), &part).ok() || part.empty())
      return std::nullopt;
    if (!unpack({part.data(), part.size()}, bytes)) return std::nullopt;
  }
  if (digest_of(bytes) != digest) return std::nullopt;
  return Blob(std::move(bytes));
}

}  // namespace banyan::runtime
