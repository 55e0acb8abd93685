#include "runtime/storage/rocks_disk.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <utility>

#include "runtime/storage/rocks_store.h"

namespace banyan::runtime {

namespace {
constexpr std::uint64_t kBackgroundAtOnce = 4 << 20;  // bytes
}

struct RocksDisk::Impl : std::enable_shared_from_this<Impl> {
  Impl(Loop& owner, std::unique_ptr<RocksStore> on, std::function<void(std::string)> on_fatal)
      : loop(owner), store(std::move(on)), fatal(std::move(on_fatal)) {}

  struct Batch {
    std::vector<node::DiskWrite> writes;
    std::vector<PlacedChunk> placed;
    std::vector<std::function<void()>> callbacks;
    std::uint64_t calls = 0;  // of write(), among the callbacks
  };
  struct Background {
    std::vector<node::PutChunk> chunks;
    std::vector<std::function<void()>> callbacks;
    std::uint64_t bytes = 0;
  };
  struct Read {
    std::uint64_t after = 0;     // it must see what so many calls of write() have written
    std::function<void()> work;  // runs on another thread
    std::function<void()> done;
  };
  struct Reads {
    std::deque<Read> waiting;
    bool busy = false;
  };

  /// Runs `what` on another thread, once all writes up to now are durable.
  template <typename Answer>
  void read(bool in_background, std::function<Answer(const RocksStore&)> what,
            std::function<void(Answer)> done) {
    auto found = std::make_shared<Answer>();
    Reads& some = in_background ? background_reads : reads;
    some.waiting.push_back({taken, [this, found, what = std::move(what)] { *found = what(*store); },
                            [found, done = std::move(done)] { done(std::move(*found)); }});
    start_read();
  }

  void start_write() {
    if (writing || acknowledging || failed || gathered.callbacks.empty()) return;
    writing = true;
    auto batch = std::make_shared<Batch>(std::exchange(gathered, {}));
    auto stored = std::make_shared<Result<Done>>(Done{});
    loop.offload([self = shared_from_this(), batch,
                  stored] { *stored = self->store->store(batch->writes, batch->placed); },
                 [self = shared_from_this(), batch, stored] { self->written(*batch, *stored); });
  }

  void written(const Batch& batch, const Result<Done>& stored) {
    writing = false;
    if (!stored) return fail(stored.error());
    durable += batch.calls;
    give_room_back();
    // What has gathered meanwhile is written at once. What the callbacks write gathers for one batch after
    // it.
    start_write();
    acknowledging = true;
    for (const auto& callback : batch.callbacks) callback();
    acknowledging = false;
    start_write();
    start_read();
  }

  void fail(const Error& error) {
    if (std::exchange(failed, true)) return;
    fatal(error.message + ", then start the host agent again. Nothing is acknowledged any more");
  }

  /// The bytes of some chunks go where they stay, in the background; then their records go with the next
  /// batch.
  void start_background() {
    if (placing || failed || later.empty()) return;
    placing = true;
    auto some = std::make_shared<Background>();
    while (!later.empty() && some->bytes < kBackgroundAtOnce) {
      some->bytes += later.front().first.bytes.size();
      some->chunks.push_back(std::move(later.front().first));
      some->callbacks.push_back(std::move(later.front().second));
      later.pop_front();
    }
    auto placed = std::make_shared<Result<std::vector<PlacedChunk>>>(std::vector<PlacedChunk>());
    loop.offload_in_background(
        [self = shared_from_this(), some, placed] { *placed = self->store->place(some->chunks); },
        [self = shared_from_this(), some, placed] {
          self->placing = false;
          if (!*placed) return self->fail(placed->error());
          std::ranges::move(**placed, std::back_inserter(self->gathered.placed));
          std::ranges::move(some->callbacks, std::back_inserter(self->gathered.callbacks));
          self->start_write();
          self->start_background();
        });
  }

  /// A gigabyte that is dropped is thousands of holes: no commit waits for these.
  void give_room_back() {
    if (giving || !store->has_room_to_give()) return;
    giving = true;
    loop.offload_in_background([self = shared_from_this()] { self->store->give_room_back(); },
                               [some = weak_from_this()] {
                                 const auto self = some.lock();
                                 if (!self) return;  // the disk was closed meanwhile
                                 self->giving = false;
                                 self->give_room_back();
                               });
  }

  void start_read() {
    start_read(reads, &Loop::offload);
    start_read(background_reads, &Loop::offload_in_background);
  }
  void start_read(Reads& some, void (Loop::*offload)(std::function<void()>, std::function<void()>)) {
    if (some.busy || failed || some.waiting.empty() || some.waiting.front().after > durable) return;
    some.busy = true;
    auto read = std::make_shared<Read>(std::move(some.waiting.front()));
    some.waiting.pop_front();
    (loop.*offload)([self = shared_from_this(), read] { read->work(); },
                    [self = shared_from_this(), read, &some] {
                      some.busy = false;
                      read->done();
                      self->start_read();
                    });
  }

  Loop& loop;
  std::unique_ptr<RocksStore> store;
  std::function<void(std::string)> fatal;
  Batch gathered;
  Reads reads;
  Reads background_reads;
  std::uint64_t taken = 0;    // how often write() was called
  std::uint64_t durable = 0;  // how many of these calls are durable
  std::deque<std::pair<node::PutChunk, std::function<void()>>> later;
  bool writing = false;
  bool placing = false;
  bool giving = false;
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
  ++impl_->gathered.calls;
  ++impl_->taken;
  impl_->start_write();
}

void RocksDisk::store_chunk(const Digest& digest, Blob bytes, std::function<void()> durable) {
  impl_->later.emplace_back(node::PutChunk{digest, std::move(bytes)}, std::move(durable));
  impl_->start_background();
}

void RocksDisk::read_chunk(const node::ReadChunk& what, std::function<void(std::optional<Blob>)> done) {
  impl_->read<std::optional<Blob>>(
      what.in_background,
      [digest = what.digest](const RocksStore& store) { return store.load_chunk(digest); }, std::move(done));
}

void RocksDisk::load_replica(const SessionId& session,
                             std::function<void(std::optional<node::StoredReplica>)> done) {
  impl_->read<std::optional<node::StoredReplica>>(
      false,
      [session](const RocksStore& store) {
        auto found = store.load_replica(session);
        return found ? std::optional(std::move(*found)) : std::nullopt;
      },
      std::move(done));
}

}  // namespace banyan::runtime
