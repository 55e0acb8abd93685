#include "sim/porter.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "core/session/session.h"

namespace banyan::sim {

namespace {

constexpr Duration kKeptFor = 50s;  // hosts keep chunks that nothing uses any more for a little longer

/// The chunks to which the kept values of a session refer, each once.
std::vector<Digest> chunks_needed(const session::Session& session) {
  std::set<Digest> needed;
  for (const auto& [commit, node] : session.tree().nodes()) {
    for (const auto& [name, version] : node.change.bound) {
      const session::CoVariable& value = session.co_variable(version);
      for (const session::Chunk& block : value.blocks)
        if (value.kept && !block.bytes) needed.insert(block.digest);
    }
  }
  return {needed.begin(), needed.end()};
}

bool keeps_head(const session::Session& session) {
  return std::ranges::all_of(session.view(), [&](const auto& bound) {
    const session::CoVariable& value = session.co_variable(bound.second);
    return value.kept || value.parts.empty();
  });
}

bool keeps_all(const session::Session& session) {
  return std::ranges::all_of(session.tree().nodes(), [&](const auto& commit) {
    return std::ranges::all_of(commit.second.change.bound, [&](const auto& bound) {
      const session::CoVariable& value = session.co_variable(bound.second);
      return value.kept || value.parts.empty();
    });
  });
}

/// The state as it is for hosts that read what is in the store from there.
std::string state_from_store(const Exported& box) {
  const auto session = session::Session::restore(Blob(box.state));
  if (!session) return box.state;
  session::Elsewhere there{.prefix = box.prefix, .sha256 = {}};
  for (const Digest& digest : box.stored)
    if (session->chunks().contains(digest)) there.sha256[digest] = sum_of(box.chunks.at(digest));
  return std::string(session->snapshot_from(std::move(there)).view());
}

/// 503: no majority. 504: it takes long. 404 and 409: something else has happened to the session meanwhile.
bool may_be(int status) { return status == 0 || status == 404 || status == 409 || status >= 500; }

}  // namespace

/// A client is busy with other things between two requests, sometimes for long.
Duration Porter::pause() {
  const bool away = !must_succeed_ && rng_.chance(0.1);
  return 1ms + Duration(rng_.below(away ? 2'000'000'000 : 20'000'000));
}

void Porter::end(const Then& then, End how) {
  busy_ = false;
  then(how);
}

void Porter::complain(const std::string& what, int status, const std::string& body, bool expected) {
  const std::string said = what + " is answered " + std::to_string(status) + " " + body;
  if (must_succeed_) {
    witness_.transfer_complains("P4: healed, and " + said);
  } else if (!may_be(status) && !expected) {
    witness_.transfer_complains("client: " + said);
  }
}

/// The session is deleted, as `banyan import` does. Where the import may still be done, some clients use the
/// session as it is: it is empty, or has all that was brought, now or a little later.
void Porter::give_up(const std::shared_ptr<Import>& going, const std::string& what, int status,
                     const std::string& body, bool expected) {
  complain(what, status, body, expected);
  const bool unknown = status == 0 || status >= 500;
  if (unknown && rng_.chance(0.3)) return end(going->then, End::kUnknown);
  discard(going);
}

void Porter::discard(const std::shared_ptr<Import>& going) {
  front_.request("DELETE", "/api/kernels/" + going->into.value, "",
                 [this, going](int status, const std::string& body) {
                   if (status == 204 || status == 404) return end(going->then, End::kFailed);
                   if (status != 0 && status < 500) return complain("a DELETE", status, body);
                   scheduler_.after(pause(), [this, going] { discard(going); });
                 });
}

void Porter::request(const SessionId& session, std::string method, const std::string& what, std::string body,
                     Front::Answer answer) {
  front_.request(std::move(method), "/api/banyan/sessions/" + session.value + "/" + what, std::move(body),
                 std::move(answer));
  witness_.transfer_goes_on(session);
}

void Porter::take_out(const SessionId& session, std::optional<ExecutionId> answered, Then then) {
  static const std::array<std::string, 3> kValues{"head", "all", "least"};
  busy_ = true;
  auto going = std::make_shared<Export>();
  going->begun = scheduler_.now();
  going->box.session = session;
  going->box.values = kValues[rng_.below(kValues.size())];
  going->floor = witness_.export_begins(session, std::move(answered));
  going->floor.whole = !lacks_;
  going->then = std::move(then);
  std::string what = "export?values=" + going->box.values;
  if (rng_.chance(0.5)) {
    const std::uint64_t rate = rng_.below(100'000'000);  // values of a slow file are rather made again
    const bool slow = going->box.values == "least" && rate % 2 == 0;
    what += "&bytes_per_s=" + std::to_string(1 + (slow ? rate % 10'000 : rate));
  }
  request(session, "GET", what, "", [this, going](int status, const std::string& body) {
    const auto restored = session::Session::restore(Blob(body));
    if (status != 200 || !restored) {
      complain("an export", status, status == 200 ? restored.error().message : body);
      return end(going->then, End::kFailed);
    }
    going->box.state = body;
    going->box.whole = keeps_all(*restored);
    going->box.head_whole = keeps_head(*restored);
    going->missing = chunks_needed(*restored);
    read_chunks(going);
  });
}

void Porter::read_chunks(std::shared_ptr<Export> going) {
  if (going->missing.empty()) {
    witness_.exported(going->box, going->floor);
    if (store_ != nullptr && rng_.chance(0.7)) {
      going->box.prefix = "chunks-of/" + going->box.session.value + "/" + rng_.uuid() + "/";
      for (const auto& [digest, bytes] : going->box.chunks) going->missing.push_back(digest);
    }
    return back_up(going);
  }
  scheduler_.after(pause(), [this, going = std::move(going)] {
    const Digest digest = going->missing.back();
    request(going->box.session, "GET", "chunks/" + to_hex(digest), "",
            [this, going, digest](int status, const std::string& body) {
              if (status == 404 && scheduler_.now() - going->begun < kKeptFor)
                witness_.chunk_denied(going->box, digest);
              if (status != 200 || digest_of(body) != digest) {
                complain("a chunk's export", status, body);
                return end(going->then, End::kFailed);
              }
              going->box.chunks[digest] = body;
              going->missing.pop_back();
              read_chunks(going);
            });
  });
}

/// What the store does not take, or does not confirm, is brought to the gateway later.
void Porter::back_up(const std::shared_ptr<Export>& going) {
  if (going->missing.empty()) {
    box_ = std::make_shared<const Exported>(going->box);
    return end(going->then, End::kDone);
  }
  const Digest digest = going->missing.back();
  store_->put(going->box.prefix + to_hex(digest), going->box.chunks.at(digest),
              [this, going, digest](bool stored) {
                if (stored) going->box.stored.insert(digest);
                // Whoever waits until nothing is broken tries until the store has it.
                if (stored || !must_succeed_) going->missing.pop_back();
                back_up(going);
              });
}

bool Porter::bring_in(const SessionId& into, Then then) {
  lacks_ = intends_ && !box_->whole;
  lacks_head_ = intends_ && !box_->head_whole;
  if (!std::exchange(intends_, false)) return false;
  busy_ = true;
  auto going = std::make_shared<Import>();
  going->box = box_;
  going->into = into;
  going->upload = rng_.uuid();
  going->from_store = !box_->stored.empty() && rng_.chance(0.8);
  going->next = box_->chunks.begin();
  going->then = std::move(then);
  write_chunks(std::move(going));
  return true;
}

void Porter::write_chunks(std::shared_ptr<Import> going) {
  const auto is_elsewhere = [&] {
    return going->from_store && going->next != going->box->chunks.end() &&
           going->box->stored.contains(going->next->first);
  };
  while (is_elsewhere()) ++going->next;
  if (going->next == going->box->chunks.end()) return give_state(going);
  scheduler_.after(pause(), [this, going = std::move(going)] {
    const auto& [digest, bytes] = *going->next;
    request(going->into, "PUT", "chunks/" + to_hex(digest) + "?upload=" + going->upload, bytes,
            [this, going](int status, const std::string& body) {
              if (status != 204) return give_up(going, "a chunk's import", status, body);
              witness_.chunk_brought(going->into, going->upload, going->next->first);
              ++going->next;
              write_chunks(going);
            });
  });
}

void Porter::give_state(const std::shared_ptr<Import>& going) {
  request(going->into, "POST", "import?upload=" + going->upload,
          going->from_store ? state_from_store(*going->box) : going->box->state,
          [this, going](int status, const std::string& body) {
            if (status != 200)
              return give_up(going, "an import", status, body,
                             status == 400 && witness_.may_ask_again(going->into, going->upload, body));
            witness_.imported(*going->box, going->into, going->upload);
            end(going->then, End::kDone);
          });
}

}  // namespace banyan::sim
