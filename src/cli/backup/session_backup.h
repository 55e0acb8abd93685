// Sessions in a data store: what README.md describes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "cli/moving/session_file.h"
#include "cli/moving/signing.h"
#include "runtime/data_store/blocking_store.h"

namespace banyan::cli {

/// A session as a store has it; its signature was verified, whose ever it is.
class SessionBackup {
 public:
  /// kNotFound; kCorrupt when it was changed since it was signed; a store's errors.
  static Result<SessionBackup> open(runtime::BlockingStore& store, const std::string& session);

  [[nodiscard]] const nlohmann::json& manifest() const { return manifest_; }
  [[nodiscard]] const std::string& state() const { return state_; }
  /// With their SHA-256.
  [[nodiscard]] const std::vector<FileChunk>& chunks() const { return chunks_; }
  /// Whose key signed it; empty: nobody's.
  [[nodiscard]] const std::string& public_key() const { return public_key_; }
  /// kNotFound, kCorrupt: these bytes are not to be had any more.
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
/// Removes a session's backup; none is no error.
Result<Done> remove_backup(runtime::BlockingStore& store, const std::string& session);

/// Writes backups, each of what has changed since the last one.
class BackupWriter {
 public:
  /// All three outlive it.
  BackupWriter(runtime::BlockingStore& store, const Keys& keys) : store_(store), keys_(keys) {}

  /// The manifest of the backup that the store has, if this user has signed it; null otherwise.
  Result<nlohmann::json> newest(const std::string& session);

  /// Of these, what the store has not, or nothing vouches for.
  Result<std::vector<FileChunk>> lacking(const std::string& session, const std::vector<FileChunk>& chunks);

  struct Saved {
    std::uint64_t chunks = 0;  ///< that the store did not have
    std::uint64_t bytes = 0;   ///< of these and of the state
  };
  /// `fetch` gives the bytes of chunks that the store has not. Where this fails, the store has the backup
  /// from before.
  Result<Saved> save(const std::string& session, nlohmann::json manifest, std::string_view state,
                     const std::vector<FileChunk>& chunks,
                     const std::function<Result<std::string>(const FileChunk&)>& fetch);

 private:
  struct Held {
    nlohmann::json manifest;  ///< of the newest backup; null for none
    /// SHA-256 of chunks that the store has; empty: of one that nothing tells what it is.
    std::map<Digest, std::string> chunks;
  };

  Result<Held*> held(const std::string& session);

  runtime::BlockingStore& store_;
  const Keys& keys_;
  std::map<std::string, Held> held_;
};

}  // namespace banyan::cli
