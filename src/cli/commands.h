// The operator's commands. Each returns the process's exit code.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/kernel_shim/gateway_address.h"

namespace banyan::cli {

/// 0 done, 1 failed, 2 wrong usage (CLI11's own errors are mapped to it), 3 the gateway cannot be reached.
enum Exit : int { kDone = 0, kFailed = 1, kUsage = 2, kUnreachable = 3 };

/// What `banyan up` may be told.
struct UpOptions {
  std::string directory = ".banyan";
  int hosts = 4;
  int gateway_port = -1;  ///< 0: any free one; -1: the one of the last start, else 8888
  std::string token;      ///< empty: BANYAN_TOKEN, the one of the last start, else a random one
  std::string python;     ///< interpreter of the workers
  std::string python_path;
  std::string logos;  ///< folder of the kernel's logos
  std::vector<std::string> preload;
  std::string sandbox = "auto";
  std::uint64_t worker_memory_bytes = 0;
  int replicas = 3;
  bool respawn = false;
  std::string backup;  ///< URL of a data store for backups; empty: none
  bool json = false;
};

/// Starts a gateway and host agents on this machine and waits for their end.
int up(const UpOptions& options);

/// Which gateway to ask, and how to print.
struct ShowOptions {
  runtime::AddressOptions gateway;
  bool json = false;
};
/// On stdout: the answer as JSON where that is wanted, else the text. The exit code of success.
int print_answer(const ShowOptions& options, const nlohmann::json& answer, const std::string& text);
/// Figures of the platform.
int status(const ShowOptions& options);
/// One line for each session.
int sessions(const ShowOptions& options);
/// One line for each host.
int hosts(const ShowOptions& options);

/// A question about a session's history (core/session/history.h).
struct HistoryOptions {
  ShowOptions show;
  std::string session;  ///< its id, or the beginning of it
  std::string verb;     ///< of the question
  std::string name;
  std::string at;
  std::string from;
  std::string to;
  std::string drop;
  std::string rename;
  std::string message;
  std::uint64_t count = 0;  ///< 0: not said
  std::uint64_t limit = 0;
  std::string output;   ///< a file; empty for standard output
  bool repeat = false;  ///< cells may run again, whatever they do outside of the session
  bool force = false;   ///< also where files go from the disk with the variables
  std::uint64_t keep = 0;
};
/// Asks it, prints the answer as a table or as JSON.
int history(const HistoryOptions& options);

/// What is done to a session as a whole.
struct MovingOptions {
  ShowOptions show;
  std::string session;  ///< its id, or the beginning of it
  std::string verb;     ///< migrate, suspend, resume, export, import
  std::string host;
  std::string file;
  std::string store;            ///< URL of the data store that `file` is a key of; empty: of this machine
  std::string values = "head";  ///< of an export: head, least, all
  bool force = false;
  bool unsigned_too = false;
  std::string trust;       ///< the name of whoever has signed the file
  bool only_show = false;  ///< of an import
  std::string kernel;      ///< of an import: of the new session; empty: as the exported one had
};
/// Migrates, suspends, resumes, exports or imports.
int move_session(const MovingOptions& options);
/// What exported files are told apart by, for FileWays: this machine, or a data store; without secrets.
std::string place_of(const std::string& store);
/// Of these, suspend, resume and migrate.
int operate_session(const MovingOptions& options);

/// What `banyan backup`, `backups` and `restore` may be told.
struct BackupOptions {
  ShowOptions show;
  std::string verb;
  std::string store;           ///< its URL
  std::string session;         ///< of restore: its id, or the beginning of it; empty: all
  std::string values = "all";  ///< of backup: of every commit, or those of head
  double every_s = 10;         ///< of backup
  bool once = false;           ///< of backup: and no more
  std::string remove;          ///< of backups: a session whose backup goes
  bool unsigned_too = false;   ///< of restore, as of an import
  std::string trust;
};
/// Where `banyan backup` looks for its store's URL when it is not told.
inline constexpr const char* kStoreVariable = "BANYAN_BACKUP_STORE";
/// Whether this is the URL of a data store that can be opened; one that is down can.
Result<Done> check_store(const std::string& url);
/// Keeps backups of all sessions in a data store, lists them, or makes sessions of them.
int back_up(const BackupOptions& options);

/// What `banyan plan move` may be told.
struct PlanMoveOptions {
  std::string file;                                       ///< of `banyan export`
  std::vector<double> megabits = {50, 100, 1000, 10000};  ///< per second
  std::string store;  ///< of a data store whose measured speed is shown too; empty: of this machine's files
  bool json = false;
};
/// Prints what a move would cost by how fast the way is, beside loading all and running all again.
int plan_move(const PlanMoveOptions& options);

/// What `banyan logs` may be told.
struct LogsOptions {
  std::string directory = ".banyan";
  std::string name;  ///< "gateway", "h1"…; empty: all
  int lines = 40;
  bool follow = false;
};
/// Prints the logs of `banyan up`'s daemons.
int logs(const LogsOptions& options);

}  // namespace banyan::cli
