#include "runtime/data_store/s3_http.h"

#include <curl/curl.h>
#include <string.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/check.h"
#include "runtime/data_store/quiet_pipes.h"
#include "runtime/data_store/retry.h"

namespace banyan::runtime {
namespace {

/// A transfer slower than this counts as one that stands still.
constexpr std::uint64_t kSlowestBytesPerSecond = 64 << 10;
constexpr std::size_t kIdleHandlesMax = 16;

using Clock = std::chrono::steady_clock;
using HeaderList = std::unique_ptr<curl_slist, void (*)(curl_slist*)>;

long milliseconds(Duration time) {
  return static_cast<long>(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
}

WallTime wall_now() {
  const auto time = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::microseconds>(time).count()};
}

template <class Value>
void set(CURL* curl, CURLoption option, Value value) {
  CHECK(curl_easy_setopt(curl, option, value) == CURLE_OK,
        "libcurl has the options that it had at build time");
}

/// Whether the same request would fail again in this way.
bool is_lasting(CURLcode code) {
  return code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_URL_MALFORMAT ||
         code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_SSL_CACERT_BADFILE || code == CURLE_WRITE_ERROR;
}

}  // namespace

/// The handles of libcurl. Each keeps its connection.
class S3Http::Handles {
 public:
  Handles() {
    static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
    CHECK(ready == CURLE_OK, "libcurl starts");
  }
  ~Handles() {
    for (CURL* handle : idle_) curl_easy_cleanup(handle);
  }
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;

  CURL* take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) {
      CURL* fresh = curl_easy_init();
      CHECK(fresh != nullptr, "libcurl has memory for a handle");
      return fresh;
    }
    CURL* handle = idle_.back();
    idle_.pop_back();
    return handle;
  }
  void give_back(CURL* handle) {
    curl_easy_reset(handle);  // this keeps the connection
    const std::lock_guard lock(mutex_);
    if (idle_.size() < kIdleHandlesMax)
      idle_.push_back(handle);
    else
      curl_easy_cleanup(handle);
  }

 private:
  std::mutex mutex_;
  std::vector<CURL*> idle_;
};

/// The state of one request, on which libcurl's callbacks work.
struct S3Http::Exchange {
  std::string_view unsent;
  std::size_t answer_bytes_max = 0;
  S3Response response;
  Meter* meter = nullptr;
  bool puts = false;
  const std::stop_token* stop = nullptr;
  Duration patience{};
  Clock::time_point last_move = Clock::now();

  static std::size_t read(char* to, std::size_t size, std::size_t count, void* self) {
    auto& exchange = *static_cast<Exchange*>(self);
    const std::size_t bytes = std::min(size * count, exchange.unsent.size());
    memcpy(to, exchange.unsent.data(), bytes);
    exchange.unsent.remove_prefix(bytes);
    exchange.moved(exchange.puts);
    return bytes;
  }

  static std::size_t write(char* from, std::size_t size, std::size_t count, void* self) {
    auto& exchange = *static_cast<Exchange*>(self);
    std::string& body = exchange.response.body;
    if (size * count > exchange.answer_bytes_max - body.size()) return CURL_WRITEFUNC_ERROR;
    body.append(from, size * count);
    exchange.moved(!exchange.puts);
    return size * count;
  }

  static std::size_t header(char* from, std::size_t size, std::size_t count, void* self) {
    auto& exchange = *static_cast<Exchange*>(self);
    exchange.moved(false);
    const std::string_view line(from, size * count);
    auto& headers = exchange.response.headers;
    if (line.starts_with("HTTP/")) headers.clear();  // those before were of "100 Continue"
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return line.size();
    std::string name(line.substr(0, colon));
    for (char& letter : name)
      if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    const std::string_view value = line.substr(colon + 1);
    const std::size_t begin = std::min(value.find_first_not_of(" \t"), value.size());
    const std::size_t end = value.find_last_not_of(" \t\r\n") + 1;
    headers[name] = begin < end ? value.substr(begin, end - begin) : "";
    return line.size();
  }

  /// libcurl calls this about once a second, also when nothing moves.
  static int progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    const auto& exchange = *static_cast<const Exchange*>(self);
    return exchange.stop->stop_requested() || Clock::now() - exchange.last_move > exchange.patience ? 1 : 0;
  }

  void moved(bool of_value) {
    last_move = Clock::now();
    if (of_value && meter != nullptr) meter->moved();
  }
};

std::string S3Response::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

S3Http::S3Http(S3Address address, AwsCredentials credentials, StoreOptions options)
    : address_(std::move(address)),
      credentials_(std::move(credentials)),
      options_(std::move(options)),
      handles_(std::make_unique<Handles>()) {}
