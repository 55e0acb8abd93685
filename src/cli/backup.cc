// `banyan backup`, `backups`, `restore`.

#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <thread>
#include <tuple>
#include <utility>

#include "base/hex.h"
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

constexpr double kGatewayAgain_s = 1;  // a gateway that does not answer may be starting: ask again soon
constexpr int kRestoreTries = 3;       // a backup may replace what a restore reads: begin again so often
constexpr auto kReadWithin =
    std::chrono::seconds(60);  // hosts that read the store get a chunk within this time

/// An error of the store, with a kind that nobody takes for one of the gateway's.
Error of_store(Error error) {
  if (error.kind == ErrorKind::kUnavailable || error.kind == ErrorKind::kDenied) error.kind = ErrorKind::kIo;
  return error;
}

// ---- backup

/// How many chunks a session's hosts have yet to read from a store, and how many are nowhere any more.
struct Reading {
  std::uint64_t lacking = 0;  ///< how many are missing until a majority of the hosts has all
  std::uint64_t lost = 0;
};

/// What a session's hosts have yet to read of that commit; nothing until a majority of them has reported it.
std::optional<Reading> reading_of(const api::Session& session, std::uint64_t commit) {
  std::vector<std::uint64_t> lacking;
  const std::size_t replicas = session.replicas.size();
  Reading reading;
  for (const api::Replica& replica : session.replicas) {
    if (replica.last_commit < commit || !replica.lacking.value) continue;
    lacking.push_back(*replica.lacking.value);
    reading.lost = std::max(reading.lost, replica.lost);
  }
  if (replicas == 0 || lacking.size() <= replicas / 2) return std::nullopt;
  std::ranges::sort(lacking);
  reading.lacking = lacking[replicas / 2];
  return reading;
}

/// How far a session's log is: its last commit, and how often actions were done.
using Stamp = std::pair<std::uint64_t, std::uint64_t>;

Stamp stamp_of(const api::Session& one) { return {one.last_commit, one.amended}; }
Stamp stamp_of(const json& manifest) {
  return {number_of(manifest, "last_commit"), number_of(manifest, "amended")};
}

/// Backs up what has changed, again and again.
class Backups {
 public:
  Backups(const BackupOptions& options, runtime::BlockingStore& store, const Keys& keys)
      : options_(options), store_(store), writer_(store, keys, StopSignals::came) {}

  /// Backs up each session that has changed, and returns an object for each: its `session`, and the
  /// `last_commit`, `chunks` and `bytes` that were brought with perhaps a `warning`, or an `error`. A session
  /// that fails does not disturb the others, and is tried again in the next round.
  Result<json> round() {
    const auto there = sessions_backed_up(store_);
    if (!there) return tl::unexpected(of_store(there.error()));
    const auto sessions = sessions_of(options_.show.gateway);
    if (!sessions) return tl::unexpected(sessions.error());
    json lines = json::array();
    for (const api::Session& one : *sessions) {
      if (StopSignals::came()) return fail(ErrorKind::kIo, "interrupted; the backups from before are there");
      const std::string& id = one.id;
      if (!std::ranges::binary_search(*there, id)) writer_.forget(id);
      const auto line = one_session(one);
      if (!line) {
        lines.push_back({{"session", id}, {"error", line.error().message}});
      } else if (!line->is_null()) {
        lines.push_back(*line);
      }
    }
    return lines;
  }

 private:
  /// Backs up a session. Null when nothing has changed.
  Result<json> one_session(const api::Session& one) {
    const std::string& id = one.id;
    if (one.state == "dead") return json();
    if (const auto reading = reading_of(one, 0); reading && reading->lacking > 0)
      return fail(ErrorKind::kUnavailable, "its hosts have yet to read " + std::to_string(reading->lacking) +
                                               " chunks of its values from a store: later");
    const auto newest = writer_.newest(id);
    if (!newest) return tl::unexpected(of_store(newest.error()));
    const auto known = [&](const Stamp& stamp) {
      return stamp.first == 0 || (newest->is_object() && stamp_of(*newest) == stamp &&
                                  newest->value("values", json()) == options_.values);
    };
    // Hosts report what has just happened a moment later. With --once there is no next round, so the session
    // is asked.
    if (known(stamp_of(one)) && (!options_.once || one.state == "suspended")) return json();
    auto exported = fetch_session(options_.show.gateway, id, options_.values, 1);
    if (!exported) return tl::unexpected(exported.error());
    const Stamp reached{exported->session.last().value, exported->session.amended()};
    if (known(reached)) return json();
    if (newest->is_object() && (stamp_of(*newest) > reached || text_of(*newest, "created") != one.created))
      return fail(
          ErrorKind::kInvalid,
          "the store has a backup of a newer state, or of another session with this id: it is kept. `banyan "
          "restore` makes a session of it, `banyan backups --remove " +
              id + "` gives it up");
    return bring(std::move(*exported), one);
  }

