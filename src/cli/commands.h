// The operator's commands. Each returns the process's exit code.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/api/operator.h"
#include "runtime/kernel_shim/gateway_address.h"

namespace banyan::cli {

/// Exit codes: 0 done, 1 failed, 2 wrong usage (CLI11's own errors are mapped to it), 3 the gateway cannot be
/// reached.
enum Exit : int { kDone = 0, kFailed = 1, kUsage = 2, kUnreachable = 3 };

/// What `banyan up` may be told.
struct UpOptions {
  std::string directory = ".banyan";
  int hosts = 4;
  int gateway_port = -1;  ///< 0: any free port; -1: that of the last start, or else 8888
  std::string token;      ///< empty: BANYAN_TOKEN, or else that of the last start, or else a random one
  std::string python;     ///< the interpreter of the workers
  std::string python_path;
  std::string logos;  ///< the folder with the kernel's logos
  std::vector<std::string> preload;
  std::string sandbox = "auto";
  std::uint64_t worker_memory_bytes = 0;
  std::uint64_t fake_gpus = 0;  ///< for each host; 0: the hosts share those of the machine
  int replicas = 3;
  bool respawn = false;
  std::string backup;  ///< the URL of a data store for backups; empty for none
  bool json = false;
};

/// Starts a gateway and host agents on this machine and waits for their end.
int up(const UpOptions& options);

/// Which gateway to ask, and how to print.
struct ShowOptions {
  runtime::AddressOptions gateway;
  bool json = false;
};
/// Prints the answer as JSON where that is wanted, or else the text. Returns the exit code of success.
int print_answer(const ShowOptions& options, const nlohmann::json& answer, const std::string& text);
/// Prints figures of the platform.
int status(const ShowOptions& options);
/// Prints a line for each GPU.
int gpus(const ShowOptions& options);
/// Prints a line for each cell that waits for GPUs.
int queue(const ShowOptions& options);
/// When a cell that waits for GPUs runs, as far as anybody knows.
std::string runs_text(const api::QueuedCell& cell);
/// Shows hosts, GPUs and cells anew each second, until it is interrupted; once where stdout is no terminal.
int top(const ShowOptions& options);
/// Prints a line for each session.
int sessions(const ShowOptions& options);
/// Prints a line for each host.
int hosts(const ShowOptions& options);

/// What is done to the list of hosts.
struct HostsOptions {
  std::string verb;  ///< add, drain or remove; empty: nothing
  std::string host;
  bool force = false;    ///< drain: also where a variable is lost; remove: also where sessions have replicas
  bool no_wait = false;  ///< drain: do not wait for the end
};
/// Adds, drains or removes a host.
int change_hosts(const ShowOptions& show, const HostsOptions& options);

/// A question about a session's history (core/session/history.h).
struct HistoryOptions {
  ShowOptions show;
  std::string session;  ///< the session's id, or the beginning of it
  std::string verb;     ///< the question's `do`
  std::string name;
  std::string at;
  std::string from;
  std::string to;
  std::string drop;
  std::string rename;
  std::string message;
  std::uint64_t count = 0;  ///< 0 when it was not given
  std::uint64_t limit = 0;
  std::string output;   ///< the file to write; empty for standard output
  bool repeat = false;  ///< cells may run again, whatever they do outside of the session
  bool force = false;   ///< do it even if files are removed from the disk with their variables
  std::uint64_t keep = 0;
};
/// Asks the question and prints the answer as a table or as JSON.
int history(const HistoryOptions& options);

/// What is done to a session as a whole.
struct MovingOptions {
  ShowOptions show;
  std::string session;  ///< the session's id, or the beginning of it
  std::string verb;     ///< migrate, suspend, resume, export or import
  std::string host;
  std::string file;
  std::string
      store;  ///< the URL of the data store in which `file` is a key; empty: `file` is on this machine
  std::string values = "head";  ///< for an export: head, least or all
  bool force = false;
  bool unsigned_too = false;
  std::string trust;       ///< the name under which the file's signer is trusted from now on
  bool only_show = false;  ///< for an import: show the file's contents and import nothing
  std::string
      kernel;  ///< for an import: the new session's kernel; empty for the one that the exported session had
};
/// Migrates, suspends, resumes, exports or imports.
int move_session(const MovingOptions& options);
/// The place of exported files, for FileWays: this machine, or a data store without secrets.
std::string place_of(const std::string& store);
/// Suspends, resumes or migrates: the part of move_session() that needs no file.
int operate_session(const MovingOptions& options);

/// What `banyan backup`, `backups` and `restore` may be told.
struct BackupOptions {
  ShowOptions show;
  std::string verb;
  std::string store;           ///< the URL of the data store
  std::string session;         ///< restore: the session's id, or the beginning of it; empty for all
  std::string values = "all";  ///< backup: the values of every commit (all), or those of head
  double every_s = 10;         ///< backup: seconds between two rounds
  bool once = false;           ///< backup: one round only
  std::string remove;          ///< backups: the session whose backup is removed
  bool unsigned_too = false;   ///< restore: take a backup that nobody has signed
  std::string trust;
};
/// The environment variable with the store's URL, for when no option gives it.
inline constexpr const char* kStoreVariable = "BANYAN_BACKUP_STORE";
/// Whether this is the URL of a data store that can be opened. A store that is down can.
Result<Done> check_store(const std::string& url);
/// Keeps backups of all sessions in a data store, lists them, or makes sessions of them.
int back_up(const BackupOptions& options);

/// What `banyan plan move` may be told.
struct PlanMoveOptions {
  std::string file;                                       ///< a file that `banyan export` has written
  std::vector<double> megabits = {50, 100, 1000, 10000};  ///< speeds of the way, in Mb/s
  std::string store;  ///< the URL of a data store whose measured speed is shown too; empty: that of this
                      ///< machine's files
  bool json = false;
};
/// Prints what a move would cost at each speed of the way, beside the cost of loading everything and of
/// running everything again.
int plan_move(const PlanMoveOptions& options);

/// What `banyan logs` may be told.
struct LogsOptions {
  std::string directory = ".banyan";
  std::string name;  ///< "gateway", "h1", …; empty for all daemons
  int lines = 40;
  bool follow = false;
};
/// Prints the logs of `banyan up`'s daemons.
int logs(const LogsOptions& options);

/// Prints what REST offers, an OpenAPI document.
int openapi();

}  // namespace banyan::cli
