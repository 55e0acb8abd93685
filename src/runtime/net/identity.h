// Who a daemon is, whatever name it claims: an Ed25519 key pair (RFC 8032).
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

struct evp_pkey_st;

namespace banyan::runtime {

/// Whether the text is a public key as Identity::key() writes it.
bool is_key(std::string_view text);

/// Whether `signature` is of `text`, by whoever has the private key that belongs to `key`. False for a key
/// that is none.
bool is_signed_by(const std::string& key, std::string_view text, std::string_view signature);

/// A key pair. Copies share it.
class Identity {
 public:
  /// A new key pair, which is kept nowhere.
  static Identity fresh();
  /// The key pair in a PEM file. Where there is no such file, a new key pair is made and kept there, with
  /// mode 0600. kDenied for a file that others than its owner may read or write, kInvalid for one without an
  /// Ed25519 key, kIo; each names the file and says what to do.
  static Result<Identity> load_or_create(const std::filesystem::path& file);

  /// The public key: 64 lower-case hex digits. It may be shown to everybody.
  [[nodiscard]] const std::string& key() const { return key_; }
  /// 64 bytes.
  [[nodiscard]] std::string sign(std::string_view text) const;

 private:
  explicit Identity(std::shared_ptr<evp_pkey_st> pair);

  std::shared_ptr<evp_pkey_st> pair_;
  std::string key_;
};

}  // namespace banyan::runtime
