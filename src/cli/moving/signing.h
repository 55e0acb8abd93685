// Who signs session files, and whose files are taken.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace banyan::cli {

/// The sizes of Ed25519 (RFC 8032), in bytes.
constexpr std::size_t kSignatureBytes = 64;
constexpr std::size_t kPublicKeyBytes = 32;

/// A folder with this user's key, `signing.pem`, and a file `trusted` with the keys of others whose files are
/// taken: a line for each, with 64 hex digits and a name.
class Keys {
 public:
  /// The folder $XDG_CONFIG_HOME/banyan, or else ~/.config/banyan; empty when there is neither.
  static std::filesystem::path folder_of_user();
  explicit Keys(std::filesystem::path folder) : folder_(std::move(folder)) {}

  struct Signature {
    std::string signature;
    std::string public_key;
  };
  /// Signs with this user's key, which is made when there is none yet. kIo when it cannot be read or written.
  [[nodiscard]] Result<Signature> sign(std::string_view digest) const;
  /// This user's public key; the key is made when there is none yet.
  [[nodiscard]] Result<std::string> public_key() const;
  /// The name under which a key is trusted, and "you" for this user's own. kDenied when it is not trusted.
  [[nodiscard]] Result<std::string> name_of(std::string_view public_key) const;
  /// From now on, files that were signed with this key are taken.
  [[nodiscard]] Result<Done> trust(std::string_view public_key, const std::string& name) const;

 private:
  std::filesystem::path folder_;
};

/// Whether the signature is the key's for this digest.
bool verifies(const Keys::Signature& signature, std::string_view digest);

/// SHA-256 of these bytes, in hex digits.
std::string sha256_of(std::string_view bytes);

/// A SHA-256 that is computed piece by piece.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void add(std::string_view bytes);
  /// The 32 bytes of the digest. To be called once, at the end.
  std::string digest();

 private:
  void* context_;
};

}  // namespace banyan::cli
