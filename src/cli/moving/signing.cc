#include "cli/moving/signing.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>

#include "base/check.h"
#include "base/hex.h"

namespace banyan::cli {

namespace {

struct Free {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using Key = std::unique_ptr<EVP_PKEY, Free>;
using Context = std::unique_ptr<EVP_MD_CTX, Free>;
using File = std::unique_ptr<std::FILE, Free>;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

Key read_key(const std::filesystem::path& path) {
  const File file(std::fopen(path.c_str(), "re"));
  return Key(file ? PEM_read_PrivateKey(file.get(), nullptr, nullptr, nullptr) : nullptr);
}

/// Writes a private key to a file that nobody else may read from its first byte on.
Result<Done> write_key(const std::filesystem::path& path, EVP_PKEY* key) {
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  const File file(descriptor < 0 ? nullptr : fdopen(descriptor, "w"));
  if (!file || PEM_write_PrivateKey(file.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1 ||
      std::fflush(file.get()) != 0)
    return fail(ErrorKind::kIo, "cannot write the signing key " + path.string());
  return Done{};
}

std::string public_key_of(EVP_PKEY* key) {
  std::string bytes(kPublicKeyBytes, '\0');
  std::size_t size = bytes.size();
  const int fine = EVP_PKEY_get_raw_public_key(key, reinterpret_cast<unsigned char*>(bytes.data()), &size);
  return fine == 1 && size == bytes.size() ? bytes : std::string();
}

}  // namespace

std::filesystem::path Keys::folder_of_user() {
  const char* const config = std::getenv("XDG_CONFIG_HOME");
  if (config != nullptr && *config != '\0') return std::filesystem::path(config) / "banyan";
  const char* const home = std::getenv("HOME");
  if (home == nullptr || *home == '\0')
    return {};  // never the current folder: whoever had written it would be trusted
  return std::filesystem::path(home) / ".config" / "banyan";
}

Result<Keys::Signature> Keys::sign(std::string_view digest) const {
  if (folder_.empty()) return fail(ErrorKind::kIo, "no folder for the signing key; set HOME");
  const std::filesystem::path path = folder_ / "signing.pem";
  Key key = read_key(path);
  if (!key) {
    if (std::filesystem::exists(path))
      return fail(ErrorKind::kIo,
                  path.string() + " is no private key that can be read; move it away for a new one");
    key.reset(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
    CHECK(key != nullptr, "OpenSSL makes no Ed25519 key");
    if (const auto written = write_key(path, key.get()); !written) return tl::unexpected(written.error());
  }
  const Context context(EVP_MD_CTX_new());
  std::string signature(kSignatureBytes, '\0');
  std::size_t size = signature.size();
  const bool fine = EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
                    EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                                   bytes_of(digest), digest.size()) == 1 &&
                    size == kSignatureBytes;
  std::string public_key = public_key_of(key.get());
  if (!fine || public_key.empty()) return fail(ErrorKind::kIo, path.string() + " is no Ed25519 key");
  return Signature{std::move(signature), std::move(public_key)};
}

Result<std::string> Keys::name_of(std::string_view public_key) const {
  if (folder_.empty()) return fail(ErrorKind::kDenied, "whom you trust is not known without HOME");
  if (const Key own = read_key(folder_ / "signing.pem"); own && public_key_of(own.get()) == public_key)
    return std::string("you");
  std::ifstream trusted(folder_ / "trusted");
  std::string key, name;
  while (trusted >> key && std::getline(trusted >> std::ws, name)) {
    if (key == hex_text(public_key)) return name;
  }
  return fail(ErrorKind::kDenied, "nobody you trust has signed it");
}

Result<std::string> Keys::public_key() const {
  auto signature = sign({});
  if (!signature) return tl::unexpected(signature.error());
  return std::move(signature->public_key);
}

Result<Done> Keys::trust(std::string_view public_key, const std::string& name) const {
  if (folder_.empty()) return fail(ErrorKind::kIo, "no folder for trusted keys; set HOME");
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  std::ofstream trusted(folder_ / "trusted", std::ios::app);
  trusted << hex_text(public_key) << ' ' << name << '\n';
  trusted.close();
  if (!trusted) return fail(ErrorKind::kIo, "cannot write " + (folder_ / "trusted").string());
  return Done{};
}

bool verifies(const Keys::Signature& signature, std::string_view digest) {
  if (signature.signature.size() != kSignatureBytes || signature.public_key.size() != kPublicKeyBytes)
    return false;
  const Key key(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes_of(signature.public_key),
                                            signature.public_key.size()));
  const Context context(EVP_MD_CTX_new());
  return key && EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
         EVP_DigestVerify(context.get(), bytes_of(signature.signature), kSignatureBytes, bytes_of(digest),
                          digest.size()) == 1;
}

std::string sha256_of(std::string_view bytes) {
  Sha256 sha;
  sha.add(bytes);
  return hex_text(sha.digest());
}

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  CHECK(EVP_DigestInit_ex(static_cast<EVP_MD_CTX*>(context_), EVP_sha256(), nullptr) == 1,
        "OpenSSL has no SHA-256");
}

Sha256::~Sha256() { EVP_MD_CTX_free(static_cast<EVP_MD_CTX*>(context_)); }

void Sha256::add(std::string_view bytes) {
  EVP_DigestUpdate(static_cast<EVP_MD_CTX*>(context_), bytes.data(), bytes.size());
}

std::string Sha256::digest() {
  std::string digest(32, '\0');
  EVP_DigestFinal_ex(static_cast<EVP_MD_CTX*>(context_), reinterpret_cast<unsigned char*>(digest.data()),
                     nullptr);
  return digest;
}

}  // namespace banyan::cli
