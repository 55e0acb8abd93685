// Taking sessions out of a gateway and into one: what exports, imports and backups have in common.
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
  std::vector<FileChunk> chunks;  ///< the chunks to which its values refer, each once
};

/// Fetches a session. `values` is a word of `banyan export --values`; "least" weighs by `bytes_per_s`.
Result<ExportedSession> fetch_session(const runtime::AddressOptions& gateway, const std::string& id,
                                      const std::string& values, std::uint64_t bytes_per_s);
/// Fetches a chunk. kCorrupt when other bytes came.
Result<std::string> fetch_chunk(const runtime::AddressOptions& gateway, const std::string& session,
                                const FileChunk& chunk);

/// The chunks to which the session's kept values refer, each once.
std::vector<FileChunk> chunks_of(const session::Session& session);
/// The state without those values that need one of these chunks: they are left to their cells.
std::string state_without(const std::string& state, const std::set<Digest>& lost);
/// The state for hosts that read its chunks from a data store.
std::string state_from(const std::string& state, session::Elsewhere chunks);
/// What a person is shown of an exported session, as JSON; its chunks are not listed.
nlohmann::json manifest_of(const session::Session& session);
/// Shows the same contents as a table. Texts from other people cannot steer the terminal.
std::string contents_text(const nlohmann::json& manifest);

/// Brings a chunk to the gateway for the new session.
using BringChunk = std::function<Result<Done>(const Digest&, std::string)>;

/// Founds a session and returns its id: `bring` brings its chunks, and then `state` gives its state. When
/// that fails, or a signal has come (StopSignals), the session is deleted again, if the gateway still
/// answers.
Result<std::string> found_session(const runtime::AddressOptions& gateway, const std::string& kernel,
                                  const std::function<Result<Done>(const BringChunk&)>& bring,
                                  const std::function<std::string()>& state);

/// The name of the signer with this key (empty when nobody has signed), if its files may be opened here; else
/// kDenied, which says what to do. With `trust` the key is trusted from now on, under that name.
Result<std::string> signer_of(const Keys& keys, const std::string& public_key, const std::string& trust);
/// A line that says who has signed, or that the signature counts for nothing.
std::string signature_text(const std::string& public_key, const Result<std::string>& signer);
/// The error that refuses `what` because of the signature, and says what to do.
Error not_taken(const std::string& what, const Error& why);

}  // namespace banyan::cli
