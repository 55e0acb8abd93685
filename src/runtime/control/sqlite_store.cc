#include "runtime/control/sqlite_store.h"

#include <sqlite3.h>

#include <optional>
#include <utility>
#include <vector>

namespace banyan::runtime {

namespace {

constexpr int kVersion = 1;

struct Statement {
  Statement(sqlite3* db, const char* sql) { sqlite3_prepare_v2(db, sql, -1, &handle, nullptr); }
  ~Statement() { sqlite3_finalize(handle); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  sqlite3_stmt* handle = nullptr;
};

struct Record {
  std::string key;
  std::string value;
};

}  // namespace

struct SqliteStore::Impl : std::enable_shared_from_this<Impl> {
  Impl(Loop& owner, std::function<void(std::string)> on_fatal) : loop(owner), fatal(std::move(on_fatal)) {}
  ~Impl() { sqlite3_close(db); }

  Loop& loop;
  std::function<void(std::string)> fatal;
  sqlite3* db = nullptr;
  std::vector<Record> gathered;
  std::vector<std::function<void()>> callbacks;
  bool busy = false;
  bool failed = false;

  bool run(const char* sql) { return sqlite3_exec(db, sql, nullptr, nullptr, nullptr) == SQLITE_OK; }
  [[nodiscard]] std::string problem() const { return sqlite3_errmsg(db); }

  int version() {
    const Statement statement(db, "PRAGMA user_version");
    return sqlite3_step(statement.handle) == SQLITE_ROW ? sqlite3_column_int(statement.handle, 0) : -1;
  }

  /// Makes the records durable in one transaction. Returns what went wrong, or nothing.
  std::optional<std::string> store(const std::vector<Record>& records) {
    if (!run("BEGIN IMMEDIATE")) return problem();
    const Statement put(db, "INSERT OR REPLACE INTO record(key, value) VALUES(?, ?)");
    const Statement drop(db, "DELETE FROM record WHERE key = ?");
    for (const Record& record : records) {
      sqlite3_stmt* statement = record.value.empty() ? drop.handle : put.handle;
      sqlite3_reset(statement);
      sqlite3_bind_text(statement, 1, record.key.data(), static_cast<int>(record.key.size()), SQLITE_STATIC);
      if (!record.value.empty())
        sqlite3_bind_blob64(statement, 2, record.value.data(), record.value.size(), SQLITE_STATIC);
      if (sqlite3_step(statement) != SQLITE_DONE) return problem();
    }
    if (!run("COMMIT")) return problem();
    return std::nullopt;
  }

  void pump() {
    if (busy || failed || gathered.empty()) return;
    busy = true;
    auto self = shared_from_this();
    auto records = std::make_shared<std::vector<Record>>(std::exchange(gathered, {}));
    auto done = std::make_shared<std::vector<std::function<void()>>>(std::exchange(callbacks, {}));
    auto wrong = std::make_shared<std::optional<std::string>>();
    loop.offload([self, records, wrong] { *wrong = self->store(*records); },
                 [self, done, wrong] {
                   self->busy = false;
                   if (*wrong) {
                     self->failed = true;
                     self->fatal("writing the control store failed: " + **wrong +
                                 "; check the disk, then start the gateway again");
                     return;
                   }
                   self->pump();
                   for (auto& callback : *done) callback();
                 });
  }
};

SqliteStore::SqliteStore(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
SqliteStore::~SqliteStore() = default;

Result<std::unique_ptr<SqliteStore>> SqliteStore::open(Loop& loop, const std::string& path,
                                                       std::function<void(std::string)> fatal) {
  auto impl = std::make_shared<Impl>(loop, std::move(fatal));
  const auto refused = [&](ErrorKind kind) {
    return fail(kind, "the control store " + path + " cannot be opened: " + impl->problem());
  };
  if (sqlite3_open_v2(path.c_str(), &impl->db,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX,
                      nullptr) != SQLITE_OK)
    return refused(ErrorKind::kIo);
  // Two gateways on one store would undo each other's records, so the lock is held for as long as this
  // process lives.
  if (!impl->run("PRAGMA locking_mode = EXCLUSIVE") || !impl->run("PRAGMA journal_mode = WAL") ||
      !impl->run("PRAGMA synchronous = FULL") || !impl->run("BEGIN EXCLUSIVE; COMMIT")) {
    if ((sqlite3_errcode(impl->db) & 0xff) == SQLITE_BUSY)
      return fail(ErrorKind::kConflict, "the control store " + path +
                                            " is in use; another gateway runs on it. Stop that one first");
    return refused(ErrorKind::kCorrupt);
  }
  const int version = impl->version();
  if (version == 0) {
    if (!impl->run("CREATE TABLE record(key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID; PRAGMA "
                   "user_version = 1"))
      return refused(ErrorKind::kIo);
  } else if (version != kVersion) {
    return fail(ErrorKind::kConflict, "the control store " + path + " has version " +
                                          std::to_string(version) + "; this gateway reads " +
                                          std::to_string(kVersion) + ". Use the version that wrote it");
  }
  return std::unique_ptr<SqliteStore>(new SqliteStore(std::move(impl)));
}

Result<std::map<std::string, std::string>> SqliteStore::load() {
  std::map<std::string, std::string> records;
  const Statement statement(impl_->db, "SELECT key, value FROM record");
  int step = SQLITE_ROW;
  while ((step = sqlite3_step(statement.handle)) == SQLITE_ROW) {
    const auto text = [&](int column) {
      const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement.handle, column));
      return std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement.handle, column)));
    };
    records.emplace(text(0), text(1));
  }
  if (step != SQLITE_DONE)
    return fail(ErrorKind::kCorrupt, "the control store cannot be read: " + impl_->problem());
  return records;
}

void SqliteStore::put(std::string key, std::string value, std::function<void()> durable) {
  impl_->gathered.push_back({std::move(key), std::move(value)});
  impl_->callbacks.push_back(std::move(durable));
  impl_->pump();
}

}  // namespace banyan::runtime
