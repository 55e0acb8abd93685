#include "runtime/data_store/s3_backend.h"

#include <string.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "runtime/data_store/retry.h"
#include "runtime/data_store/s3_xml.h"
#include "runtime/data_store/value_buffer.h"

namespace banyan::runtime {
namespace {

constexpr std::uint64_t kErrorBytesMax = 64
                                         << 10;  // room for the body of an error, also where a part is small
constexpr int kPagesMax = 100'000;
constexpr const char* kChecksumHeader = "x-amz-meta-banyan-xxh3";
constexpr std::uint64_t kPartsMax = 10'000;  // S3 allows no more parts of one upload
constexpr std::uint64_t kParallel = 4;
constexpr int kRetriesOfReplaced = 3;

std::optional<std::uint64_t> whole_number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || parsed.ec != std::errc() || parsed.ptr != text.data() + text.size())
    return std::nullopt;
  return number;
}

std::uint64_t part_bytes_for(std::uint64_t size, std::uint64_t wished) {
  const std::uint64_t needed = (size + kPartsMax - 1) / kPartsMax;
  return std::max(wished, (needed + 0xfffff) & ~std::uint64_t{0xfffff});
}

std::string range_of(std::uint64_t start, std::uint64_t bytes) {
  return "bytes=" + std::to_string(start) + "-" + std::to_string(start + bytes - 1);
}

}  // namespace

/// A multipart upload under way.
struct S3Backend::Upload {
  std::string key;
  std::string id;
  std::uint64_t size = 0;
  Digest checksum;
  std::uint64_t part_bytes = 0;
  std::vector<std::string> etags = {};
};

/// What the first request of a get has told.
struct S3Backend::Beginning {
  S3Response response;
  std::uint64_t size = 0;  ///< the size of the whole value
  Digest checksum;
};

S3Backend::S3Backend(S3Address address, AwsCredentials credentials, StoreOptions options)
    : address_(std::move(address)),
      options_(std::move(options)),
      http_(address_, std::move(credentials), options_) {}

Result<S3Response> S3Backend::request(const S3Request& request, const std::string& doing, Meter* meter) {
  return retry(options_.limits, options_.stop, [&]() -> Result<S3Response> {
    auto response = http_.send(request, meter);
    if (!response) return response;
    // S3 sends the status of CompleteMultipartUpload before it is done, so its body may say that it failed.
    const bool failed_late =
        response->status == 200 && !xml_elements(response->body, "Code").empty() && request.method == "POST";
    const bool past_the_end = response->status == 416;  // the answer to a range of an empty object
    if ((response->status / 100 == 2 && !failed_late) || past_the_end) return response;
    if (failed_late) response->status = 500;
    return tl::unexpected(s3_error(address_, *response, doing));
  });
}

Result<Done> S3Backend::put(const std::string& key, const Blob& value, const Digest& checksum, Meter& meter) {
  if (value.size() > part_bytes()) return put_parts(key, value, checksum, meter);
  const auto response = request({.method = "PUT",
                                 .key = address_.prefix + key,
                                 .headers = {{kChecksumHeader, to_hex(checksum)}},
                                 .body = value.view()},
                                "putting '" + key + "'", &meter);
  if (!response) return tl::unexpected(response.error());
  return Done{};
}

Result<Done> S3Backend::for_each_part(std::uint64_t count,
                                      const std::function<Result<Done>(std::uint64_t)>& work) {
  std::atomic<std::uint64_t> next = 0;
  std::mutex mutex;
  Result<Done> result = Done{};
  const auto run = [&] {
    for (std::uint64_t part = next++; part < count; part = next++) {
      auto done = work(part);
      if (done) continue;
      next = count;
      const std::lock_guard lock(mutex);
      if (result) result = std::move(done);
    }
  };
  {
    std::vector<std::jthread> helpers;
    try {
      for (std::uint64_t helper = 1; helper < std::min(kParallel, count); ++helper) helpers.emplace_back(run);
    } catch (const std::system_error&) {
      run();  // the system has no more threads: fewer of them do the work
    }
    run();
  }
  return result;
}

