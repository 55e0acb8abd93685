#include "sim/data_store.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"

namespace banyan::sim {

std::string sum_of(std::string_view bytes) { return "sum-" + to_hex(digest_of(bytes)); }

Duration DataStore::delay() {
  const auto slower = static_cast<std::uint64_t>(trouble_.slower.count());
  return 500us + Duration(rng_.below(rng_.chance(0.1) ? 80'000'000 : 5'000'000)) +
         Duration(rng_.below(slower + 1));
}

void DataStore::put(std::string key, std::string value, std::function<void(bool stored)> done) {
  trace_.note("data store", "put", value.size(), [&] { return key; });
  const bool silent = rng_.chance(trouble_.silent);
  const bool kept = plant_ == Plant::kStoreForgets ? rng_.chance(0.8) : !silent || rng_.chance(0.5);
  scheduler_.after(delay(), [this, silent, kept, key = std::move(key), value = std::move(value),
                             done = std::move(done)]() mutable {
    if (kept) values_[key] = std::move(value);
    done(!silent);
  });
}

void DataStore::fetch(node::FetchChunk wanted, std::function<void(node::ChunkFetched)> done) {
  trace_.note("data store", "get", wanted.digest.low, [&] { return wanted.key; });
  const bool silent = rng_.chance(trouble_.silent);
  scheduler_.after(delay(), [this, silent, wanted = std::move(wanted), done = std::move(done)] {
    if (silent) return done({.digest = wanted.digest, .key = wanted.key, .bytes = {}});
    done(look_up(wanted));
  });
}

node::ChunkFetched DataStore::look_up(const node::FetchChunk& wanted) {
  node::ChunkFetched came{.digest = wanted.digest, .key = wanted.key, .bytes = {}};
  auto found = values_.find(wanted.key);
  if (found == values_.end() || digest_of(found->second) != wanted.digest ||
      sum_of(found->second) != wanted.sha256) {
    report_("data store: a host asks for " + wanted.key + ", which is not there as a log says");
    came.denied = true;
    return came;
  }
  if (plant_ == Plant::kStoreMixedUp && rng_.chance(0.5)) found = values_.begin();
  ++given_;
  came.bytes = Blob(std::string(found->second));
  return came;
}

bool DataStore::has(const std::string& key, const std::string& sum) const {
  const auto found = values_.find(key);
  return found != values_.end() && sum_of(found->second) == sum;
}

bool DataStore::keeps(const Digest& digest) const {
  return std::ranges::any_of(values_,
                             [&](const auto& value) { return value.first.ends_with(to_hex(digest)); });
}

void ChunkPort::fetch(node::FetchChunk wanted, std::function<void(node::ChunkFetched)> done) {
  if (!process_.lets_out()) return;
  store_.fetch(std::move(wanted),
               [&process = process_, life = life_, done = std::move(done)](node::ChunkFetched came) {
                 process.enter(life, [done, came = std::move(came)]() mutable { done(std::move(came)); });
               });
}

}  // namespace banyan::sim
