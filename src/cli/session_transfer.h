// Sessions out of a gateway and into one: what exports, imports and backups have in common.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/moving/session_file.h"
#include "core/session/session.h"
#include "runtime/kernel_shim/gateway_address.h"

namespace banyan::cli {

/// A session as its hosts hand it out.
struct ExportedSession {
  std::string id;
  std::string state;  ///< the snapshot's bytes
  session::Session session;
  std::vector<FileChunk> chunks;  ///< that its values refer to, each once
};

/// `values` is a word of `banyan export --values`, `bytes_per_s` what "least" goes by.
Result<ExportedSession> fetch_session(const runtime::AddressOptions& gateway, const std::string& id,
                                      const std::string& values, std::uint64_t bytes_per_s);
/// kCorrupt when other bytes came.
Result<std::string> fetch_chunk(const runtime::AddressOptions& gateway, const std::string& session,
                                const FileChunk& chunk);

/// Chunks that the session's kept values refer to, each once.
std::vector<FileChunk> chunks_of(const session::Session& session);
/// The state without the bytes of values that need one of these chunks: their cells make them again.
std::string state_without(const std::string& state, const std::set<Digest>& lost);
/// The state for hosts that read its chunks there.
std::string state_from(const std::string& state, session::Elsewhere chunks);
/// What a reader of an exported session is shown, without its chunks.
nlohmann::json manifest_of(const session::Session& session);
/// The same as a table. What it has from others cannot steer a terminal.
std::string contents_text(const nlohmann::json& manifest);

/// Takes a chunk for the new session.
using BringChunk = std::function<Result<Done>(const Digest&, std::string)>;

/// Founds a session: `bring` brings its chunks, then `state` says what it is. Its id. Where that fails, or
/// StopSignals has seen one, the session is deleted again, if the gateway still answers.
Result<std::string> found_session(const runtime::AddressOptions& gateway, const std::string& kernel,
                                  const std::function<Result<Done>(const BringChunk&)>& bring,
                                  const std::function<std::string()>& state);

/// Whether a session that was signed with this key (empty: with none) may be opened here: the signer's name,
/// kDenied with what to do. `trust`: from now on it is, under that name.
Result<std::string> signer_of(const Keys& keys, const std::string& public_key, const std::string& trust);
/// A line that says so.
std::string signature_text(const std::string& public_key, const Result<std::string>& signer);
/// What is refused because of it, and what to do.
Error not_taken(const std::string& what, const Error& why);

}  // namespace banyan::cli
