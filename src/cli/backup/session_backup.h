// Sessions in a data store: what README.md describes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "cli/moving/session_file.h"
#include "cli/moving/signing.h"
#include "core/session/command.h"
#include "runtime/data_store/blocking_store.h"

namespace banyan::cli {

/// A session as a store has it; its signature was verified, whose ever it is.
class SessionBackup {
 public:
  /// kNotFound; kCorrupt when it was changed since it was signed, or is another session's; a store's errors.
  static Result<SessionBackup> open(runtime::BlockingStore& store, const std::string& session);

  [[nodiscard]] const nlohmann::json& manifest() const { return manifest_; }
  [[nodiscard]] const std::string& state() const { return state_; }
  /// With their SHA-256.
  [[nodiscard]] const std::vector<FileChunk>& chunks() const { return chunks_; }
  /// Whose key signed it; empty: nobody's.
  [[nodiscard]] const std::string& public_key() const { return public_key_; }
  /// Where hosts that read the same store find them.
  [[nodiscard]] session::Elsewhere elsewhere() const;
  /// Those that the store has not, or not whole, as far as it says without their bytes.
  Result<std::set<Digest>> missing(runtime::BlockingStore& store) const;
  /// kNotFound, kCorrupt: these bytes are not to be had.
  Result<std::string> chunk(runtime::BlockingStore& store, const FileChunk& chunk) const;

 private:
  std::string session_;
  nlohmann::json manifest_;
  std::string state_;
  std::vector<FileChunk> chunks_;
  std::string public_key_;
};

/// Sessions that a store has backups of, sorted.
Result<std::vector<std::string>> sessions_backed_up(runtime::BlockingStore& store);
/// Removes all that a store has of a session. False: nothing was there.
Result<bool> remove_backup(runtime::BlockingStore& store, const std::string& session);

/// Writes backups, each of what has changed since the last one.
class BackupWriter {
 public:
  /// All outlive it. `stop`: says, between two calls of the store, that it is to leave off.
  BackupWriter(runtime::BlockingStore& store, const Keys& keys, std::function<bool()> stop)
      : store_(store), keys_(keys), stop_(std::move(stop)) {}

  /// The manifest of the backup that the store had when this was asked first, or that this has put there
  /// since; null when it is not of this user. `session` is a field of it.
  Result<nlohmann::json> newest(const std::string& session);
  /// It is not there any more, or nobody knows.
  void forget(const std::string& session) { held_.erase(session); }

  struct Saved {
    std::uint64_t chunks = 0;          ///< that the store did not have
    std::uint64_t bytes = 0;           ///< of these and of the state
    std::optional<Error> not_removed;  ///< why chunks that nothing uses are still there
  };
  /// `manifest` has the session's id as "session". `fetch` gives the bytes of chunks that the store has not;
  /// `lacking` is told first how many bytes these are. Where this fails, the store has the backup from
  /// before. kUnavailable when it was stopped.
  Result<Saved> save(
      nlohmann::json manifest, std::string_view state, const std::vector<FileChunk>& chunks,
      const std::function<Result<std::string>(const FileChunk&)>& fetch,
      const std::function<void(std::uint64_t)>& lacking = [](std::uint64_t) {});

 private:
  struct Held {
    nlohmann::json manifest;  ///< of the newest backup; null for none
    std::map<Digest, std::string>
        sha256;  ///< of chunks that were put there; that they still are is to be seen
  };

  Result<Held*> held(const std::string& session);

  runtime::BlockingStore& store_;
  const Keys& keys_;
  std::function<bool()> stop_;
  std::map<std::string, Held> held_;
};

}  // namespace banyan::cli
