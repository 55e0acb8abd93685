// Chunks that a session's clients read and bring: for exports and imports. The gateway only passes them on.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "node/gateway_context.h"

namespace banyan::node {

/// Of one session. Pure; the GatewayContext outlives it.
class GatewayTransfers {
 public:
  GatewayTransfers(GatewayContext& gateway, SessionId session)
      : gateway_(gateway), session_(std::move(session)) {}

  /// Answers with the chunk's bytes, from any of these hosts; with 404 when none has come to have it.
  void read(RequestId request, const Digest& digest, std::vector<HostId> hosts);
  /// Answers with 204 when those of these hosts that are up, and a majority, have stored the bytes for the
  /// import `upload`.
  void write(RequestId request, const std::string& upload, const Digest& digest, const Blob& bytes,
             const std::vector<HostId>& hosts);
  void arrives(const HostId& host, const ChunkPart& part);
  void stored(const HostId& host, const Digest& digest);
  void tick();
  void close();

 private:
  struct Reading {
    std::vector<RequestId> requests;
    std::vector<HostId> hosts;
    std::vector<HostId> round;  ///< those to be asked yet; the last one is asked now
    std::string bytes;
    Time begun;
    Time heard;
  };
  struct Writing {
    std::vector<RequestId> requests;
    std::set<HostId> stored;
    std::set<HostId> waits;
    std::size_t needed = 0;
    Time since;
  };

  bool end_if_stored(Writing& writing);
  void begin_round(const Digest& digest, Reading& reading);
  void ask(const Digest& digest, Reading& reading);
  void ask_next(const Digest& digest, Reading& reading);
  bool give_up(const Digest& digest, const Reading& reading);

  GatewayContext& gateway_;
  SessionId session_;
  std::map<Digest, Reading> readings_;
  std::map<Digest, Writing> writings_;
};

}  // namespace banyan::node
