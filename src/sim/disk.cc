#include "sim/disk.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/overloaded.h"

namespace banyan::sim {

void SyncQueue::push(Write write) {
  if (early_) {
    scheduler_.after(20us, std::move(write.acknowledge));
    write.acknowledge = [] {};
  }
  waiting_.push_back(std::move(write));
  if (syncing_ == 0) sync();
}

void SyncQueue::sync() {
  syncing_ = waiting_.size();
  const Duration took =
      speed_.sync + Duration(rng_.below(static_cast<std::uint64_t>(speed_.jitter.count()) + 1));
  scheduler_.after(took, [this, power = power_] {
    if (power != power_) return;
    std::vector<Action> acknowledged;
    for (; syncing_ > 0; --syncing_) {
      waiting_.front().apply();
      acknowledged.push_back(std::move(waiting_.front().acknowledge));
      waiting_.pop_front();
    }
    for (Action& acknowledge : acknowledged) acknowledge();
    if (syncing_ == 0 && !waiting_.empty()) sync();
  });
}

void SyncQueue::crash() {
  ++power_;
  for (std::uint64_t kept = rng_.below(waiting_.size() + 1); kept > 0; --kept) {
    waiting_.front().apply();
    waiting_.pop_front();
  }
  waiting_.clear();
  syncing_ = 0;
}

node::Recovered Disk::recovered() const {
  node::Recovered all;
  for (const auto& [session, replica] : replicas_.all()) all.replicas.push_back(replica);
  for (const auto& [digest, bytes] : chunks_) all.chunks.push_back(digest);
  all.speeds = speeds_;
  return all;
}

std::optional<Blob> Disk::chunk(const Digest& digest) const {
  return whole(digest) ? std::optional(chunks_.at(digest)) : std::nullopt;
}

void Disk::replace() {
  replicas_ = {};
  chunks_.clear();
  stored_in_.clear();
  speeds_.clear();
  bad_.clear();
}

void Disk::write(std::vector<node::DiskWrite> batch, Process::Life life, Action acknowledge) {
  trace_.note(host_.value, "write", batch.size());
  push(queue_, std::move(batch), life, std::move(acknowledge));
}

void Disk::store(node::PutChunk chunk, Process::Life life, Action acknowledge) {
  trace_.note(host_.value, "store", chunk.bytes.size());
  push(background_, {std::move(chunk)}, life, std::move(acknowledge));
}

void Disk::push(SyncQueue& queue, std::vector<node::DiskWrite> batch, Process::Life life,
                Action acknowledge) {
  if (loses_chunks_)
    std::erase_if(batch, [this](const node::DiskWrite& write) {
      return std::holds_alternative<node::PutChunk>(write) && ++puts_ % 3 == 0;
    });
  queue.push({[this, life, writes = std::move(batch)] {
                for (const auto& one : writes) apply(one, life);
                watcher_.durable(host_, writes);
              },
              std::move(acknowledge)});
}

void Disk::apply(const node::DiskWrite& write, Process::Life life) {
  if (const auto* put = std::get_if<node::PutChunk>(&write)) {
    if (digest_of(put->bytes.view()) != put->digest)
      watcher_.broken_contract(host_, "chunk " + to_hex(put->digest) + " is stored with other bytes");
    chunks_[put->digest] = put->bytes;
    stored_in_[put->digest] = life;
    bad_.erase(put->digest);
  } else if (const auto* drop = std::get_if<node::DropChunk>(&write)) {
    chunks_.erase(drop->digest);
    stored_in_.erase(drop->digest);
  } else if (const auto* speeds = std::get_if<node::PutSpeeds>(&write)) {
    speeds_ = speeds->record;
  } else if (auto fault = replicas_.apply(write)) {
    watcher_.broken_contract(host_, std::move(*fault));
  }
}

bool DiskPort::takes() {
  if (disk_.full()) process_.break_after(0);
  return process_.lets_out();
}

Action DiskPort::told(std::function<void()> durable) {
  return [&process = process_, life = life_, durable = std::move(durable)]() mutable {
    process.enter(life, [durable = std::move(durable)] { durable(); });
  };
}

void DiskPort::write(std::vector<node::DiskWrite> batch, std::function<void()> durable) {
  if (takes()) disk_.write(std::move(batch), life_, told(std::move(durable)));
}

void DiskPort::store_chunk(const Digest& digest, Blob bytes, std::function<void()> durable) {
  if (takes()) disk_.store({digest, std::move(bytes)}, life_, told(std::move(durable)));
}

void DiskPort::load_replica(const SessionId& session,
                            std::function<void(std::optional<node::StoredReplica>)> done) {
  disk_.scheduler().after(disk_.read_delay(), [&disk = disk_, &process = process_, life = life_, session,
                                               done = std::move(done)]() mutable {
    process.enter(life, [&disk, session, done = std::move(done)] { done(disk.load(session)); });
  });
}

void DiskPort::read_chunk(const node::ReadChunk& what, std::function<void(std::optional<Blob>)> done) {
  const Duration delay = disk_.read_delay() * (what.in_background ? 10 : 1);
  disk_.scheduler().after(delay, [&disk = disk_, &process = process_, life = life_, digest = what.digest,
                                  done = std::move(done)]() mutable {
    process.enter(life, [&disk, digest, done = std::move(done)] { done(disk.chunk(digest)); });
  });
}

void Store::put(std::string key, std::string value, Action acknowledge) {
  queue_.push({[this, key = std::move(key), value = std::move(value)] {
                 if (value.empty()) {
                   records_.erase(key);
                 } else {
                   records_[key] = value;
                 }
               },
               std::move(acknowledge)});
}

void StorePort::put(std::string key, std::string value, std::function<void()> durable) {
  if (!process_.lets_out()) return;
  store_.put(std::move(key), std::move(value),
             [&process = process_, life = life_, durable = std::move(durable)]() mutable {
               process.enter(life, [durable = std::move(durable)] { durable(); });
             });
}

}  // namespace banyan::sim
