#include "core/jupyter/zmq_codec.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <algorithm>

#include "base/check.h"
#include "base/hex.h"

namespace banyan::jupyter {
namespace {

constexpr std::string_view kDelimiter = "<IDS|MSG>";
constexpr std::size_t kSignatureBytes = 32;

using MacContext = std::unique_ptr<EVP_MAC_CTX, decltype(&EVP_MAC_CTX_free)>;

}  // namespace

Signer::Signer(std::string_view key) {
  if (key.empty()) return;
  const std::unique_ptr<EVP_MAC, decltype(&EVP_MAC_free)> mac(EVP_MAC_fetch(nullptr, "HMAC", nullptr),
                                                              &EVP_MAC_free);
  CHECK(mac != nullptr, "OpenSSL has no HMAC");
  MacContext context(EVP_MAC_CTX_new(mac.get()), &EVP_MAC_CTX_free);
  std::string digest = "SHA256";
  const std::array<OSSL_PARAM, 2> parameters{
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), 0), OSSL_PARAM_construct_end()};
  const auto* bytes = reinterpret_cast<const unsigned char*>(key.data());
  CHECK(EVP_MAC_init(context.get(), bytes, key.size(), parameters.data()) == 1,
        "OpenSSL refuses an HMAC-SHA256 key");
  keyed_ = std::shared_ptr<const void>(context.release(),
                                       [](void* it) { EVP_MAC_CTX_free(static_cast<EVP_MAC_CTX*>(it)); });
}

std::string Signer::sign(const Parts& parts) const {
  if (keyed_ == nullptr) return {};
  const MacContext context(EVP_MAC_CTX_dup(static_cast<const EVP_MAC_CTX*>(keyed_.get())), &EVP_MAC_CTX_free);
  bool fine = context != nullptr;
  for (const std::string_view part : parts) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(part.data());
    fine = fine && EVP_MAC_update(context.get(), bytes, part.size()) == 1;
  }
  std::array<unsigned char, kSignatureBytes> signature{};
  std::size_t size = 0;
  fine = fine && EVP_MAC_final(context.get(), signature.data(), &size, signature.size()) == 1;
  CHECK(fine && size == signature.size(), "OpenSSL cannot compute an HMAC-SHA256");
  return hex_text({reinterpret_cast<const char*>(signature.data()), signature.size()});
}

bool Signer::verify(std::string_view signature, const Parts& parts) const {
  if (keyed_ == nullptr) return true;
  const std::string expected = sign(parts);
  return signature.size() == expected.size() &&
         CRYPTO_memcmp(signature.data(), expected.data(), expected.size()) == 0;
}

std::vector<Blob> to_wire(std::span<const std::string> identities, const Message& message,
                          const Signer& signer) {
  std::vector<Blob> frames;
  frames.reserve(identities.size() + 6 + message.buffers.size());
  for (const std::string& identity : identities) frames.emplace_back(identity);
  frames.emplace_back(std::string(kDelimiter));
  frames.emplace_back(
      signer.sign({message.header, message.parent_header, message.metadata, message.content.view()}));
  frames.emplace_back(message.header);
  frames.emplace_back(message.parent_header);
  frames.emplace_back(message.metadata);
  frames.push_back(message.content);
  frames.insert(frames.end(), message.buffers.begin(), message.buffers.end());
  return frames;
}

Result<WireMessage> from_wire(Channel channel, std::span<const Blob> frames, const Signer& signer) {
  const auto delimiter = std::ranges::find(frames, kDelimiter, &Blob::view);
  if (delimiter == frames.end())
    return fail(ErrorKind::kInvalid, "a multipart message without <IDS|MSG> is not a Jupyter message");
  const std::span<const Blob> parts(delimiter + 1, frames.end());
  if (parts.size() < 5)
    return fail(ErrorKind::kInvalid, "a Jupyter message has five frames after <IDS|MSG>, this one has " +
                                         std::to_string(parts.size()));
  if (!signer.verify(parts[0].view(), {parts[1].view(), parts[2].view(), parts[3].view(), parts[4].view()}))
    return fail(ErrorKind::kDenied,
                "the signature of a Jupyter message does not fit; both ends need the same key");
  WireMessage wire;
  for (const Blob& identity : std::span(frames.begin(), delimiter))
    wire.identities.emplace_back(identity.view());
  wire.message = {.channel = channel,
                  .header = std::string(parts[1].view()),
                  .parent_header = std::string(parts[2].view()),
                  .metadata = std::string(parts[3].view()),
                  .content = parts[4],
                  .buffers = {parts.begin() + 5, parts.end()}};
  return wire;
}

}  // namespace banyan::jupyter
