// `banyan backup`, `backups`, `restore`.

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "cli/backup/session_backup.h"
#include "cli/commands.h"
#include "cli/gateway_call.h"
#include "cli/session_transfer.h"
#include "cli/stop_signals.h"
#include "cli/table/progress.h"
#include "cli/table/table.h"
#include "daemons/service.h"
#include "runtime/data_store/data_store_at.h"

namespace banyan::cli {

namespace {

using nlohmann::json;

constexpr double kGatewayAgain_s = 1;  // one that does not answer may be starting

/// What the store says is not about the gateway.
int complain_of_store(Error error) {
  if (error.kind == ErrorKind::kUnavailable || error.kind == ErrorKind::kDenied) error.kind = ErrorKind::kIo;
  return complain(error);
}

// ---- backup

/// The log of a session, as far as it goes: last commit, actions beside cells.
using Stamp = std::pair<std::uint64_t, std::uint64_t>;

Stamp stamp_of(const json& one) { return {number_of(one, "last_commit"), number_of(one, "amended")}; }

/// Backs up what has changed, again and again.
class Backups {
 public:
  Backups(const BackupOptions& options, runtime::BlockingStore& store)
      : options_(options), keys_(Keys::folder_of_user()), writer_(store, keys_) {}

  /// One object for each session that has changed: `session`, and `last_commit`, `chunks`, `bytes` that were
  /// brought, or `error`. A session that fails leaves the others alone; it is tried again in the next round.
  Result<json> round() {
    const auto sessions = call_gateway(options_.show.gateway, "GET", "/api/banyan/sessions");
    if (!sessions) return tl::unexpected(sessions.error());
    json lines = json::array();
    for (const json& one : *sessions) {
      if (StopSignals::came()) break;
      const auto line = one_session(one);
      if (!line) {
        lines.push_back({{"session", text_of(one, "id")}, {"error", line.error().message}});
      } else if (!line->is_null()) {
        lines.push_back(*line);
      }
    }
    return lines;
  }

 private:
  /// Null where nothing has changed.
  Result<json> one_session(const json& one) {
    const std::string id = text_of(one, "id");
    const std::string state = text_of(one, "state");
    if (state == "dead") return json();
    if (!saved_.contains(id)) {
      const auto newest = writer_.newest(id);
      if (!newest) return tl::unexpected(newest.error());
      if (newest->is_object()) saved_[id] = stamp_of(*newest);
    }
    const auto known = [&](const Stamp& stamp) {
      const auto saved = saved_.find(id);
      return stamp.first == 0 || (saved != saved_.end() && saved->second == stamp);
    };
    // Hosts report what has just happened a moment later; who wants one backup wants that too.
    if (known(stamp_of(one)) && (!options_.once || state == "suspended")) return json();
    const auto exported = fetch_session(options_.show.gateway, id, options_.values, 1);
    if (!exported) return tl::unexpected(exported.error());
    const Stamp reached{exported->session.last().value, exported->session.amended()};
    if (known(reached)) return json();
    json manifest = manifest_of(exported->session);
    if (one.contains("path")) manifest["path"] = one["path"];
    const auto lacking = writer_.lacking(id, exported->chunks);
    if (!lacking) return tl::unexpected(lacking.error());
    std::optional<ProgressBar> bar;
    if (options_.once) bar.emplace("backing up " + id.substr(0, 8), bytes_of(*lacking));
    const auto fetch = [&](const FileChunk& chunk) {
      if (bar) bar->advance(chunk.size);
      return fetch_chunk(options_.show.gateway, id, chunk);
    };
    const auto done = writer_.save(id, std::move(manifest), exported->state, exported->chunks, fetch);
    if (!done) return tl::unexpected(done.error());
    saved_[id] = reached;
    return json{
        {"session", id}, {"last_commit", reached.first}, {"chunks", done->chunks}, {"bytes", done->bytes}};
  }

