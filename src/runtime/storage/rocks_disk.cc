#include "runtime/storage/rocks_disk.h"

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include <map>
#include <utility>

#include "base/codec.h"
#include "base/overloaded.h"

namespace banyan::runtime {

namespace {

constexpr std::uint64_t kBlock = 1 << 20;  // a chunk is stored in values of this size
constexpr std::string_view kFormat = "1";

/// Column families, in the order of their handles.
enum Family : std::size_t { kDefault, kReplica, kLog, kChunk, kFamilies };

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

Error to_error(const rocksdb::Status& status, const std::string& doing) {
  const ErrorKind kind = status.IsCorruption() ? ErrorKind::kCorrupt : ErrorKind::kIo;
  return {kind, doing + ": " + status.ToString()};
}

rocksdb::Options small_options() {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.create_missing_column_families = true;
  options.max_open_files = 64;
  options.max_total_wal_size = 64 << 20;
  options.max_background_jobs = 2;
  options.keep_log_file_num = 2;
  options.info_log_level = rocksdb::InfoLogLevel::WARN_LEVEL;
  // Tolerates a record that a crash cut short, and nothing else: what was acknowledged must be there.
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
    options.enable_blob_files = true;  // large values are written once, not again at each compaction
    options.min_blob_size = 16 << 10;
    options.enable_blob_garbage_collection = true;
  }
  return options;
}

struct Extent {
  std::uint64_t first = 0;
  std::uint64_t last = 0;  // 0: no entries
};

}  // namespace

struct RocksDisk::Impl : std::enable_shared_from_this<Impl> {
  Impl(Loop& owner, std::function<void(std::string)> on_fatal) : loop(owner), fatal(std::move(on_fatal)) {}
  ~Impl() {
    for (auto* handle : handles) (void)db->DestroyColumnFamilyHandle(handle);
  }

  struct Read {
    Digest digest;
    std::function<void(std::optional<Blob>)> done;
  };

  Loop& loop;
  std::function<void(std::string)> fatal;
  std::unique_ptr<rocksdb::DB> db;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  std::map<SessionId, Extent> extents;  // of the stored logs; used by one pool task at a time
  std::vector<node::DiskWrite> gathered;
  std::vector<std::function<void()>> callbacks;
  std::vector<Read> reads;
  bool busy = false;
  bool failed = false;

  /// Hands what has gathered to the pool, one task at a time.
  void pump() {
    if (busy || failed || (gathered.empty() && callbacks.empty() && reads.empty())) return;
    busy = true;
    auto self = shared_from_this();
    auto writes = std::make_shared<std::vector<node::DiskWrite>>(std::exchange(gathered, {}));
    auto done = std::make_shared<std::vector<std::function<void()>>>(std::exchange(callbacks, {}));
    auto asked = std::make_shared<std::vector<Read>>(std::exchange(reads, {}));
    auto status = std::make_shared<rocksdb::Status>();
    auto found = std::make_shared<std::vector<std::optional<Blob>>>();
    loop.offload(
        [self, writes, asked, status, found] {
          if (!writes->empty()) *status = self->store(*writes);
          for (const Read& read : *asked) found->push_back(self->load_chunk(read.digest));
        },
        [self, done, asked, status, found] {
          self->busy = false;
          if (!status->ok()) {
            self->failed = true;
            self->fatal(
                "writing the log failed: " + status->ToString() +
                ". Nothing is acknowledged any more; check the disk, then start the host agent again");
            return;
          }
          for (auto& callback : *done) callback();
          for (std::size_t i = 0; i < asked->size(); ++i) (*asked)[i].done(std::move((*found)[i]));
          self->pump();
        });
  }

  rocksdb::Status store(const std::vector<node::DiskWrite>& writes) {
    rocksdb::WriteBatch batch;
    rocksdb::Status early;
    for (const node::DiskWrite& write : writes) {
      std::visit(
          Overloaded{
              [&](const node::PutMeta& w) { put(batch, kReplica, replica_key(w.session, 'm'), w.meta); },
              [&](const node::PutHardState& w) {
                put(batch, kReplica, replica_key(w.session, 'h'), encode(w.hard_state));
              },
              [&](const node::PutEntries& w) { put_entries(batch, w); },
              [&](const node::PutSnapshot& w) { put_snapshot(batch, w); },
              [&](const node::DropReplica& w) { drop_replica(batch, w.session); },
              [&](const node::PutChunk& w) {
                const rocksdb::Status status = put_chunk(batch, w);
                if (early.ok()) early = status;
              },
              [&](const node::DropChunk& w) { drop_chunk(batch, w.digest); },
          },
          write);
    }
    if (!early.ok()) return early;
    rocksdb::WriteOptions options;
    options.sync = true;
    return db->Write(options, &batch);
  }

