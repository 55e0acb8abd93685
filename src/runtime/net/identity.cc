#include "runtime/net/identity.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <cstdio>

#include "base/check.h"
#include "base/hex.h"
#include "runtime/net/key_file.h"

namespace banyan::runtime {

namespace {

constexpr std::size_t kKeyBytes = 32;
constexpr std::size_t kSignatureBytes = 64;

struct FreeOpenSsl {
  void operator()(EVP_PKEY* pair) const { EVP_PKEY_free(pair); }
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  void operator()(BIO* memory) const { BIO_free(memory); }
};
using KeyPair = std::unique_ptr<EVP_PKEY, FreeOpenSsl>;
using SigningContext = std::unique_ptr<EVP_MD_CTX, FreeOpenSsl>;
using Memory = std::unique_ptr<BIO, FreeOpenSsl>;

const unsigned char* octets(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

KeyPair new_pair() {
  KeyPair pair(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  CHECK(pair != nullptr, "OpenSSL makes an Ed25519 key");
  return pair;
}

/// Null when the text is no private key of Ed25519.
KeyPair read_pem(const std::string& text) {
  const Memory memory(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  // OpenSSL's own way to ask for a passphrase would read from the terminal.
  const auto no_passphrase = [](char*, int, int, void*) { return -1; };
  KeyPair pair(PEM_read_bio_PrivateKey(memory.get(), nullptr, no_passphrase, nullptr));
  ERR_clear_error();  // other users of OpenSSL on this thread look at the queue of errors
  if (pair != nullptr && EVP_PKEY_get_id(pair.get()) != EVP_PKEY_ED25519) pair.reset();
  return pair;
}

std::string to_pem(EVP_PKEY* pair) {
  const Memory memory(BIO_new(BIO_s_mem()));
  const int written = PEM_write_bio_PrivateKey(memory.get(), pair, nullptr, nullptr, 0, nullptr, nullptr);
  char* text = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &text);
  CHECK(written == 1 && size > 0, "OpenSSL writes a key into memory");
  return {text, static_cast<std::size_t>(size)};
}

std::string public_key(EVP_PKEY* pair) {
  std::string bytes(kKeyBytes, '\0');
  std::size_t size = bytes.size();
  const int fine = EVP_PKEY_get_raw_public_key(pair, reinterpret_cast<unsigned char*>(bytes.data()), &size);
  CHECK(fine == 1 && size == bytes.size(), "an Ed25519 key has a public half of 32 bytes");
  return hex_text(bytes);
}

std::string mode_text(unsigned mode) {
  char text[8];
  std::snprintf(text, sizeof text, "%04o", mode);
  return text;
}

}  // namespace

bool is_key(std::string_view text) {
  const auto bytes = bytes_of_hex(text);
  return bytes && bytes->size() == kKeyBytes;
}

bool is_signed_by(const std::string& key, std::string_view text, std::string_view signature) {
  const auto raw = bytes_of_hex(key);
  if (!raw || raw->size() != kKeyBytes || signature.size() != kSignatureBytes) return false;
  const KeyPair half(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, octets(*raw), raw->size()));
  const SigningContext context(EVP_MD_CTX_new());
  const bool right =
      half != nullptr && context != nullptr &&
      EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, half.get()) == 1 &&
      EVP_DigestVerify(context.get(), octets(signature), signature.size(), octets(text), text.size()) == 1;
  ERR_clear_error();
  return right;
}

Identity::Identity(std::shared_ptr<evp_pkey_st> pair)
    : pair_(std::move(pair)), key_(public_key(pair_.get())) {}

Identity Identity::fresh() { return Identity(std::shared_ptr<EVP_PKEY>(new_pair())); }

Result<Identity> Identity::load_or_create(const std::filesystem::path& file) {
  auto kept = read_key_file(file);
  if (!kept) return tl::unexpected(kept.error());
  if (!*kept) {
    Identity made = fresh();
    if (const auto written = write_key_file(file, to_pem(made.pair_.get())); !written)
      return tl::unexpected(written.error());
    return made;
  }
  // The mode is not put right here: whoever could read the key may have it, and a person is to know that.
  if (((*kept)->mode & 077U) != 0)
    return fail(ErrorKind::kDenied,
                file.string() + " is this daemon's private key, and others may read or change it (mode " +
                    mode_text((*kept)->mode) + "); if nobody else can have copied it, run: chmod 600 " +
                    file.string() +
                    "; otherwise delete it, so that the daemon makes a new key, which the others have to be "
                    "told of (docs/guide/hosts.md)");
  KeyPair pair = read_pem((*kept)->text);
  if (pair == nullptr)
    return fail(ErrorKind::kInvalid,
                file.string() +
                    " holds no Ed25519 private key that can be read; put back a copy of it, or delete it, so "
                    "that the daemon makes a new key, which the others have to be told of "
                    "(docs/guide/hosts.md)");
  return Identity(std::shared_ptr<EVP_PKEY>(std::move(pair)));
}

std::string Identity::sign(std::string_view text) const {
  const SigningContext context(EVP_MD_CTX_new());
  std::string signature(kSignatureBytes, '\0');
  std::size_t size = signature.size();
  const bool fine = context != nullptr &&
                    EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, pair_.get()) == 1 &&
                    EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                                   octets(text), text.size()) == 1;
  CHECK(fine && size == signature.size(), "OpenSSL signs with an Ed25519 key");
  return signature;
}

}  // namespace banyan::runtime
