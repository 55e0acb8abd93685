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
    Digest digest;
    std::uint64_t after = 0;  // this many calls of write() come before
    std::function<void(std::optional<Blob>)> done;
  };

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
    start_write();  // what has gathered does not wait for the callbacks; what they write goes together, after
                    // it
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
    auto found = std::make_shared<std::optional<Blob>>();
    loop.offload([self = shared_from_this(), read, found] { *found = self->store->load_chunk(read->digest); },
                 [self = shared_from_this(), read, found] {
                   self->reading = false;
                   read->done(std::move(*found));
                   self->start_read();
                 });
  }

  Loop& loop;
  std::unique_ptr<RocksStore> store;
  std::function<void(std::string)> fatal;
  Batch gathered;
  std::deque<Read> reads;
  std::uint64_t taken = 0;    // calls of write()
  std::uint64_t durable = 0;  // of these
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
  impl_->reads.push_back({digest, impl_->taken, std::move(done)});
  impl_->start_read();
}

}  // namespace banyan::runtime
