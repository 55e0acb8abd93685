// Who signs session files, and whose files are taken.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace banyan::cli {

/// Sizes of Ed25519 (RFC 8032), in bytes.
constexpr std::size_t kSignatureBytes = 64;
constexpr std::size_t kPublicKeyBytes = 32;

/// A folder with this user's key, `signing.pem`, and the keys of others whose files are taken: `trusted`, a
/// line each, 64 hex digits and a name.
class Keys {
 public:
  /// $XDG_CONFIG_HOME/banyan, else ~/.config/banyan; empty without either.
  static std::filesystem::path folder_of_user();
  explicit Keys(std::filesystem::path folder) : folder_(std::move(folder)) {}

  struct Signature {
    std::string signature;
    std::string public_key;
  };
  /// Makes the key when there is none yet. kIo when it cannot be read or written.
  [[nodiscard]] Result<Signature> sign(std::string_view digest) const;
  /// One's own. Makes the key when there is none yet.
  [[nodiscard]] Result<std::string> public_key() const;
  /// The name under which the key is trusted; "you" for one's own. kDenied: it is not.
  [[nodiscard]] Result<std::string> name_of(std::string_view public_key) const;
  /// From now on files that were signed with it are taken.
  [[nodiscard]] Result<Done> trust(std::string_view public_key, const std::string& name) const;

 private:
  std::filesystem::path folder_;
};

/// Whether the signature is the key's for this digest.
bool verifies(const Keys::Signature& signature, std::string_view digest);

/// Lower-case hex digits.
std::string hex_of(std::string_view bytes);

/// SHA-256 of these bytes, in hex digits.
std::string sha256_of(std::string_view bytes);

/// SHA-256 as it grows.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void add(std::string_view bytes);
  /// Once, at the end: 32 bytes.
  std::string digest();

 private:
  void* context_;
};

}  // namespace banyan::cli