  Result<json> bring(ExportedSession exported, const api::Session& one) {
    std::set<Digest> lost;
    for (;;) {
      const std::size_t before = lost.size();
      std::optional<ProgressBar> bar;
      const auto lacking = [&](std::uint64_t bytes) {
        if (options_.once) bar.emplace("backing up " + exported.id.substr(0, 8), bytes);
      };
      const auto fetch = [&](const FileChunk& chunk) {
        auto bytes = fetch_chunk(options_.show.gateway, exported.id, chunk);
        if (!bytes && bytes.error().kind == ErrorKind::kNotFound) lost.insert(chunk.digest);
        if (bar) bar->advance(chunk.size);
        return bytes;
      };
      json manifest = manifest_of(exported.session);
      manifest["values"] = options_.values;
      if (!one.created.empty()) manifest["created"] = one.created;
      if (one.path) manifest["path"] = *one.path;
      const auto saved = writer_.save(manifest, exported.state, exported.chunks, fetch, lacking);
      if (saved) return line_of(exported, *saved, lost.size());
      if (lost.size() == before) return tl::unexpected(of_store(saved.error()));
      // A chunk that is still on its way to the hosts is not lost. A backup without it would stay until
      // something changes, so the session waits for the next round.
      const auto sessions = sessions_of(options_.show.gateway);
      const api::Session* const now = sessions ? find(*sessions, exported.id) : nullptr;
      const auto reading = now == nullptr ? std::nullopt : reading_of(*now, 1);
      if (!reading || reading->lacking > 0)
        return fail(ErrorKind::kUnavailable, "not all hosts have its values now: later");
      // No host has these chunks any more. Their values are left to their cells, so that the rest is backed
      // up.
      exported.state = state_without(exported.state, lost);
      auto session = session::Session::restore(Blob(exported.state));
      if (!session) return tl::unexpected(session.error());
      exported.session = std::move(*session);
      exported.chunks = chunks_of(exported.session);
    }
  }

  static json line_of(const ExportedSession& exported, const BackupWriter::Saved& saved, std::size_t lost) {
    json line{{"session", exported.id},
              {"last_commit", exported.session.last().value},
              {"chunks", saved.chunks},
              {"bytes", saved.bytes}};
    if (lost > 0)
      line["warning"] =
          std::to_string(lost) + " chunks of values are on no host any more: they are left to their cells";
    else if (saved.not_removed)
      line["warning"] = "what it does not need any more stays in the store: " + saved.not_removed->message;
    return line;
  }

  const BackupOptions& options_;
  runtime::BlockingStore& store_;
  BackupWriter writer_;
};

int back_up_once(const BackupOptions& options, Backups& backups) {
  const auto lines = backups.round();
  if (!lines) return complain(lines.error());
  std::vector<std::vector<Cell>> rows;
  bool failed = false;
  for (const json& line : *lines) {
    const std::string error = line.value("error", "");
    failed |= !error.empty();
    const std::string warning = line.value("warning", "");
    rows.push_back({{text_of(line, "session")},
                    {error.empty() ? text_of(line, "last_commit") : "-"},
                    {error.empty() ? bytes_text(number_of(line, "bytes")) : "-"},
                    !error.empty()     ? Cell{error, Colour::kRed}
                    : !warning.empty() ? Cell{warning, Colour::kYellow}
                                       : Cell{"backed up", Colour::kGreen}});
  }
  const std::string text =
      rows.empty() ? "nothing has changed since the last backup\n"
                   : render({{"SESSION"}, {"COMMITS", Align::kRight}, {"NEW", Align::kRight}, {"STATE"}},
                            rows, stdout_wants_colour());
  print_answer(options.show, *lines, text);
  return failed ? kFailed : kDone;
}

