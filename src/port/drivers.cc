#include "port/drivers.h"

#include <utility>
#include <variant>

#include "base/check.h"
#include "base/overloaded.h"

namespace banyan::port {

void HostDriver::deliver(node::HostEvent event) {
  waiting_.push_back(std::move(event));
  if (busy_) return;
  busy_ = true;
  while (!waiting_.empty()) {
    node::HostEvent next = std::move(waiting_.front());
    waiting_.pop_front();
    for (auto& effect : node_.step(ports_.clock(), std::move(next))) perform(std::move(effect));
  }
  busy_ = false;
}

void HostDriver::perform(node::HostEffect effect) {
  std::visit(Overloaded{
                 [&](node::SendFrame& e) { ports_.network.send(e.to, std::move(e.frame)); },
                 [&](node::ConnectPeer& e) { ports_.network.connect(e.peer, e.address, e.key); },
                 [&](node::DisconnectPeer& e) { ports_.network.disconnect(e.peer); },
                 [&](node::Persist& e) {
                   ports_.disk.write(std::move(e.writes),
                                     [this, token = e.token] { deliver(node::Persisted{token}); });
                 },
                 [&](node::StoreChunk& e) {
                   ports_.disk.store_chunk(e.digest, std::move(e.bytes),
                                           [this, digest = e.digest] { deliver(node::ChunkLanded{digest}); });
                 },
                 [&](node::ReadChunk& e) {
                   ports_.disk.read_chunk(e, [this, digest = e.digest](std::optional<Blob> bytes) {
                     deliver(node::ChunkRead{digest, std::move(bytes)});
                   });
                 },
                 [&](node::FetchChunk& e) {
                   CHECK(ports_.store != nullptr, "a host without a data store asks it for a chunk");
                   ports_.store->fetch(std::move(e),
                                       [this](node::ChunkFetched came) { deliver(std::move(came)); });
                 },
                 [&](node::LoadReplica& e) {
                   ports_.disk.load_replica(e.session, [this, session = e.session](auto stored) {
                     deliver(node::ReplicaLoaded{session, std::move(stored)});
                   });
                 },
                 [&](node::LaunchWorker& e) { ports_.launcher.launch(std::move(e)); },
                 [&](node::StopWorker& e) { ports_.launcher.stop(e.worker, e.how); },
                 [&](node::ToWorker& e) { ports_.launcher.send(e.worker, std::move(e.message)); },
                 [&](node::AnswerFence& e) { ports_.launcher.answer_fence(std::move(e)); },
                 [&](node::AnswerWorker& e) { ports_.launcher.answer(std::move(e)); },
                 [&](node::ApplyToWorker& e) { ports_.launcher.apply(std::move(e)); },
                 [&](node::RepeatOnWorker& e) { ports_.launcher.repeat(std::move(e)); },
                 [&](node::AskReads& e) { ports_.launcher.ask_reads(std::move(e)); },
                 [&](node::AskRemovals& e) { ports_.launcher.ask_removals(std::move(e)); },
                 [&](node::ForgetSession& e) { ports_.launcher.forget(e.session); },
                 [&](node::SetLease& e) { ports_.launcher.set_lease(e.worker, e.deadline); },
                 [&](node::Log& e) { ports_.log(e); },
             },
             effect);
}

void GatewayDriver::deliver(node::GatewayEvent event) {
  waiting_.push_back(std::move(event));
  if (busy_) return;
  busy_ = true;
  while (!waiting_.empty()) {
    node::GatewayEvent next = std::move(waiting_.front());
    waiting_.pop_front();
    for (auto& effect : node_.step(ports_.clock(), std::move(next))) perform(std::move(effect));
  }
  busy_ = false;
}

void GatewayDriver::perform(node::GatewayEffect effect) {
  std::visit(Overloaded{
                 [&](node::SendFrame& e) { ports_.network.send(e.to, std::move(e.frame)); },
                 [&](node::ConnectPeer& e) { ports_.network.connect(e.peer, e.address, e.key); },
                 [&](node::DisconnectPeer& e) { ports_.network.disconnect(e.peer); },
                 [&](node::HttpReply& e) { ports_.front.reply(std::move(e)); },
                 [&](node::AcceptClient& e) { ports_.front.accept(e.id); },
                 [&](node::RejectClient& e) { ports_.front.reject(std::move(e)); },
                 [&](node::ToClient& e) { ports_.front.send(e.id, std::move(e.message)); },
                 [&](node::PingClient& e) { ports_.front.ping(e); },
                 [&](node::CloseClient& e) { ports_.front.close(std::move(e)); },
                 [&](node::Store& e) {
                   ports_.store.put(std::move(e.key), std::move(e.value), [this, token = e.token] {
                     if (token != 0) deliver(node::Stored{token});
                   });
                 },
                 [&](node::Log& e) { ports_.log(e); },
             },
             effect);
}

}  // namespace banyan::port