  void put(rocksdb::WriteBatch& batch, Family family, const std::string& key, const std::string& value) {
    (void)batch.Put(handles[family], key, value);
  }

  void put_entries(rocksdb::WriteBatch& batch, const node::PutEntries& write) {
    Extent& extent = extents[write.session];
    for (std::uint64_t index = write.truncate_after.value + 1; index <= extent.last; ++index)
      (void)batch.Delete(handles[kLog], log_key(write.session, index));
    if (extent.last > write.truncate_after.value) extent.last = write.truncate_after.value;
    for (const raft::Entry& entry : write.entries) {
      put(batch, kLog, log_key(write.session, entry.index.value), encode(entry));
      if (extent.last < extent.first || extent.first == 0) extent.first = entry.index.value;
      extent.last = entry.index.value;
    }
  }

  void put_snapshot(rocksdb::WriteBatch& batch, const node::PutSnapshot& write) {
    put(batch, kReplica, replica_key(write.session, 's'), encode(write.snapshot));
    Extent& extent = extents[write.session];
    for (; extent.first != 0 && extent.first <= extent.last && extent.first <= write.snapshot.index.value;
         ++extent.first)
      (void)batch.Delete(handles[kLog], log_key(write.session, extent.first));
  }

  void drop_replica(rocksdb::WriteBatch& batch, const SessionId& session) {
    for (const char what : {'m', 'h', 's'}) (void)batch.Delete(handles[kReplica], replica_key(session, what));
    const Extent extent = extents[session];
    for (std::uint64_t index = extent.first; index != 0 && index <= extent.last; ++index)
      (void)batch.Delete(handles[kLog], log_key(session, index));
    extents.erase(session);
  }

  /// The blocks go ahead unsynced; the size, in the synced batch, makes the chunk exist.
  rocksdb::Status put_chunk(rocksdb::WriteBatch& batch, const node::PutChunk& write) {
    const std::string_view bytes = write.bytes.view();
    for (std::uint64_t block = 0; block * kBlock < bytes.size(); ++block) {
      const std::string_view part = bytes.substr(block * kBlock, kBlock);
      const rocksdb::Status status = db->Put({}, handles[kChunk], block_key(write.digest, block),
                                             rocksdb::Slice(part.data(), part.size()));
      if (!status.ok()) return status;
    }
    put(batch, kChunk, chunk_key(write.digest), big_endian(bytes.size()));
    return {};
  }

  void drop_chunk(rocksdb::WriteBatch& batch, const Digest& digest) {
    std::string size;
    if (!db->Get({}, handles[kChunk], chunk_key(digest), &size).ok()) return;
    (void)batch.Delete(handles[kChunk], chunk_key(digest));
    for (std::uint64_t block = 0; block * kBlock < from_big_endian(size); ++block)
      (void)batch.Delete(handles[kChunk], block_key(digest, block));
  }

  std::optional<Blob> load_chunk(const Digest& digest) {
    std::string stored_size;
    if (!db->Get({}, handles[kChunk], chunk_key(digest), &stored_size).ok()) return std::nullopt;
    const std::uint64_t size = from_big_endian(stored_size);
    std::string bytes;
    bytes.reserve(size);
    for (std::uint64_t block = 0; bytes.size() < size; ++block) {
      rocksdb::PinnableSlice part;
      if (!db->Get({}, handles[kChunk], block_key(digest, block), &part).ok() || part.empty())
        return std::nullopt;
      bytes.append(part.data(), part.size());
    }
    if (digest_of(bytes) != digest) return std::nullopt;
    return Blob(std::move(bytes));
  }