/// Backs up until it is interrupted. Log lines say what it does; a trouble that goes on is logged once.
int keep_backing_up(const BackupOptions& options, Backups& backups) {
  daemons::start_log("backup");
  spdlog::info("sessions are backed up every {} s to {}", options.every_s, place_of(options.store));
  std::map<std::string, std::string> troubles;
  while (!StopSignals::came()) {
    const auto begun = std::chrono::steady_clock::now();
    std::map<std::string, std::string> now;
    const auto lines = backups.round();
    if (!lines && !StopSignals::came()) now["all sessions"] = lines.error().message;
    for (const json& line : lines ? *lines : json::array()) {
      const std::string session = "session " + text_of(line, "session");
      if (line.contains("error")) {
        now[session] = text_of(line, "error");
        continue;
      }
      spdlog::info("{}: commit {}, {} new bytes", session, number_of(line, "last_commit"),
                   number_of(line, "bytes"));
      if (line.contains("warning")) spdlog::warn("{}: {}", session, text_of(line, "warning"));
    }
    for (const auto& [what, why] : now)
      if (troubles[what] != why) spdlog::warn("no backup of {}: {}", what, why);
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

int remove(const BackupOptions& options, runtime::BlockingStore& store) {
  const auto removed = remove_backup(store, options.remove);
  if (!removed) return complain(of_store(removed.error()));
  if (*removed) return kDone;
  return complain({ErrorKind::kNotFound,
                   "there is no backup of session " + options.remove + "; `banyan backups` lists them"});
}

int show_backups(const BackupOptions& options, runtime::BlockingStore& store) {
  const auto sessions = sessions_backed_up(store);
  if (!sessions) return complain(of_store(sessions.error()));
  const Keys keys(Keys::folder_of_user());
  json list = json::array();
  std::vector<std::vector<Cell>> rows;
  bool failed = false;
  for (const std::string& session : *sessions) {
    const auto backup = SessionBackup::open(store, session);
    if (!backup && backup.error().kind == ErrorKind::kUnavailable) return complain(of_store(backup.error()));
    failed |= !backup;
    json shown = backup ? backup->manifest() : json{{"error", backup.error().message}};
    shown["session"] = session;
    if (backup) {
      const auto signer = signer_of(keys, backup->public_key(), "");
      shown["signer"] = signer ? json(*signer) : json();
      shown["bytes"] = backup->state().size() + bytes_of(backup->chunks());
    }
    const std::size_t variables = shown.value("variables", json::array()).size();
    rows.push_back({{plain(shown, "session")},
                    {plain(shown, "path")},
                    {plain(shown, "cells")},
                    {backup ? std::to_string(variables) : "-"},
                    {backup ? bytes_text(number_of(shown, "bytes")) : "-"},
                    {plain(shown, "at")},
                    backup ? Cell{plain(shown, "signer")} : Cell{plain(shown, "error"), Colour::kRed}});
    list.push_back(std::move(shown));
  }
  print_answer(options.show, list,
               rows.empty() ? "no backups there\n"
                            : render({{"SESSION"},
                                      {"NOTEBOOK"},
                                      {"CELLS", Align::kRight},
                                      {"VALUES", Align::kRight},
                                      {"BYTES", Align::kRight},
                                      {"AT"},
                                      {"SIGNED BY"}},
                                     rows, stdout_wants_colour()));
  return failed ? kFailed : kDone;
}

// ---- restore

/// The session that was made of a backup, and the chunks that could not be had.
struct Founded {
  std::string id;
  std::set<Digest> lost;
  bool from_store = false;  ///< the hosts read the other chunks from the store
};

bool hosts_read(const BackupOptions& options) {
  const auto hosts = hosts_of(options.show.gateway);
  if (!hosts || hosts->empty()) return false;
  return std::ranges::all_of(*hosts,
                             [&](const api::Host& host) { return host.store == place_of(options.store); });
}

/// Founds a session whose hosts read the store themselves: only the state is brought, so that the first cell
/// need not wait for values that it does not use.
Result<Founded> found_there(const BackupOptions& options, runtime::BlockingStore& store,
                            const SessionBackup& backup) {
  auto lost = backup.missing(store);
  if (!lost) return tl::unexpected(of_store(lost.error()));
  auto id = found_session(
      options.show.gateway, text_of(backup.manifest(), "kernel"), [](const BringChunk&) { return Done{}; },
      [&] { return state_from(state_without(backup.state(), *lost), backup.elsewhere()); });
  if (!id) return tl::unexpected(id.error());
  return Founded{std::move(*id), std::move(*lost), true};
}

Result<Founded> found(const BackupOptions& options, runtime::BlockingStore& store,
                      const SessionBackup& backup) {
  // If the session itself still lives, its next backup may remove chunks that the hosts would still read.
  const auto sessions = sessions_of(options.show.gateway);
  const bool lives = !sessions || find(*sessions, text_of(backup.manifest(), "session")) != nullptr;
  if (!lives && hosts_read(options)) return found_there(options, store, backup);
  Founded made;
  ProgressBar bar("restoring " + text_of(backup.manifest(), "session").substr(0, 8),
                  bytes_of(backup.chunks()));
  const auto bring = [&](const BringChunk& take) -> Result<Done> {
    for (const FileChunk& chunk : backup.chunks()) {
      auto bytes = backup.chunk(store, chunk);
      bar.advance(chunk.size);
      const bool gone =
          !bytes && (bytes.error().kind == ErrorKind::kCorrupt || bytes.error().kind == ErrorKind::kNotFound);
      if (gone) {
        made.lost.insert(chunk.digest);
        continue;
      }
      if (!bytes) return tl::unexpected(of_store(bytes.error()));
      if (auto taken = take(chunk.digest, std::move(*bytes)); !taken) return taken;
    }
    return Done{};
  };
  auto id = found_session(options.show.gateway, text_of(backup.manifest(), "kernel"), bring,
                          [&] { return state_without(backup.state(), made.lost); });
  if (!id) return tl::unexpected(id.error());
  made.id = std::move(*id);
  return made;
}

/// Waits until a majority of the hosts has read its chunks from the store. The session can be used meanwhile.
Result<Done> wait_for_chunks(const BackupOptions& options, const json& restored) {
  const std::string id = text_of(restored, "id");
  const std::uint64_t all = number_of(restored, "chunks_to_read"),
                      bytes = number_of(restored, "bytes_to_read");
  ProgressBar bar("its hosts read its values", bytes);
  std::uint64_t left = all;
  std::string trouble = "none came for a minute: `banyan logs` says why";
  auto moved = std::chrono::steady_clock::now();
  for (;;) {
    const auto sessions = sessions_of(options.show.gateway);
    const api::Session* const session = sessions ? find(*sessions, id) : nullptr;
    if (sessions && session == nullptr)
      return fail(ErrorKind::kNotFound, "it was deleted before its hosts had read all of its values");
    const auto now =
        session == nullptr ? std::nullopt : reading_of(*session, number_of(restored, "last_commit"));
    if (now && now->lacking < left) {
      bar.advance((left - now->lacking) * bytes / all);
      left = now->lacking;
      moved = std::chrono::steady_clock::now();
    }
    if (now && now->lacking == 0 && now->lost > 0)
      return fail(ErrorKind::kCorrupt,
                  std::to_string(now->lost) + " of " + std::to_string(all) +
                      " chunks of its values are damaged or missing in the store: what needs "
                      "them is made again where its cell may run again");
    if (now && now->lacking == 0) return Done{};
    const std::string state = "it is there as " + id + ", and its hosts have yet to read " +
                              std::to_string(left) + " of " + std::to_string(all) + " chunks of its values; ";
    const std::string keep = ". Keep the backup: they go on";
    if (StopSignals::came()) return fail(ErrorKind::kIo, state + "interrupted" + keep);
    if (std::chrono::steady_clock::now() - moved > kReadWithin)
      return fail(ErrorKind::kIo, state + (sessions ? trouble : sessions.error().message) + keep);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

/// Restores a session and returns what was made; prints it, unless JSON is wanted. kDenied when the signer is
/// not trusted.
Result<json> restore_one(const BackupOptions& options, runtime::BlockingStore& store, const std::string& id) {
  const Keys keys(Keys::folder_of_user());
  for (int tries = 1;; ++tries) {
    const auto backup = SessionBackup::open(store, id);
    if (!backup) return tl::unexpected(of_store(backup.error()));
    const auto signer = signer_of(keys, backup->public_key(), options.trust);
    if (!signer && !options.unsigned_too)
      return tl::unexpected(not_taken("the backup of session " + id, signer.error()));
    const auto founded = found(options, store, *backup);
    if (!founded) return tl::unexpected(founded.error());
    // A backup that goes on may have removed what is missing: then the store has a newer one by now.
    const auto again =
        founded->lost.empty() ? Result<SessionBackup>(*backup) : SessionBackup::open(store, id);
    if (again && again->manifest() != backup->manifest() && tries < kRestoreTries) {
      (void)call_raw(options.show.gateway, {.method = "DELETE", .target = "/api/kernels/" + founded->id});
      continue;
    }
    json shown = backup->manifest();
    if (!founded->lost.empty()) {
      const auto session = session::Session::restore(Blob(state_without(backup->state(), founded->lost)));
      if (session) shown.update(manifest_of(*session));
    }
    shown["key"] = hex_text(backup->public_key());
    shown["signer"] = signer ? json(*signer) : json();
    shown["damaged_chunks"] = founded->lost.size();
    shown["id"] = founded->id;
    shown["from_store"] = founded->from_store;
    if (founded->from_store) {
      shown["chunks_to_read"] = backup->chunks().size() - founded->lost.size();
      shown["bytes_to_read"] = bytes_of(backup->chunks());
    }
    if (options.show.json) return shown;
    std::fputs((contents_text(shown) + signature_text(backup->public_key(), signer)).c_str(), stdout);
    if (!founded->lost.empty())
      std::printf("%zu of its chunks are damaged or missing in the store: what needs them is made again\n",
                  founded->lost.size());
    std::printf("restored as session %s; its notebook: banyan document %s -o notebook.ipynb\n",
                founded->id.c_str(), founded->id.substr(0, 8).c_str());
    std::fflush(stdout);
    return shown;
  }
}

/// The sessions to restore: the one whose id begins so; without a beginning, all that the gateway does not
/// have.
Result<std::vector<std::string>> chosen(const BackupOptions& options, runtime::BlockingStore& store) {
  auto all = sessions_backed_up(store);
  if (!all) return tl::unexpected(of_store(all.error()));
  if (options.session.empty()) {
    const auto sessions = sessions_of(options.show.gateway);
    if (!sessions) return tl::unexpected(sessions.error());
    for (const api::Session& one : *sessions)
      if (one.state != "dead") std::erase(*all, one.id);
    if (all->empty())
      return fail(ErrorKind::kNotFound, "no backup there that is not of a session that is here");
    return all;
  }
  std::erase_if(*all, [&](const std::string& id) { return !id.starts_with(options.session); });
  if (all->size() == 1) return all;
  return fail(ErrorKind::kNotFound, (all->empty() ? "no backup there is of a session that begins with '"
                                                  : "backups of several sessions begin with '") +
                                        options.session + "'; `banyan backups` lists them");
}

int restore(const BackupOptions& options, runtime::BlockingStore& store) {
  const auto sessions = chosen(options, store);
  if (!sessions) return complain(sessions.error());
  json list = json::array();
  int status = kDone;
  for (const std::string& id : *sessions) {
    const auto restored = restore_one(options, store, id);
    if (!restored) {
      status = complain({restored.error().kind, "session " + id + ": " + restored.error().message});
      if (StopSignals::came()) break;
      continue;
    }
    for (const json& value : (*restored)["variables"]) {
      if (text_of(value, "state") == "lost" && status == kDone)
        status =
            complain({ErrorKind::kCorrupt, "session " + id + " is restored without values that are lost"});
    }
    list.push_back(*restored);
  }
  for (const json& one : list) {
    if (number_of(one, "chunks_to_read") == 0) continue;
    if (const auto all = wait_for_chunks(options, one); !all)
      status =
          complain({all.error().kind, "session " + text_of(one, "session") + ": " + all.error().message});
  }
  if (options.show.json) std::printf("%s\n", list.dump(2).c_str());
  return status;
}

}  // namespace

Result<Done> check_store(const std::string& url) {
  const auto store = runtime::blocking_store_at(url);
  if (!store) return tl::unexpected(store.error());
  return Done{};
}

int back_up(const BackupOptions& options) {
  umask(077);  // the store may be a folder: its files are for this user only
  const auto store = runtime::blocking_store_at(options.store);
  if (!store) {
    complain(of_store(store.error()));
    return kUsage;
  }
  const StopSignals signals;
  if (options.verb == "restore") return restore(options, **store);
  if (options.verb == "backups")
    return options.remove.empty() ? show_backups(options, **store) : remove(options, **store);
  const Keys keys(Keys::folder_of_user());
  if (const auto key = keys.public_key(); !key) return complain(key.error());
  Backups backups(options, **store, keys);
  return options.once ? back_up_once(options, backups) : keep_backing_up(options, backups);
}

}  // namespace banyan::cli