Result<Done> S3Backend::put_parts(const std::string& key, const Blob& value, const Digest& checksum,
                                  Meter& meter) {
  const auto begun = request({.method = "POST",
                              .key = address_.prefix + key,
                              .query = {{"uploads", ""}},
                              .headers = {{kChecksumHeader, to_hex(checksum)}}},
                             "putting '" + key + "'");
  if (!begun) return tl::unexpected(begun.error());
  const auto id = xml_text(begun->body, "UploadId");
  if (!id)
    return fail(ErrorKind::kInvalid, "the server at " + address_.origin +
                                         " does not answer as S3 does; check "
                                         "the endpoint in the URL");
  Upload upload{.key = key,
                .id = *id,
                .size = value.size(),
                .checksum = checksum,
                .part_bytes = part_bytes_for(value.size(), part_bytes())};
  auto done = upload_parts(upload, value, meter);
  if (done) done = complete(upload);
  if (!done) {
    // The abort is tried once, because a server that is down must not hold us up again. Parts that stay cost
    // room until the bucket's own rule removes them.
    const S3Request abort{
        .method = "DELETE", .key = address_.prefix + key, .query = {{"uploadId", upload.id}}};
    (void)http_.send(abort).has_value();
  }
  return done;
}

Result<Done> S3Backend::upload_parts(Upload& upload, const Blob& value, Meter& meter) {
  const std::uint64_t count = (value.size() + upload.part_bytes - 1) / upload.part_bytes;
  upload.etags.resize(count);
  return for_each_part(count, [&](std::uint64_t part) -> Result<Done> {
    const auto sent =
        request({.method = "PUT",
                 .key = address_.prefix + upload.key,
                 .query = {{"partNumber", std::to_string(part + 1)}, {"uploadId", upload.id}},
                 .body = value.view().substr(part * upload.part_bytes, upload.part_bytes)},
                "putting part " + std::to_string(part + 1) + " of '" + upload.key + "'", &meter);
    if (!sent) return tl::unexpected(sent.error());
    upload.etags[part] = sent->header("etag");
    return Done{};
  });
}

Result<Done> S3Backend::complete(const Upload& upload) {
  std::string body = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
  for (std::size_t part = 0; part < upload.etags.size(); ++part)
    body += "<Part><PartNumber>" + std::to_string(part + 1) + "</PartNumber><ETag>" + upload.etags[part] +
            "</ETag></Part>";
  body += "</CompleteMultipartUpload>";
  const auto completed = request({.method = "POST",
                                  .key = address_.prefix + upload.key,
                                  .query = {{"uploadId", upload.id}},
                                  .body = body},
                                 "putting '" + upload.key + "'");
  // When an answer was lost, the next attempt finds no upload, because the first one has made an object of
  // it.
  if (completed || (completed.error().kind == ErrorKind::kNotFound && is_complete(upload))) return Done{};
  return tl::unexpected(completed.error());
}

bool S3Backend::is_complete(const Upload& upload) {
  const auto found =
      request({.method = "HEAD", .key = address_.prefix + upload.key}, "looking for '" + upload.key + "'");
  return found && found->header(kChecksumHeader) == to_hex(upload.checksum) &&
         whole_number_in(found->header("content-length")) == upload.size;
}

Result<Digest> S3Backend::checksum_in(const std::string& key, const S3Response& response) const {
  if (const auto digest = digest_from_hex(response.header(kChecksumHeader))) return *digest;
  return fail(ErrorKind::kCorrupt, "'" + key + "' in s3://" + address_.bucket +
                                       " has no checksum in its metadata: Banyan did not write it, or it was "
                                       "copied without its metadata; put it again");
}

Result<S3Backend::Beginning> S3Backend::get_beginning(const std::string& key, Meter& meter) {
  auto response = request({.method = "GET",
                           .key = address_.prefix + key,
                           .headers = {{"range", range_of(0, part_bytes())}},
                           .answer_bytes_max = part_bytes()},
                          "getting '" + key + "'", &meter);
  if (response && response->status == 416)
    response = request({.method = "HEAD", .key = address_.prefix + key}, "getting '" + key + "'");
  if (!response) return tl::unexpected(response.error());
  const auto checksum = checksum_in(key, *response);
  if (!checksum) return tl::unexpected(checksum.error());
  Beginning beginning{.response = std::move(*response), .checksum = *checksum};
  beginning.size = beginning.response.body.size();
  if (beginning.response.status != 206) return beginning;
  const std::string range = beginning.response.header("content-range");  // bytes 0-9/100
  const auto size = whole_number_in(std::string_view(range).substr(range.rfind('/') + 1));
  if (!size || *size < beginning.size || *size > kValueMax ||
      beginning.size != std::min<std::uint64_t>(*size, part_bytes()))
    return fail(ErrorKind::kCorrupt, "'" + key + "' in s3://" + address_.bucket + " came with the range '" +
                                         range + "' and " + std::to_string(beginning.size) + " bytes");
  beginning.size = *size;
  return beginning;
}

