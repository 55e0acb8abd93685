#include "runtime/storage/rocks_disk.h"

#include <deque>
#include <utility>

#include "runtime/storage/rocks_store.h"

namespace banyan::runtime {

struct RocksDisk::Impl : std::enable_shared_from_this<Impl> {
  Impl(Loop& owner, std::unique_ptr<RocksStore> on, std::function<void(std::string)> on_fatal)
      : loop(owner), store(std::move(on)), fatal(std::move(on_fatal)) {}

  struct Batch {
    std::vector<node::DiskWrite> writes;
    std::vector<std::function<void()>> callbacks;
  };
  struct Read {
    std::uint64_t after = 0;     // it must see what so many calls of write() have written
    std::function<void()> work;  // runs on another thread
    std::function<void()> done;
  };

  /// Runs `what` on another thread, once all writes up to now are durable.
  template <typename Answer>
  void read(std::function<Answer(const RocksStore&)> what, std::function<void(Answer)> done) {
    auto found = std::make_shared<Answer>();
    reads.push_back({taken, [this, found, what = std::move(what)] { *found = what(*store); },
                     [found, done = std::move(done)] { done(std::move(*found)); }});
    start_read();
  }

  void start_write() {
    if (writing || acknowledging || failed || gathered.callbacks.empty()) return;
    writing = true;
    auto batch = std::make_shared<Batch>(std::exchange(gathered, {}));
    auto stored = std::make_shared<Result<Done>>(Done{});
    loop.offload([self = shared_from_this(), batch, stored] { *stored = self->store->store(batch->writes); },
                 [self = shared_from_this(), batch, stored] { self->written(*batch, *stored); });
  }

  void written(const Batch& batch, const Result<Done>& stored) {
    writing = false;
    if (!stored) {
      failed = true;
      return fatal(stored.error().message +
                   ", then start the host agent again. Nothing is acknowledged any more");
    }
    durable += batch.callbacks.size();
    // What has gathered meanwhile is written at once. What the callbacks write gathers for one batch after
    // it.
    start_write();
    acknowledging = true;
    for (const auto& callback : batch.callbacks) callback();
    acknowledging = false;
    start_write();
    start_read();
  }

  void start_read() {
    if (reading || failed || reads.empty() || reads.front().after > durable) return;
    reading = true;
    auto read = std::make_shared<Read>(std::move(reads.front()));
    reads.pop_front();
    loop.offload([self = shared_from_this(), read] { read->work(); },
                 [self = shared_from_this(), read] {
                   self->reading = false;
                   read->done();
                   self->start_read();
                 });
  }

  Loop& loop;
  std::unique_ptr<RocksStore> store;
  std::function<void(std::string)> fatal;
  Batch gathered;
  std::deque<Read> reads;
  std::uint64_t taken = 0;    // how often write() was called
  std::uint64_t durable = 0;  // how many of these calls are durable
  bool writing = false;
  bool reading = false;
  bool acknowledging = false;
  bool failed = false;
};

RocksDisk::RocksDisk(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
RocksDisk::~RocksDisk() = default;

Result<std::unique_ptr<RocksDisk>> RocksDisk::open(Loop& loop, const std::string& path,
                                                   std::function<void(std::string)> fatal) {
  auto store = RocksStore::open(path);
  if (!store) return tl::unexpected(store.error());
  return std::unique_ptr<RocksDisk>(
      new RocksDisk(std::make_shared<Impl>(loop, std::move(*store), std::move(fatal))));
}

Result<node::Recovered> RocksDisk::recover() { return impl_->store->recover(); }

void RocksDisk::write(std::vector<node::DiskWrite> batch, std::function<void()> durable) {
  for (auto& write : batch) impl_->gathered.writes.push_back(std::move(write));
  impl_->gathered.callbacks.push_back(std::move(durable));
  ++impl_->taken;
  impl_->start_write();
}

void RocksDisk::read_chunk(const Digest& digest, std::function<void(std::optional<Blob>)> done) {
  impl_->read<std::optional<Blob>>([digest](const RocksStore& store) { return store.load_chunk(digest); },
                                   std::move(done));
}

void RocksDisk::load_replica(const SessionId& session,
                             std::function<void(std::optional<node::StoredReplica>)> done) {
  impl_->read<std::optional<node::StoredReplica>>(
      [session](const RocksStore& store) {
        auto found = store.load_replica(session);
        return found ? std::optional(std::move(*found)) : std::nullopt;
      },
      std::move(done));
}

}  // namespace banyan::runtime