S3Http::~S3Http() = default;

Result<S3Response> S3Http::send(const S3Request& request, Meter* meter) {
  SignedRequest to_sign{.method = request.method,
                        .path = address_.base + "/" + uri_encode(request.key, "/"),
                        .query = request.query,
                        .headers = request.headers,
                        .payload_sha256 = sha256_hex(request.body)};
  to_sign.headers["host"] = address_.host;
  to_sign.headers["x-amz-date"] = amz_date(wall_now());
  to_sign.headers["x-amz-content-sha256"] = to_sign.payload_sha256;
  if (!credentials_.session_token.empty())
    to_sign.headers["x-amz-security-token"] = credentials_.session_token;

  HeaderList headers(nullptr, curl_slist_free_all);
  const auto add = [&](const std::string& line) {
    headers.reset(curl_slist_append(headers.release(), line.c_str()));
  };
  for (const auto& [name, value] : to_sign.headers) add(name + ": " + value);
  add("authorization: " + authorization(to_sign, credentials_, address_.region, "s3"));
  add("expect:");  // many servers never say "100 Continue", and libcurl would wait a second for it
  add("content-type:");

  const std::string query = canonical_query(request.query);
  const std::string url = address_.origin + to_sign.path + (query.empty() ? "" : "?" + query);
  Exchange exchange{.unsent = request.body,
                    .answer_bytes_max = request.answer_bytes_max,
                    .meter = meter,
                    .puts = request.method == "PUT",
                    .stop = &options_.stop,
                    .patience = options_.limits.answer};
  const QuietPipes quiet;
  CURL* curl = handles_->take();
  char problem[CURL_ERROR_SIZE] = "";
  set(curl, CURLOPT_ERRORBUFFER, problem);
  set(curl, CURLOPT_NOSIGNAL, 1L);
  set(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  set(curl, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(curl, CURLOPT_PATH_AS_IS, 1L);
  set(curl, CURLOPT_URL, url.c_str());
  set(curl, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  if (!address_.ca_file.empty()) set(curl, CURLOPT_CAINFO, address_.ca_file.c_str());
  if (request.method == "HEAD") set(curl, CURLOPT_NOBODY, 1L);
  if (request.method == "PUT" || request.method == "POST") {
    set(curl, CURLOPT_UPLOAD, 1L);
    set(curl, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  }
  set(curl, CURLOPT_HTTPHEADER, headers.get());
  set(curl, CURLOPT_READFUNCTION, &Exchange::read);
  set(curl, CURLOPT_READDATA, &exchange);
  set(curl, CURLOPT_WRITEFUNCTION, &Exchange::write);
  set(curl, CURLOPT_WRITEDATA, &exchange);
  set(curl, CURLOPT_HEADERFUNCTION, &Exchange::header);
  set(curl, CURLOPT_HEADERDATA, &exchange);
  set(curl, CURLOPT_NOPROGRESS, 0L);
  set(curl, CURLOPT_XFERINFOFUNCTION, &Exchange::progress);
  set(curl, CURLOPT_XFERINFODATA, &exchange);
  set(curl, CURLOPT_CONNECTTIMEOUT_MS, milliseconds(options_.limits.connect));
  const std::uint64_t bytes = std::max<std::uint64_t>(request.body.size(), request.answer_bytes_max);
  set(curl, CURLOPT_TIMEOUT_MS,
      milliseconds(options_.limits.connect + options_.limits.answer +
                   std::chrono::seconds(bytes / kSlowestBytesPerSecond)));

  const CURLcode code = curl_easy_perform(curl);
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  handles_->give_back(curl);
  exchange.response.status = static_cast<int>(status);
  if (code == CURLE_OK) return std::move(exchange.response);
  // A server that refuses a large body may answer and close before it has read all of the body.
  if (code == CURLE_SEND_ERROR && status >= 400) return std::move(exchange.response);
  if (options_.stop.stop_requested()) return tl::unexpected(closing_error());
  std::string why = *problem != '\0' ? problem : curl_easy_strerror(code);
  if (code == CURLE_ABORTED_BY_CALLBACK) why = "nothing moved for too long";
  if (code == CURLE_WRITE_ERROR) why = "it sent more than was asked for";
  return fail(is_lasting(code) ? ErrorKind::kInvalid : ErrorKind::kUnavailable,
              "the S3 server at " + address_.origin + " does not answer: " + why +
                  (is_lasting(code) ? "; check the endpoint in the URL"
                                    : "; is it running and reachable from here?"));
}

}  // namespace banyan::runtime
