#include "sim/transfer_checks.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/session/session.h"
#include "sim/model_python.h"

namespace banyan::sim {

namespace {

std::string in_words(const StateOf& state) {
  return "commit " + std::to_string(state.at.last.value) + " (moved " + std::to_string(state.at.amended) +
         " times) of session " + state.session.value;
}

/// Puts the bytes into a value's blocks. False when some are missing.
bool complete(session::CoVariable& value, const std::map<Digest, std::string>& chunks) {
  for (session::Chunk& block : value.blocks) {
    if (block.bytes) continue;
    const auto bytes = chunks.find(block.digest);
    if (bytes == chunks.end()) return false;
    block.bytes = Blob(bytes->second);
  }
  return true;
}

/// What head shows, as far as it can be read from the bytes that came along.
struct HeadRead {
  std::string digest;
  std::vector<std::string> left;    ///< names whose values are left to cells
  std::vector<std::string> broken;  ///< names whose values cannot be read
};

HeadRead read_head(const session::Session& session, const std::map<Digest, std::string>& chunks) {
  std::map<session::CoVariableId, std::vector<std::string>> names;
  for (const auto& [name, version] : session.view()) names[version].push_back(name);
  Namespace variables;
  HeadRead read;
  for (const auto& [version, bound] : names) {
    session::CoVariable value = session.co_variable(version);
    if (value.parts.empty()) continue;  // it cannot be serialised
    if (!value.kept) {
      read.left.insert(read.left.end(), bound.begin(), bound.end());
      continue;
    }
    value.names = bound;
    if (!complete(value, chunks) || variables.load(std::move(value)) != Namespace::Loaded::kWhole)
      read.broken.push_back(bound.front());
  }
  read.digest = variables.digest();
  return read;
}

}  // namespace

ExportFloor TransferChecks::export_begins(const SessionId& session, std::optional<ExecutionId> answered) {
  return {.at = oracle_.stands_at(session), .answered = std::move(answered)};
}

void TransferChecks::exported(const Exported& box, const ExportFloor& floor) {
  const auto session = session::Session::restore(Blob(box.state));
  if (!session) return report_("export: the state of " + box.session.value + " is none");
  const StateOf state = StateOf::of(*session);
  if (state.session != box.session)
    report_("export: " + in_words(state) + " was given out for session " + box.session.value);
  // An import that was late replaces the state of a session that had been amended and had run no cell, also
  // by one that has run none and was amended less often: the number of amendments grows only after a commit.
  const bool older = floor.at.last != CommitId{} && state.at < floor.at;
  const bool lacks_answered = floor.answered && session->find(*floor.answered) == nullptr;
  if (older || lacks_answered)
    report_("export: " + in_words(state) + " is older than what was committed when it was asked for" +
            (lacks_answered ? ": it lacks " + floor.answered->value : ""));
  const HeadRead head = read_head(*session, box.chunks);
  for (const std::string& name : head.broken)
    report_("export: the value of " + name + " in " + in_words(state) + " cannot be read");
  if (box.values != "least" && floor.whole) {
    for (const std::string& name : head.left)
      report_("export: the value of " + name + " in " + in_words(state) + " was left behind");
  }
  exports_.push_back({state, head.left.empty() ? std::optional(head.digest) : std::nullopt});
}

/// A disk that was lost may have had it.
bool TransferChecks::kept(const Digest& digest) const {
  return std::ranges::any_of(places_(digest), &Place::here) || (store_ != nullptr && store_->keeps(digest));
}

/// Hosts keep the chunks of a session that is there, also those that it has stopped to use, for long enough.
void TransferChecks::chunk_denied(const Exported& box, const Digest& digest) {
  const auto session = session::Session::restore(Blob(box.state));
  if (!session || kept(digest) || !oracle_.is_there(StateOf::of(*session))) return;
  report_("export: the chunk " + to_hex(digest) + " of " + in_words(StateOf::of(*session)) +
          " was thrown away while it was exported");
}

void TransferChecks::chunk_brought(const SessionId& /*into*/, const std::string& upload,
                                   const Digest& digest) {
  auto& known = brought_[{upload, digest}];
  known.clear();
  for (const Place& place : places_(digest))
    if (place.known) known[place.host] = place.life;
}

/// Only a host may that did not have the chunk when it was brought, because it was down or is new in the
/// session, or that has started again since.
bool TransferChecks::may_ask_again(const SessionId& into, const std::string& upload,
                                   const std::string& said) {
  static constexpr std::string_view kBefore = "the chunk ";
  const std::size_t at = said.find(kBefore);
  if (at == std::string::npos || said.find("was not sent before it") == std::string::npos) return false;
  const auto digest = digest_from_hex(said.substr(at + kBefore.size(), 32));
  const auto known = digest ? brought_.find({upload, *digest}) : brought_.end();
  if (known == brought_.end()) return false;
  const std::vector<HostId> holders = oracle_.holders(into);
  return holders.empty() || std::ranges::any_of(places_(*digest), [&](const Place& place) {
           if (std::ranges::find(holders, place.host) == holders.end()) return false;
           const auto then = known->second.find(place.host);
           return then == known->second.end() || then->second != place.life || place.damaged;
         });
}

void TransferChecks::imported(const Exported& box, const SessionId& into, const std::string& upload) {
  const auto session = session::Session::restore(Blob(box.state));
  if (!session) return;
  ++imports_;
  const auto begun = oracle_.import_durable(into, upload);
  if (!begun)
    return report_("P1: the import into session " + into.value +
                   " is answered before it is on a majority's disks");
  if (!(StateOf::of(*begun) == StateOf::of(*session)))
    report_("import: session " + into.value + " begins with " + in_words(StateOf::of(*begun)) +
            " and not with " + in_words(StateOf::of(*session)));
  const session::Elsewhere& there = begun->elsewhere();
  for (const auto& [digest, sum] : there.sha256)
    if (store_ == nullptr || !store_->has(there.key(digest), sum))
      report_("import: the log of session " + into.value + " says that the data store has " +
              there.key(digest) + ", and it has not");
}

void TransferChecks::judge() {
  for (const Export& one : exports_) {
    const auto digest = oracle_.digest_in(one.state);
    // The end of a deleted session's log may never have been known.
    if (!digest && oracle_.is_there(one.state))
      report_("export: " + in_words(one.state) + " was never committed");
    if (digest && !digest->empty() && one.digest && *one.digest != *digest)
      report_("export: " + in_words(one.state) + " has another namespace than the session had");
  }
}

}  // namespace banyan::sim