  Result<std::vector<node::StoredReplica>> recover() {
    std::map<SessionId, node::StoredReplica> replicas;
    std::unique_ptr<rocksdb::Iterator> it(db->NewIterator({}, handles[kReplica]));
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      const std::string_view key(it->key().data(), it->key().size());
      const std::string_view value(it->value().data(), it->value().size());
      const SessionId session{std::string(key.substr(0, key.size() - 2))};
      node::StoredReplica& replica = replicas[session];
      replica.session = session;
      if (key.back() == 'm') {
        replica.meta = value;
      } else if (key.back() == 'h') {
        auto state = decode<raft::HardState>(value);
        if (!state) return corrupt(session, "hard state");
        replica.hard_state = *state;
      } else {
        auto snapshot = decode<raft::Snapshot>(value);
        if (!snapshot) return corrupt(session, "snapshot");
        replica.snapshot = std::move(*snapshot);
      }
    }
    if (!it->status().ok()) return tl::unexpected(to_error(it->status(), "reading the replicas"));
    if (const auto error = recover_logs(replicas)) return tl::unexpected(*error);
    std::vector<node::StoredReplica> result;
    for (auto& [session, replica] : replicas) result.push_back(std::move(replica));
    return result;
  }

  std::optional<Error> recover_logs(std::map<SessionId, node::StoredReplica>& replicas) {
    std::unique_ptr<rocksdb::Iterator> it(db->NewIterator({}, handles[kLog]));
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      const std::string_view key(it->key().data(), it->key().size());
      const SessionId session{std::string(key.substr(0, key.size() - 9))};
      auto entry = decode<raft::Entry>(std::string_view(it->value().data(), it->value().size()));
      if (!entry) return corrupt(session, "log").error();
      Extent& extent = extents[session];
      if (extent.first == 0) extent.first = entry->index.value;
      extent.last = entry->index.value;
      replicas[session].entries.push_back(std::move(*entry));
    }
    if (!it->status().ok()) return to_error(it->status(), "reading the logs");
    return std::nullopt;
  }

  static Result<std::vector<node::StoredReplica>> corrupt(const SessionId& session, const std::string& what) {
    return fail(ErrorKind::kCorrupt,
                "the " + what + " of session " + session.value +
                    " does not decode; move the data directory away and start the host agent "
                    "again: it is filled from its peers");
  }
};

RocksDisk::RocksDisk(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
RocksDisk::~RocksDisk() = default;

Result<std::unique_ptr<RocksDisk>> RocksDisk::open(Loop& loop, const std::string& path,
                                                   std::function<void(std::string)> fatal) {
  auto impl = std::make_shared<Impl>(loop, std::move(fatal));
  const auto cache = rocksdb::NewLRUCache(8 << 20);
  const std::vector<rocksdb::ColumnFamilyDescriptor> families = {
      {rocksdb::kDefaultColumnFamilyName, family_options(cache, kDefault)},
      {"replica", family_options(cache, kReplica)},
      {"log", family_options(cache, kLog)},
      {"chunk", family_options(cache, kChunk)}};
  rocksdb::DB* db = nullptr;
  const rocksdb::Status status = rocksdb::DB::Open(small_options(), path, families, &impl->handles, &db);
  if (!status.ok()) return tl::unexpected(to_error(status, "opening the store in " + path));
  impl->db.reset(db);
  std::string format;
  if (db->Get({}, "format", &format).IsNotFound()) {
    const rocksdb::Status written = db->Put({}, "format", std::string(kFormat));
    if (!written.ok()) return tl::unexpected(to_error(written, "writing to the store in " + path));
  } else if (format != kFormat) {
    return fail(ErrorKind::kConflict, "the store in " + path + " has format " + format +
                                          "; this version reads " + std::string(kFormat) +
                                          " only. Use the version that wrote it");
  }
  return std::unique_ptr<RocksDisk>(new RocksDisk(std::move(impl)));
}

Result<std::vector<node::StoredReplica>> RocksDisk::recover() { return impl_->recover(); }

void RocksDisk::write(std::vector<node::DiskWrite> batch, std::function<void()> durable) {
  for (auto& write : batch) impl_->gathered.push_back(std::move(write));
  impl_->callbacks.push_back(std::move(durable));
  impl_->pump();
}

void RocksDisk::read_chunk(const Digest& digest, std::function<void(std::optional<Blob>)> done) {
  impl_->reads.push_back({digest, std::move(done)});
  impl_->pump();
}

}  // namespace banyan::runtime
