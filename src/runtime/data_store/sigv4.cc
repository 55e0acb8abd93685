#include "runtime/data_store/sigv4.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <time.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/hex.h"

namespace banyan::runtime {
namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";

std::string hmac(const std::string& key, std::string_view text) {
  std::string mac(32, '\0');
  unsigned int size = 0;
  const auto* done = HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                          reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                          reinterpret_cast<unsigned char*>(mac.data()), &size);
  CHECK(done != nullptr && size == mac.size(), "OpenSSL computes an HMAC");
  return mac;
}

bool unreserved(char letter) {
  return (letter >= 'A' && letter <= 'Z') || (letter >= 'a' && letter <= 'z') ||
         (letter >= '0' && letter <= '9') || std::string_view("-._~").find(letter) != std::string_view::npos;
}

/// The value without spaces around it, and with one space where there were several.
std::string trimmed(const std::string& value) {
  std::string result;
  for (const char letter : value)
    if (letter != ' ' || (!result.empty() && result.back() != ' ')) result += letter;
  if (result.ends_with(' ')) result.pop_back();
  return result;
}

std::string signed_headers(const SignedRequest& request) {
  std::string names;
  for (const auto& [name, value] : request.headers) names += (names.empty() ? "" : ";") + name;
  return names;
}

}  // namespace

std::string uri_encode(std::string_view text, std::string_view keep) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  for (const char letter : text) {
    if (unreserved(letter) || keep.find(letter) != std::string_view::npos) {
      encoded += letter;
      continue;
    }
    const auto byte = static_cast<unsigned char>(letter);
    encoded += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return encoded;
}

std::string canonical_query(const std::vector<std::pair<std::string, std::string>>& query) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const auto& [name, value] : query) pairs.emplace_back(uri_encode(name), uri_encode(value));
  std::ranges::sort(pairs);
  std::string text;
  for (const auto& [name, value] : pairs) {
    if (!text.empty()) text += '&';
    text += name;
    text += '=';
    text += value;
  }
  return text;
}

std::string canonical_request(const SignedRequest& request) {
  std::string text = request.method + "\n" + request.path + "\n" + canonical_query(request.query) + "\n";
  for (const auto& [name, value] : request.headers) {
    text += name;
    text += ':';
    text += trimmed(value);
    text += '\n';
  }
  return text + "\n" + signed_headers(request) + "\n" + request.payload_sha256;
}

std::string authorization(const SignedRequest& request, const AwsCredentials& credentials,
                          const std::string& region, const std::string& service) {
  const std::string& date = request.headers.at("x-amz-date");
  const std::string day = date.substr(0, 8);
  const std::string scope = day + "/" + region + "/" + service + "/aws4_request";
  const std::string to_sign =
      std::string(kAlgorithm) + "\n" + date + "\n" + scope + "\n" + sha256_hex(canonical_request(request));
  const std::string of_day = hmac("AWS4" + credentials.secret_access_key, day);
  const std::string key = hmac(hmac(hmac(of_day, region), service), "aws4_request");
  return std::string(kAlgorithm) + " Credential=" + credentials.access_key_id + "/" + scope +
         ", SignedHeaders=" + signed_headers(request) + ", Signature=" + hex_text(hmac(key, to_sign));
}

std::string amz_date(WallTime time) {
  const time_t seconds = time.us / 1'000'000;
  tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  const std::size_t size = strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &parts);
  return {text.data(), size};
}

std::string sha256_hex(std::string_view bytes) {
  std::string digest(32, '\0');
  unsigned int size = 0;
  const int done = EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(digest.data()),
                              &size, EVP_sha256(), nullptr);
  CHECK(done == 1 && size == digest.size(), "OpenSSL computes a SHA-256");
  return hex_text(digest);
}

}  // namespace banyan::runtime
