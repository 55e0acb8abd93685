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

/// A session as a store has it. Its signature was verified; whether its signer is trusted is for the caller
/// to say.
class SessionBackup {
 public:
  /// Reads a backup. kNotFound; kCorrupt when it was changed after it was signed, or is of another session;
  /// and the store's own errors.
  static Result<SessionBackup> open(runtime::BlockingStore& store, const std::string& session);

  [[nodiscard]] const nlohmann::json& manifest() const { return manifest_; }
  [[nodiscard]] const std::string& state() const { return state_; }
  /// The chunks that belong to it, with their SHA-256.
  [[nodiscard]] const std::vector<FileChunk>& chunks() const { return chunks_; }
  /// The public key of the signer; empty when nobody has signed it.
  [[nodiscard]] const std::string& public_key() const { return public_key_; }
  /// Where hosts that read the same store find the chunks.
  [[nodiscard]] session::Elsewhere elsewhere() const;
  /// The chunks that the store lacks, or has with another size. Their bytes are not read for that.
  Result<std::set<Digest>> missing(runtime::BlockingStore& store) const;
  /// The bytes of a chunk. kNotFound or kCorrupt when they cannot be had.
  Result<std::string> chunk(runtime::BlockingStore& store, const FileChunk& chunk) const;

 private:
  std::string session_;
  nlohmann::json manifest_;
  std::string state_;
  std::vector<FileChunk> chunks_;
  std::string public_key_;
};

/// The sessions of which a store has backups, sorted.
Result<std::vector<std::string>> sessions_backed_up(runtime::BlockingStore& store);
/// Removes everything that a store has of a session. False when there was nothing.
Result<bool> remove_backup(runtime::BlockingStore& store, const std::string& session);

/// Writes backups. Each brings only what has changed since the last one.
class BackupWriter {
 public:
  /// All arguments must outlive it. `stop` is asked between two calls of the store whether to break off.
  BackupWriter(runtime::BlockingStore& store, const Keys& keys, std::function<bool()> stop)
      : store_(store), keys_(keys), stop_(std::move(stop)) {}

  /// The manifest of the newest backup: of the one that the store had when this was first asked, or of the
  /// one that this object has put there since. Null when it is not of this user. `session` is one of its
  /// fields.
  Result<nlohmann::json> newest(const std::string& session);
  /// Forgets what is known of a session's backup, because it may not be there any more.
  void forget(const std::string& session) { held_.erase(session); }

  struct Saved {
    std::uint64_t chunks = 0;          ///< how many the store did not have
    std::uint64_t bytes = 0;           ///< the size of these and of the state
    std::optional<Error> not_removed;  ///< why chunks that nothing uses are still there
  };
  /// Writes a backup. `manifest` has the session's id as "session". `fetch` gives the bytes of chunks that
  /// the store lacks; `lacking` is told first how many bytes these are. When this fails, the store has the
  /// backup from before. kUnavailable when it was stopped.
  Result<Saved> save(
      nlohmann::json manifest, std::string_view state, const std::vector<FileChunk>& chunks,
      const std::function<Result<std::string>(const FileChunk&)>& fetch,
      const std::function<void(std::uint64_t)>& lacking = [](std::uint64_t) {});

 private:
  struct Held {
    nlohmann::json manifest;  ///< the newest backup's; null when there is none
    /// The SHA-256 of the chunks that were put there. Whether they are still there must be looked at.
    std::map<Digest, std::string> sha256;
  };

  Result<Held*> held(const std::string& session);

  runtime::BlockingStore& store_;
  const Keys& keys_;
  std::function<bool()> stop_;
  std::map<std::string, Held> held_;
};

}  // namespace banyan::cli
