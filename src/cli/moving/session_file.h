// A session in a file: what README.md describes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "cli/moving/signing.h"

namespace banyan::cli {

/// A chunk in the file.
struct FileChunk {
  Digest digest;
  std::uint64_t size = 0;
  /// The SHA-256, in hex, of the bytes that the signature was verified with: when they are read again they
  /// are compared.
  std::string sha256 = {};
};

/// Writes a file beside its place. finish() puts it in its place; without that nothing is left of it.
class SessionFileWriter {
 public:
  /// Begins a file. kIo when it cannot be made.
  static Result<SessionFileWriter> create(const std::filesystem::path& path, const nlohmann::json& manifest,
                                          std::string_view state);
  SessionFileWriter(SessionFileWriter&&) noexcept = default;
  SessionFileWriter& operator=(SessionFileWriter&&) = delete;
  ~SessionFileWriter();

  /// Adds a chunk. Chunks come in the order of the manifest.
  Result<Done> add(std::string_view chunk);
  Result<Done> finish(const Keys& keys);

 private:
  explicit SessionFileWriter(std::filesystem::path path);
  void write(std::string_view bytes);
  [[nodiscard]] std::filesystem::path draft() const;

  std::filesystem::path path_;
  std::ofstream out_;
  std::unique_ptr<Sha256> sha_;
};

/// A file that is what its signer (if it has one) wrote: all of it was read, and its signature was verified.
class SessionFile {
 public:
  /// Opens a file. kNotFound, kIo; kCorrupt when it is no session file, or was changed after it was signed.
  static Result<SessionFile> open(const std::filesystem::path& path);

  [[nodiscard]] const nlohmann::json& manifest() const { return manifest_; }
  [[nodiscard]] const std::string& state() const { return state_; }
  [[nodiscard]] const std::vector<FileChunk>& chunks() const { return chunks_; }
  /// The public key of the signer; empty when it has no signature.
  [[nodiscard]] const std::string& public_key() const { return public_key_; }
  /// Gives the chunks to `take`, in order. It stops at the first error and returns it.
  Result<Done> each_chunk(const std::function<Result<Done>(const FileChunk&, std::string)>& take);

 private:
  SessionFile() = default;

  std::ifstream in_;
  std::streamoff chunks_at_ = 0;
  nlohmann::json manifest_;
  std::string state_;
  std::vector<FileChunk> chunks_;
  std::string public_key_;
};

/// How many bytes all of the chunks have.
std::uint64_t bytes_of(const std::vector<FileChunk>& chunks);
/// The chunks as a manifest lists them.
nlohmann::json listed(const std::vector<FileChunk>& chunks);

}  // namespace banyan::cli