  const BackupOptions& options_;
  Keys keys_;
  BackupWriter writer_;
  std::map<std::string, Stamp> saved_;
};

int back_up_once(const BackupOptions& options, Backups& backups) {
  const auto lines = backups.round();
  if (!lines) return complain(lines.error());
  std::vector<std::vector<Cell>> rows;
  std::string first_error;
  for (const json& line : *lines) {
    const std::string error = line.value("error", "");
    if (first_error.empty()) first_error = error;
    rows.push_back({{text_of(line, "session")},
                    {error.empty() ? text_of(line, "last_commit") : "-"},
                    {error.empty() ? bytes_text(number_of(line, "bytes")) : "-"},
                    error.empty() ? Cell{"backed up", Colour::kGreen} : Cell{error, Colour::kRed}});
  }
  const std::string text =
      rows.empty() ? "nothing has changed since the last backup\n"
                   : render({{"SESSION"}, {"COMMITS", Align::kRight}, {"NEW", Align::kRight}, {"STATE"}},
                            rows, stdout_wants_colour());
  print_answer(options.show, *lines, text);
  return first_error.empty() ? kDone : kFailed;
}

/// Says what it does in log lines, and of what goes wrong only what is new.
int keep_backing_up(const BackupOptions& options, Backups& backups) {
  daemons::start_log("backup");
  spdlog::info("sessions are backed up every {} s to {}", options.every_s, place_of(options.store));
  std::map<std::string, std::string> troubles;
  while (!StopSignals::came()) {
    const auto begun = std::chrono::steady_clock::now();
    std::map<std::string, std::string> now;
    const auto lines = backups.round();
    if (!lines) {
      now["the gateway"] = lines.error().message;
    } else {
      for (const json& line : *lines) {
        const std::string session = text_of(line, "session");
        if (line.contains("error")) {
          now["session " + session] = text_of(line, "error");
        } else {
          spdlog::info("session {}: commit {}, {} new bytes", session, number_of(line, "last_commit"),
                       number_of(line, "bytes"));
        }
      }
    }
    for (const auto& [what, why] : now)
      if (troubles[what] != why) spdlog::warn("{} waits for its backup: {}", what, why);
    troubles = std::move(now);
    const double pause_s = lines ? options.every_s : std::min(options.every_s, kGatewayAgain_s);
    const auto next = begun + std::chrono::duration<double>(pause_s);
    while (!StopSignals::came() && std::chrono::steady_clock::now() < next)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  spdlog::info("stopped");
  return kDone;
}

// ---- backups

int show_backups(const BackupOptions& options, runtime::BlockingStore& store) {
  const auto sessions = sessions_backed_up(store);
  if (!sessions) return complain_of_store(sessions.error());
  if (!options.remove.empty()) {
    if (!std::ranges::binary_search(*sessions, options.remove))
      return complain({ErrorKind::kNotFound, "there is no backup of session " + options.remove});
    const auto done = remove_backup(store, options.remove);
    return done ? kDone : complain_of_store(done.error());
  }
  const Keys keys(Keys::folder_of_user());
  json list = json::array();
  std::vector<std::vector<Cell>> rows;
  for (const std::string& session : *sessions) {
    const auto backup = SessionBackup::open(store, session);
    if (!backup && backup.error().kind == ErrorKind::kUnavailable) return complain_of_store(backup.error());
    json shown = backup ? backup->manifest() : json{{"error", backup.error().message}};
    shown["session"] = session;
    if (backup) {
      const auto signer = signer_of(keys, backup->public_key(), "");
      shown["signer"] = signer ? json(*signer) : json();
      shown["bytes"] = backup->state().size() + bytes_of(backup->chunks());
    }
    const std::size_t variables = shown.value("variables", json::array()).size();
    rows.push_back({{session},
                    {plain(shown, "path")},
                    {plain(shown, "cells")},
                    {backup ? std::to_string(variables) : "-"},
                    {backup ? bytes_text(number_of(shown, "bytes")) : "-"},
                    {plain(shown, "at")},
                    backup ? Cell{plain(shown, "signer")} : Cell{backup.error().message, Colour::kRed}});
    list.push_back(std::move(shown));
  }
  return print_answer(options.show, list,
                      rows.empty() ? "no backups there\n"
                                   : render({{"SESSION"},
                                             {"NOTEBOOK"},
                                             {"CELLS", Align::kRight},
                                             {"VALUES", Align::kRight},
                                             {"BYTES", Align::kRight},
                                             {"AT"},
                                             {"SIGNED BY"}},
                                            rows, stdout_wants_colour()));
}

// ---- restore

/// The state without the bytes of values that need one of these chunks: their cells make them again.
std::string without(const std::string& state, const std::set<Digest>& damaged) {
  const auto session = session::Session::restore(Blob(state));
  if (damaged.empty() || !session) return state;  // what is no state is refused where it arrives
  std::set<session::CoVariableId> whole;
  for (const auto& [commit, node] : session->tree().nodes()) {
    for (const auto& [name, version] : node.change.bound) {
      const session::CoVariable& value = session->co_variable(version);
      const auto lost = [&](const session::Chunk& block) { return damaged.contains(block.digest); };
      if (value.kept && std::ranges::none_of(value.blocks, lost)) whole.insert(version);
    }
  }
  return std::string(session->snapshot_with(whole).view());
}

/// Prints what it is. What was made of it; null where it was refused, with the reason on stderr.
Result<json> restore_one(const BackupOptions& options, runtime::BlockingStore& store, const std::string& id) {
  const auto backup = SessionBackup::open(store, id);
  if (!backup) return tl::unexpected(backup.error());
  const Keys keys(Keys::folder_of_user());
  const auto signer = signer_of(keys, backup->public_key(), options.trust);
  if (!signer && !options.unsigned_too)
    return tl::unexpected(not_taken("the backup of session " + id, signer.error()));
  std::set<Digest> damaged;
  ProgressBar bar("restoring " + id.substr(0, 8), bytes_of(backup->chunks()));
  const auto bring = [&](const BringChunk& take) -> Result<Done> {
    for (const FileChunk& chunk : backup->chunks()) {
      auto bytes = backup->chunk(store, chunk);
      bar.advance(chunk.size);
      const bool gone =
          !bytes && (bytes.error().kind == ErrorKind::kCorrupt || bytes.error().kind == ErrorKind::kNotFound);
      if (gone) {
        damaged.insert(chunk.digest);
        continue;
      }
      if (!bytes) return tl::unexpected(bytes.error());
      if (auto taken = take(chunk.digest, std::move(*bytes)); !taken) return taken;
    }
    return Done{};
  };
  const auto founded = found_session(options.show.gateway, text_of(backup->manifest(), "kernel"), bring,
                                     [&] { return without(backup->state(), damaged); });
  if (!founded) return tl::unexpected(founded.error());
  json shown = backup->manifest();
  if (const auto session = session::Session::restore(Blob(without(backup->state(), damaged))))
    shown["variables"] = manifest_of(*session)["variables"];
  shown["key"] = hex_of(backup->public_key());
  shown["signer"] = signer ? json(*signer) : json();
  shown["damaged_chunks"] = damaged.size();
  shown["id"] = *founded;
  if (!options.show.json) {
    std::fputs((contents_text(shown) + signature_text(backup->public_key(), signer)).c_str(), stdout);
    if (!damaged.empty())
      std::printf("%zu of its chunks are damaged or missing in the store: what needs them is made again\n",
                  damaged.size());
    std::printf("restored as session %s; its notebook: banyan document %s -o notebook.ipynb\n",
                founded->c_str(), founded->substr(0, 8).c_str());
  }
  return shown;
}

int restore(const BackupOptions& options, runtime::BlockingStore& store) {
  const auto all = sessions_backed_up(store);
  if (!all) return complain_of_store(all.error());
  std::vector<std::string> chosen;
  for (const std::string& one : *all)
    if (one.starts_with(options.session)) chosen.push_back(one);
  if (chosen.empty() || (chosen.size() > 1 && !options.session.empty()))
    return complain(
        {ErrorKind::kNotFound, (chosen.empty() ? "no backup there is of a session that begins with '"
                                               : "backups of several sessions begin with '") +
                                   options.session + "'; `banyan backups` lists them"});
  json list = json::array();
  int status = kDone;
  for (const std::string& id : chosen) {
    const auto restored = restore_one(options, store, id);
    if (restored) {
      list.push_back(*restored);
    } else {
      status = complain(restored.error());
    }
  }
  if (options.show.json && !list.empty()) std::printf("%s\n", list.dump(2).c_str());
  return status;
}

}  // namespace

int back_up(const BackupOptions& options) {
  const auto store = runtime::blocking_store_at(options.store);
  if (!store) {
    complain(store.error());
    return kUsage;
  }
  if (options.verb == "backups") return show_backups(options, **store);
  if (options.verb == "restore") return restore(options, **store);
  const StopSignals signals;
  Backups backups(options, **store);
  return options.once ? back_up_once(options, backups) : keep_backing_up(options, backups);
}

}  // namespace banyan::cli
