#include "node/gateway_records.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/codec.h"
#include "node/gateway_messages.h"

namespace banyan::node {

using nlohmann::json;

namespace {

constexpr std::string_view kSession = "session/";
constexpr std::string_view kCell = "cell/";
constexpr std::string_view kProgress = "progress/";
constexpr std::string_view kFounded = "founded/";
constexpr std::string_view kHost = "host/";
constexpr std::string_view kDraining = "draining";
constexpr std::string_view kRemoved = "removed";

// Typed reads that never throw: a record may come from another version, or from a person's editor.
std::string text(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}
std::uint64_t number(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}
bool truth(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}
json child(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() ? *found : json();
}

std::optional<std::uint64_t> parse_number(std::string_view digits) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

std::optional<SessionRecord> parse_session(const SessionId& id, std::string_view value) {
  const json record = json::parse(value, nullptr, false);
  if (!record.is_object()) return std::nullopt;
  SessionRecord session{.id = id};
  const json founding = child(record, "founding");
  if (founding.is_object()) session.founding = {number(founding, "life"), number(founding, "number")};
  session.spec.kernel_name = text(record, "kernel");
  session.spec.working_directory = text(record, "directory");
  if (truth(record, "warm")) session.spec.standbys = session::Standbys::kWarm;
  if (truth(record, "async")) session.spec.durability = session::Durability::kAsync;
  if (const json keep = child(record, "keep"); !keep.empty())
    session.spec.keep = {number(keep, "cells"), number(keep, "journal"), number(keep, "inline_values"),
                         number(keep, "values")};
  const json env = child(record, "env");
  for (const auto& [name, content] : env.items()) {
    if (content.is_string()) session.spec.env[name] = content.get<std::string>();
  }
  const json members = child(record, "members");
  for (const auto& [key, member] : members.items()) {
    const auto replica = parse_number(key);
    if (!replica || !member.is_object()) return std::nullopt;
    session.members[{*replica}] = {{text(member, "host")}, truth(member, "open"), truth(member, "joining")};
  }
  const json committed = child(record, "committed");
  for (const auto& [key, host] : committed.items()) {
    const auto replica = parse_number(key);
    if (!replica || !host.is_string()) return std::nullopt;
    session.committed[{*replica}] = {host.get<std::string>()};
  }
  const json given_up = child(record, "given_up");  // earlier versions have none
  for (const auto& [key, host] : given_up.items()) {
    const auto replica = parse_number(key);
    if (!replica || !host.is_string()) return std::nullopt;
    session.given_up[{*replica}] = {host.get<std::string>()};
  }
  if (session.members.empty() || session.spec.kernel_name.empty()) return std::nullopt;
  session.wishes = number(record, "wishes");
  session.fulfilled = number(record, "fulfilled");
  // Earlier versions did not number what they wished for: the last wish comes after the founding members.
  if (!record.contains("wishes") && session.committed != session.wanted()) session.wishes = 1;
  session.next_replica = number(record, "next_replica");
  if (session.next_replica <= session.members.rbegin()->first.value) return std::nullopt;
  session.leaves = {number(record, "leaves")};
  session.restarts = number(record, "restarts");
  session.created.us = static_cast<std::int64_t>(number(record, "created_us"));
  if (const json notebook = child(record, "notebook"); notebook.is_object()) {
    session.notebook = Notebook{text(notebook, "id"), text(notebook, "path"), text(notebook, "name"),
                                text(notebook, "type")};
  }
  return session;
}

std::optional<HostRecord> parse_host(std::string_view value) {
  const json record = json::parse(value, nullptr, false);
  if (!record.is_object()) return std::nullopt;
  HostRecord host{
      .address = text(record, "address"), .force = truth(record, "force"), .key = text(record, "key")};
  const std::string state = text(record, "state");
  if (state == kDraining) host.state = HostRecord::State::kDraining;
  if (state == kRemoved) host.state = HostRecord::State::kRemoved;
  return host;
}

std::optional<ProgressRecord> parse_progress(std::string_view value) {
  const json record = json::parse(value, nullptr, false);
  if (!record.is_object()) return std::nullopt;
  return ProgressRecord{{text(record, "execution")}, number(record, "seq")};
}

}  // namespace

session::Members SessionRecord::wanted() const {
  session::Members result;
  for (const auto& [replica, member] : members) result[replica] = member.host;
  return result;
}

bool SessionRecord::only_adds() const {
  return fulfilled != wishes &&
         std::ranges::all_of(committed, [&](const auto& item) { return members.contains(item.first); });
}

std::optional<ReplicaId> SessionRecord::member_on(const HostId& host) const {
  for (const auto& [replica, member] : members) {
    if (member.host == host) return replica;
  }
  return std::nullopt;
}

bool SessionRecord::names(const HostId& host) const {
  const auto there = [&](const auto& item) { return item.second == host; };
  return std::ranges::any_of(members, [&](const auto& item) { return item.second.host == host; }) ||
         std::ranges::any_of(committed, there) || std::ranges::any_of(given_up, there);
}

std::string session_key(const SessionId& session) { return std::string(kSession) + session.value; }
std::string host_key(const HostId& host) { return std::string(kHost) + host.value; }
std::string founded_key(std::uint64_t life) { return std::string(kFounded) + std::to_string(life); }
std::string progress_key(const SessionId& session) { return std::string(kProgress) + session.value; }
std::string cell_key(const SessionId& session, std::uint64_t cell) {
  char digits[24];
  std::snprintf(digits, sizeof digits, "%012llu", static_cast<unsigned long long>(cell));
  return std::string(kCell) + session.value + "/" + digits;
}

std::string to_record(const SessionRecord& record) {
  json members = json::object(), committed = json::object(), given_up = json::object();
  for (const auto& [replica, member] : record.members) {
    members[std::to_string(replica.value)] = {
        {"host", member.host.value}, {"open", member.open}, {"joining", member.joining}};
  }
  for (const auto& [replica, host] : record.committed) committed[std::to_string(replica.value)] = host.value;
  for (const auto& [replica, host] : record.given_up) given_up[std::to_string(replica.value)] = host.value;
  json out = {{"kernel", record.spec.kernel_name},
              {"directory", record.spec.working_directory},
              {"founding", {{"life", record.founding.life}, {"number", record.founding.number}}},
              {"env", record.spec.env},
              {"keep",
               {{"cells", record.spec.keep.cells},
                {"journal", record.spec.keep.journal},
                {"inline_values", record.spec.keep.inline_values},
                {"values", record.spec.keep.values}}},
              {"warm", record.spec.standbys == session::Standbys::kWarm},
              {"async", record.spec.durability == session::Durability::kAsync},
              {"members", std::move(members)},
              {"committed", std::move(committed)},
              {"given_up", std::move(given_up)},
              {"wishes", record.wishes},
              {"fulfilled", record.fulfilled},
              {"next_replica", record.next_replica},
              {"leaves", record.leaves.value},
              {"restarts", record.restarts},
              {"created_us", record.created.us < 0 ? 0 : record.created.us}};
  if (const auto& notebook = record.notebook) {
    out["notebook"] = {
        {"id", notebook->id}, {"path", notebook->path}, {"name", notebook->name}, {"type", notebook->type}};
  }
  return dump(out);
}

std::string to_record(const HostRecord& record) {
  using State = HostRecord::State;
  const std::string_view state = record.state == State::kDraining  ? kDraining
                                 : record.state == State::kRemoved ? kRemoved
                                                                   : "in use";
  return dump({{"state", state}, {"address", record.address}, {"force", record.force}, {"key", record.key}});
}

std::string founded_record(std::uint64_t sessions) { return dump({{"sessions", sessions}}); }

std::string to_record(const CellRecord& record) { return encode(record); }

std::string to_record(const ProgressRecord& record) {
  return dump({{"execution", record.execution.value}, {"seq", record.seq}});
}

StoredSessions read_records(const std::map<std::string, std::string>& records) {
  StoredSessions result;
  for (const auto& [key, value] : records) {
    if (!key.starts_with(kSession)) continue;
    const SessionId id{key.substr(kSession.size())};
    if (auto session = parse_session(id, value)) {
      result.sessions[id].session = std::move(*session);
    } else {
      result.damaged.insert(id);
      result.unreadable.push_back(key);
    }
  }
  // The session that a record belongs to; null when there is none.
  const auto owner = [&](const std::string& key, const SessionId& id) -> StoredSession* {
    const auto found = result.sessions.find(id);
    if (found != result.sessions.end()) return &found->second;
    (result.damaged.contains(id) ? result.unreadable : result.orphans).push_back(key);
    return nullptr;
  };
  for (const auto& [key, value] : records) {
    if (key.starts_with(kCell)) {
      const std::string rest = key.substr(kCell.size());
      StoredSession* const session = owner(key, {rest.substr(0, rest.find('/'))});
      if (session == nullptr) continue;
      auto cell = decode<CellRecord>(value);
      if (cell && cell->number != 0) {
        session->cells[cell->number] = std::move(*cell);
      } else {
        result.unreadable.push_back(key);
      }
    } else if (key.starts_with(kProgress)) {
      StoredSession* const session = owner(key, {key.substr(kProgress.size())});
      if (session != nullptr) session->progress = parse_progress(value);
    } else if (key.starts_with(kHost)) {
      if (auto host = parse_host(value)) {
        result.hosts[{key.substr(kHost.size())}] = std::move(*host);
      } else {
        result.unreadable.push_back(key);
      }
    } else if (key.starts_with(kFounded)) {
      const auto life = parse_number(std::string_view(key).substr(kFounded.size()));
      const json record = json::parse(value, nullptr, false);
      const std::uint64_t sessions = record.is_object() ? number(record, "sessions") : 0;
      if (life && sessions != 0) {
        result.founded[*life] = sessions;
      } else {
        result.unreadable.push_back(key);
      }
    } else if (!key.starts_with(kSession)) {
      result.unreadable.push_back(key);
    }
  }
  return result;
}

}  // namespace banyan::node
