#include "runtime/storage/rocks_store.h"

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include <map>
#include <mutex>
#include <utility>

#include "base/codec.h"
#include "base/overloaded.h"
#include "runtime/failpoint/failpoint.h"
#include "runtime/storage/chunk_files.h"

namespace banyan::runtime {

namespace {

constexpr std::uint64_t kInRecord = 16
                                    << 10;  // a chunk of so few bytes is in its record; others are in files
constexpr std::string_view kFormat = "3";
constexpr std::string_view kFormatKey = "format";
constexpr std::string_view kSpeedsKey = "speeds";
constexpr std::string_view kFilesFolder = "chunks";

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
constexpr std::size_t kDigestBytes = 16;

Digest digest_in(std::string_view key) {
  return {from_big_endian(key.substr(0, 8)), from_big_endian(key.substr(8))};
}

/// What the record of a chunk begins with.
constexpr char kBytes = 'b';  // then they follow
constexpr char kPlace = 'p';  // then the numbers of a ChunkPlace

std::string record_of(const ChunkPlace& place) {
  std::string record(1, kPlace);
  for (const std::uint64_t number : {place.file, place.offset, place.length, place.size})
    record += big_endian(number);
  return record;
}

std::optional<ChunkPlace> place_in(std::string_view record) {
  if (record.size() != 1 + 4 * sizeof(std::uint64_t) || record.front() != kPlace) return std::nullopt;
  const auto number = [&](std::size_t i) { return from_big_endian(record.substr(1 + i * 8, 8)); };
  return ChunkPlace{.file = number(0), .offset = number(1), .length = number(2), .size = number(3)};
}

std::string_view view(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }
rocksdb::Slice slice(std::string_view view) { return {view.data(), view.size()}; }

rocksdb::Options database_options() {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.create_missing_column_families = true;
  options.max_open_files = 64;
  options.max_total_wal_size = 64 << 20;
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

rocksdb::ColumnFamilyOptions family_options(const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::ColumnFamilyOptions options;
  options.write_buffer_size = 2 << 20;
  options.max_write_buffer_number = 2;
  options.compression = rocksdb::kNoCompression;
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = cache;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
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

/// The record of a new chunk. The bytes of a large one go to a file, ahead of it.
Result<std::string> place_chunk(ChunkFiles::Writer& writer, const node::PutChunk& chunk) {
  if (chunk.bytes.size() <= kInRecord) return kBytes + std::string(chunk.bytes.view());
  const auto place = writer.append(chunk.bytes.view());
  if (!place) return tl::unexpected(place.error());
  return record_of(*place);
}

}  // namespace

struct RocksStore::Impl {
  /// A WriteBatch, and what the records of chunks will be after it.
  struct Batch {
    rocksdb::WriteBatch writes;
    std::map<Digest, std::optional<std::string>> chunks;  ///< nothing when dropped
    std::vector<ChunkPlace> unused;                       ///< once it is written
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
  Result<Done> keep_files();
  Result<Done> recover_replicas(std::map<SessionId, node::StoredReplica>& replicas);
  Result<Done> recover_chunks(std::vector<Digest>& chunks);
  Result<Done> recover_logs(std::map<SessionId, node::StoredReplica>& replicas);

  void put_entries(Batch& batch, const node::PutEntries& write);
  void put_snapshot(Batch& batch, const node::PutSnapshot& write);
  void drop_replica(Batch& batch, const SessionId& session);
  void put_record(Batch& batch, const Digest& digest, std::string record);
  void leave_place(Batch& batch, const Digest& digest);
  void drop_chunk(Batch& batch, const Digest& digest);

  void put(Batch& batch, Family family, const std::string& key, std::string_view value) const {
    (void)batch.writes.Put(handles[family], key, slice(value));
  }
  void remove(Batch& batch, Family family, const std::string& key) const {
    (void)batch.writes.Delete(handles[family], key);
  }
  /// The record of a chunk.
  [[nodiscard]] std::optional<std::string> record(const Digest& digest) const {
    std::string found;
    if (!db->Get({}, handles[kChunk], chunk_key(digest), &found).ok()) return std::nullopt;
    return found;
  }

  std::filesystem::path folder;
  std::unique_ptr<rocksdb::DB> db;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  std::map<SessionId, Extent> extents;
  std::unique_ptr<ChunkFiles> files;
  std::mutex unused_mutex;  ///< guards what follows
  std::vector<ChunkPlace> unused;
  std::optional<ChunkFiles::Writer> writer;             ///< of store()
  std::optional<ChunkFiles::Writer> background_writer;  ///< of place()
};

Result<Done> RocksStore::Impl::open() {
  const auto cache = rocksdb::NewLRUCache(8 << 20);
  const std::vector<rocksdb::ColumnFamilyDescriptor> families = {
      {rocksdb::kDefaultColumnFamilyName, family_options(cache)},
      {"replica", family_options(cache)},
      {"log", family_options(cache)},
      {"chunk", family_options(cache)}};
  rocksdb::DB* opened = nullptr;
  const auto status = rocksdb::DB::Open(database_options(), folder.string(), families, &handles, &opened);
  if (!status.ok()) return failed(status, "opening the store");
  db.reset(opened);
  if (auto done = check_format(); !done) return done;
  auto found = ChunkFiles::open(folder / kFilesFolder);
  if (!found) return tl::unexpected(found.error());
  files = std::move(*found);
  writer.emplace(*files);
  background_writer.emplace(*files);
  return keep_files();
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

/// What no record names was left behind by a crash.
Result<Done> RocksStore::Impl::keep_files() {
  std::vector<ChunkPlace> used;
  const std::unique_ptr<rocksdb::Iterator> it(db->NewIterator({}, handles[kChunk]));
  for (it->SeekToFirst(); it->Valid(); it->Next())
    if (const auto place = place_in(view(it->value()))) used.push_back(*place);
  if (!it->status().ok()) return failed(it->status(), "reading the chunks");
  files->keep_only(std::move(used));
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

void RocksStore::Impl::put_record(Batch& batch, const Digest& digest, std::string record) {
  leave_place(batch, digest);
  put(batch, kChunk, chunk_key(digest), record);
  batch.chunks[digest] = std::move(record);
}

void RocksStore::Impl::drop_chunk(Batch& batch, const Digest& digest) {
  leave_place(batch, digest);
  remove(batch, kChunk, chunk_key(digest));
  batch.chunks[digest].reset();
}

/// Where the chunk lies before the next change of its record.
void RocksStore::Impl::leave_place(Batch& batch, const Digest& digest) {
  const auto here = batch.chunks.find(digest);
  const auto record = here != batch.chunks.end() ? here->second : this->record(digest);
  if (const auto place = record ? place_in(*record) : std::nullopt) batch.unused.push_back(*place);
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
  for (it->SeekToFirst(); it->Valid(); it->Next())
    if (it->key().size() == kDigestBytes) chunks.push_back(digest_in(view(it->key())));
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

Result<Done> RocksStore::store(const std::vector<node::DiskWrite>& writes,
                               const std::vector<PlacedChunk>& placed) {
  Impl::Batch batch;
  Result<Done> done = Done{};
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
            [&](const node::PutChunk& w) {
              auto record = place_chunk(*impl_->writer, w);
              if (record) {
                impl_->put_record(batch, w.digest, std::move(*record));
              } else {
                done = tl::unexpected(record.error());
              }
            },
            [&](const node::DropChunk& w) { impl_->drop_chunk(batch, w.digest); },
            [&](const node::PutSpeeds& w) { impl_->put(batch, kDefault, std::string(kSpeedsKey), w.record); },
        },
        write);
    if (!done) return done;
  }
  for (const PlacedChunk& chunk : placed) impl_->put_record(batch, chunk.digest, chunk.record);
  failpoint("store.before");
  if (done = impl_->writer->sync(); !done) return done;
  rocksdb::WriteOptions durable;
  durable.sync = true;
  const rocksdb::Status status = impl_->db->Write(durable, &batch.writes);
  if (!status.ok()) return impl_->failed(status, "writing the log");
  failpoint("store.after");
  if (!batch.unused.empty()) {
    const std::scoped_lock lock(impl_->unused_mutex);
    impl_->unused.insert(impl_->unused.end(), batch.unused.begin(), batch.unused.end());
  }
  return Done{};
}

bool RocksStore::has_room_to_give() const {
  const std::scoped_lock lock(impl_->unused_mutex);
  return !impl_->unused.empty();
}

void RocksStore::give_room_back() {
  std::vector<ChunkPlace> unused;
  {
    const std::scoped_lock lock(impl_->unused_mutex);
    unused.swap(impl_->unused);
  }
  impl_->files->drop(unused);
}

Result<std::vector<PlacedChunk>> RocksStore::place(const std::vector<node::PutChunk>& chunks) {
  std::vector<PlacedChunk> placed;
  for (const node::PutChunk& chunk : chunks) {
    auto record = place_chunk(*impl_->background_writer, chunk);
    if (!record) return tl::unexpected(record.error());
    placed.push_back({chunk.digest, std::move(*record)});
  }
  if (auto done = impl_->background_writer->sync(); !done) return tl::unexpected(done.error());
  return placed;
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
  // It may be stored anew, elsewhere, while it is being read.
  for (auto record = impl_->record(digest); record;) {
    std::string bytes;
    const auto place = place_in(*record);
    const bool whole = place ? impl_->files->read(*place, bytes) : record->front() == kBytes;
    if (!place) bytes = record->substr(1);
    if (whole && digest_of(bytes) == digest) return Blob(std::move(bytes));
    auto now = impl_->record(digest);
    if (now == record) return std::nullopt;
    record = std::move(now);
  }
  return std::nullopt;
}

}  // namespace banyan::runtime
