#include "runtime/data_store/data_store_at.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <charconv>
#include <utility>

#include "runtime/data_store/local_backend.h"
#include "runtime/data_store/redis_backend.h"
#include "runtime/data_store/s3_backend.h"
#include "runtime/data_store/store_url.h"

namespace banyan::runtime {
namespace {

constexpr std::size_t kThreads = 4;

Result<std::unique_ptr<StoreBackend>> local_backend(const StoreUrl& url, StoreOptions options) {
  if (auto done = check_query(url, {}); !done) return tl::unexpected(done.error());
  if (!url.host.empty() && url.host != "localhost")
    return fail(ErrorKind::kInvalid, "a local data store has no host, and this URL has '" + url.host +
                                         "'; write file:///" + url.host + url.path + " with three slashes");
  if (url.path.empty() || url.path == "/")
    return fail(ErrorKind::kInvalid, "the URL names no directory; write file:///path/of/it");
  std::string path = url.path;
  while (path.ends_with('/')) path.pop_back();
  return LocalBackend::open(path, std::move(options));
}

Result<std::unique_ptr<StoreBackend>> redis_backend(const StoreUrl& url, StoreOptions options) {
  if (auto done = check_query(url, {}); !done) return tl::unexpected(done.error());
  if (url.host.empty())
    return fail(ErrorKind::kInvalid, "the URL names no Redis server; write redis://host:port/database");
  RedisAddress address{.host = url.host, .port = url.port.value_or(6379), .user = url.user};
  address.password = url.password ? url.password : options.setting("REDIS_PASSWORD");
  const std::string database = url.path.substr(std::min<std::size_t>(1, url.path.size()));
  const auto parsed = std::from_chars(database.data(), database.data() + database.size(), address.database);
  if (!database.empty() &&
      (parsed.ec != std::errc() || parsed.ptr != database.data() + database.size() || address.database < 0))
    return fail(ErrorKind::kInvalid,
                "'" + database + "' is no number of a Redis database; most servers have 0 to 15");
  return std::unique_ptr<StoreBackend>(
      std::make_unique<RedisBackend>(std::move(address), std::move(options)));
}

Result<std::unique_ptr<StoreBackend>> s3_backend(const StoreUrl& url, StoreOptions options) {
  auto address = s3_address(url, options);
  if (!address) return tl::unexpected(address.error());
  auto credentials = s3_credentials(options);
  if (!credentials) return tl::unexpected(credentials.error());
  return std::unique_ptr<StoreBackend>(
      std::make_unique<S3Backend>(std::move(*address), std::move(*credentials), std::move(options)));
}

Result<std::unique_ptr<StoreBackend>> backend_at(const std::string& text, StoreOptions options) {
  const auto url = parse_store_url(text);
  if (!url) return tl::unexpected(url.error());
  if (url->scheme == "file") return local_backend(*url, std::move(options));
  if (url->scheme == "redis") return redis_backend(*url, std::move(options));
  if (url->scheme == "s3") return s3_backend(*url, std::move(options));
  return fail(ErrorKind::kInvalid, "no data store has the scheme '" + url->scheme +
                                       "'; there are file:///directory, redis://host:port/database and "
                                       "s3://bucket/prefix");
}

/// Makes blocking calls on a pool and gives their results on the loop.
class PooledStore final : public port::DataStore {
 public:
  PooledStore(Loop& loop, std::unique_ptr<BlockingStore> store, std::stop_source stop)
      : loop_(loop), store_(std::move(store)), stop_(std::move(stop)) {}

  ~PooledStore() override {
    stop_.request_stop();
    pool_.stop();  // calls that wait never start
    pool_.join();
  }

  void put(std::string key, Blob value, std::function<void(Result<Done>)> done) override {
    start<Done>([this, key = std::move(key), value = std::move(value)] { return store_->put(key, value); },
                std::move(done));
  }
  void get(std::string key, std::function<void(Result<Blob>)> done) override {
    start<Blob>([this, key = std::move(key)] { return store_->get(key); }, std::move(done));
  }
  void head(std::string key, std::function<void(Result<port::StoredValue>)> done) override {
    start<port::StoredValue>([this, key = std::move(key)] { return store_->head(key); }, std::move(done));
  }
  void remove(std::string key, std::function<void(Result<Done>)> done) override {
    start<Done>([this, key = std::move(key)] { return store_->remove(key); }, std::move(done));
  }
  void list(std::string prefix, std::function<void(Result<std::vector<port::StoredValue>>)> done) override {
    start<std::vector<port::StoredValue>>([this, prefix = std::move(prefix)] { return store_->list(prefix); },
                                          std::move(done));
  }

 private:
  /// Tells on the loop, soon, how a call has ended, unless the store was destroyed by then.
  template <class T>
  void answer(std::function<void(Result<T>)> done, Result<T> result) {
    loop_.post([this, life = std::weak_ptr<bool>(life_), done = std::move(done),
                result = std::move(result)]() mutable {
      if (life.expired()) return;
      --under_way_;
      done(std::move(result));
    });
  }

  template <class T>
  void start(std::function<Result<T>()> work, std::function<void(Result<T>)> done) {
    if (++under_way_ > kWaitingMax + kThreads) {
      answer<T>(std::move(done),
                fail(ErrorKind::kUnavailable, "the data store is too slow: " + std::to_string(kWaitingMax) +
                                                  " calls wait for it; try again later"));
      return;
    }
    boost::asio::post(pool_, [this, work = std::move(work), done = std::move(done)]() mutable {
      Result<T> result = work();
      work = nullptr;  // so that the value of a put does not outlive the call
      answer<T>(std::move(done), std::move(result));
    });
  }

  Loop& loop_;
  std::unique_ptr<BlockingStore> store_;
  std::stop_source stop_;
  std::size_t under_way_ = 0;  // a call counts until its answer was given
  std::shared_ptr<bool> life_ = std::make_shared<bool>(true);
  boost::asio::thread_pool pool_{kThreads};
};

}  // namespace

Result<std::unique_ptr<BlockingStore>> blocking_store_at(const std::string& url, StoreOptions options) {
  auto observer = options.observer;
  auto backend = backend_at(url, std::move(options));
  if (!backend) return tl::unexpected(backend.error());
  return std::make_unique<BlockingStore>(std::move(*backend), std::move(observer));
}

Result<std::unique_ptr<port::DataStore>> data_store_at(Loop& loop, const std::string& url,
                                                       StoreOptions options) {
  std::stop_source stop;
  options.stop = stop.get_token();
  if (options.observer)
    options.observer = [&loop, observer = std::move(options.observer)](const port::Transfer& transfer) {
      loop.post([observer, transfer] { observer(transfer); });
    };
  auto store = blocking_store_at(url, std::move(options));
  if (!store) return tl::unexpected(store.error());
  return std::unique_ptr<port::DataStore>(
      std::make_unique<PooledStore>(loop, std::move(*store), std::move(stop)));
}

}  // namespace banyan::runtime