Result<Fetched> S3Backend::get_once(const std::string& key, Meter& meter) {
  auto beginning = get_beginning(key, meter);
  if (!beginning) return tl::unexpected(beginning.error());
  std::string& first = beginning->response.body;
  if (beginning->size == first.size()) return Fetched{Blob(std::move(first)), beginning->checksum};
  auto buffer = ValueBuffer::allocate(beginning->size, options_.scratch_directory());
  if (!buffer) return tl::unexpected(buffer.error());
  memcpy(buffer->data(), first.data(), first.size());
  const std::string etag = beginning->response.header("etag");
  const std::uint64_t count = (beginning->size + part_bytes() - 1) / part_bytes();
  auto done = for_each_part(count - 1, [&](std::uint64_t number) -> Result<Done> {
    const std::uint64_t start = (number + 1) * part_bytes();
    const std::uint64_t bytes = std::min(part_bytes(), beginning->size - start);
    std::map<std::string, std::string> headers{{"range", range_of(start, bytes)}};
    if (!etag.empty()) headers["if-match"] = etag;
    const auto part = request({.method = "GET",
                               .key = address_.prefix + key,
                               .headers = headers,
                               .answer_bytes_max = std::max(bytes, kErrorBytesMax)},
                              "getting '" + key + "'", &meter);
    if (!part) return tl::unexpected(part.error());
    if (part->body.size() != bytes)
      return fail(ErrorKind::kCorrupt, "a part of '" + key + "' in s3://" + address_.bucket + " has " +
                                           std::to_string(part->body.size()) + " bytes instead of " +
                                           std::to_string(bytes));
    memcpy(buffer->data() + start, part->body.data(), bytes);
    return Done{};
  });
  if (!done) return tl::unexpected(done.error());
  return Fetched{std::move(*buffer).blob(), beginning->checksum};
}

Result<Fetched> S3Backend::get(const std::string& key, Meter& meter) {
  for (int attempt = 1;; ++attempt) {
    auto fetched = get_once(key, meter);
    if (fetched || fetched.error().kind != ErrorKind::kConflict) return fetched;
    // The value was replaced between two parts: begin again with the new one.
    if (attempt == kRetriesOfReplaced)
      return fail(ErrorKind::kUnavailable, "'" + key + "' in s3://" + address_.bucket +
                                               " is replaced faster than it can be read; try again later");
  }
}

Result<port::StoredValue> S3Backend::head(const std::string& key) {
  const auto response =
      request({.method = "HEAD", .key = address_.prefix + key}, "looking for '" + key + "'");
  if (!response) return tl::unexpected(response.error());
  return port::StoredValue{key, whole_number_in(response->header("content-length")).value_or(0)};
}

Result<Done> S3Backend::remove(const std::string& key) {
  const auto response = request({.method = "DELETE", .key = address_.prefix + key}, "removing '" + key + "'");
  if (!response && response.error().kind != ErrorKind::kNotFound) return tl::unexpected(response.error());
  return Done{};
}

Result<std::vector<port::StoredValue>> S3Backend::list(const std::string& prefix) {
  std::vector<port::StoredValue> values;
  std::string token;
  for (int pages = 0; pages < kPagesMax; ++pages) {
    S3Request page{.method = "GET", .query = {{"list-type", "2"}, {"prefix", address_.prefix + prefix}}};
    if (!token.empty()) page.query.emplace_back("continuation-token", token);
    const auto response = request(page, "listing '" + prefix + "'");
    if (!response) return tl::unexpected(response.error());
    if (response->body.find("<ListBucketResult") == std::string::npos)
      return fail(ErrorKind::kInvalid, "what answers for s3://" + address_.bucket +
                                           " lists nothing as S3 does; check the endpoint");
    for (const std::string_view entry : xml_elements(response->body, "Contents")) {
      const std::string name = xml_text(entry, "Key").value_or("");
      const auto size = whole_number_in(xml_text(entry, "Size").value_or(""));
      // Other programs may have objects in the bucket whose names are no keys.
      if (!size || !name.starts_with(address_.prefix)) continue;
      std::string key = name.substr(address_.prefix.size());
      if (port::check_key(key)) values.push_back({std::move(key), *size});
    }
    if (values.size() > kListMax)
      return fail(ErrorKind::kTooLarge, "s3://" + address_.bucket + " has more than " +
                                            std::to_string(kListMax) + " values below '" + prefix +
                                            "'; list a longer prefix");
    const std::string next = xml_text(response->body, "NextContinuationToken").value_or("");
    if (next == token || next.empty()) break;
    token = next;
  }
  return values;
}

}  // namespace banyan::runtime
