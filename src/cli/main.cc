// The program `banyan`: finds the command and hands over.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "cli/commands.h"
#include "cli/fleet/plan_fleet.h"
#include "daemons/gateway_daemon.h"
#include "daemons/host_daemon.h"
#include "runtime/kernel_shim/kernel_main.h"

namespace {

using banyan::cli::Exit;

/// Loads a daemon's settings and runs it.
template <class Load, class Run>
int serve(const std::string& config, Load load, Run run) {
  const auto settings = load(config);
  const auto done =
      settings ? run(*settings) : banyan::Result<banyan::Done>(tl::unexpected(settings.error()));
  if (done) return Exit::kDone;
  std::fprintf(stderr, "banyan: %s\n", done.error().message.c_str());
  return settings ? Exit::kFailed : Exit::kUsage;
}

/// Goes on as the simulator, a program of its own that lies beside this one where it is installed and in a
/// neighbouring folder where it was built. Returns only when it is in neither place.
int become_simulator(char** argv) {
  std::error_code unreadable;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", unreadable).parent_path();
  for (const char* place : {"banyan_sim", "../sim/banyan_sim"}) execv((folder / place).c_str(), argv);
  std::fprintf(stderr,
               "banyan: the simulator, %s, is not there; in a checkout, `./dev sim` builds and runs it\n",
               (folder / "banyan_sim").c_str());
  return Exit::kFailed;
}

void add_gateway_options(CLI::App& app, banyan::runtime::AddressOptions& address, std::string& dir) {
  app.add_option("--url", address.url, "the gateway, http://host:port (else $BANYAN_URL, else --dir)");
  app.add_option("--token", address.token, "the gateway's token (else $BANYAN_TOKEN)");
  app.add_option("--dir", dir, "the folder of `banyan up`");
}

/// The commands that ask a session's history: log, show, diff…
void add_history_commands(CLI::App& app, banyan::cli::HistoryOptions& options, std::string& dir) {
  const auto add = [&](const char* verb, const char* what) {
    auto* command = app.add_subcommand(verb, what);
    command->add_option("session", options.session, "the session's id, or the beginning of it")->required();
    add_gateway_options(*command, options.show.gateway, dir);
    command->add_flag("--json", options.show.json, "print JSON");
    command->callback([&options, verb] { options.verb = verb; });
    return command;
  };
  const char* const commit = "a branch, a tag, an id, HEAD~2, ROOT";
  auto* log = add("log", "the commits of a session, newest first");
  log->add_option("commit", options.at, "show only the commits that led to this one");
  log->add_option("-n,--number", options.limit, "show at most so many commits")->check(CLI::PositiveNumber);
  add("show", "one commit and its variables")->add_option("commit", options.at, commit);
  auto* diff = add("diff", "which variables differ between two commits");
  diff->add_option("from", options.from, commit);
  diff->add_option("to", options.to, commit);
  add("blame", "which cells changed a variable")
      ->add_option("name", options.name, "the variable")
      ->required();
  auto* undo = add("undo", "undo the last cells that changed a variable");
  undo->add_option("count", options.count)->check(CLI::PositiveNumber);
  auto* redo = add("redo", "take an undo back");
  redo->add_option("count", options.count)->check(CLI::PositiveNumber);
  auto* checkout = add("checkout", "make the variables those of a commit");
  checkout->add_option("commit", options.at, commit)->required();
  for (auto* travel : {undo, redo, checkout}) {
    travel->add_flag("--repeat", options.repeat,
                     "run every cell again that a variable needs, even if it acts outside of the session");
    travel->add_flag("--force", options.force,
                     "go on even if temporary files or folders of variables are removed from the disk");
  }
  for (const char* what : {"branch", "tag"}) {
    auto* command = add(what, std::string(what) == "tag" ? "list, make or delete tags"
                                                         : "list, make, rename or delete branches");
    command->add_option("name", options.name, "the name of a new one");
    command->add_option("commit", options.at, commit);
    command->add_option("-d,--delete", options.drop, "delete this one");
    if (std::string(what) == "branch")
      command->add_option("-m,--move", options.rename, "rename the current branch");
  }
  add("space", "the space that the versions of each variable take");
  auto* document = add("document", "write the cells up to a commit as a notebook");
  document->add_option("commit", options.at, commit);
  document->add_option("-o,--output", options.output, "a file to write, such as notebook.ipynb");
  auto* gc = add("gc", "forget commits that no branch, tag or redo leads to");
  gc->add_option("--keep", options.keep,
                 "forget also all other commits but the newest N and those with a name")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  auto* describe = add("describe", "give a commit a message");
  describe->add_option("message", options.message)->required();
  describe->add_option("commit", options.at, commit);
}

/// The commands migrate, suspend, resume, export and import.
void add_moving_commands(CLI::App& app, banyan::cli::MovingOptions& options, std::string& dir) {
  const auto add = [&](const char* verb, const char* what, bool of_session = true) {
    auto* command = app.add_subcommand(verb, what);
    if (of_session)
      command->add_option("session", options.session, "the session's id, or the beginning of it")->required();
    add_gateway_options(*command, options.show.gateway, dir);
    command->add_flag("--json", options.show.json, "print JSON");
    command->callback([&options, verb] { options.verb = verb; });
    return command;
  };
  auto* migrate = add("migrate", "move a session to another host; its clients stay connected");
  migrate->add_option("host", options.host, "`banyan hosts` lists them")->required();
  auto* suspend = add("suspend", "end a session's processes; it goes on where it was when it is next used");
  for (auto* command : {migrate, suspend})
    command->add_flag("--force", options.force, "go on even if variables are lost");
  add("resume", "bring a suspended session's variables back now");
  auto* leave = add("export", "write a session into a file");
  leave->add_option("file", options.file, "such as work.banyan")->required();
  leave
      ->add_option(
          "--values", options.values,
          "head: what the variables are now; least: of these, what takes longer to make again than to "
          "bring; all: of every commit")
      ->check(CLI::IsMember({"head", "least", "all"}))
      ->capture_default_str();
  auto* enter = add("import", "make a new session from such a file", false);
  enter->add_option("file", options.file)->required();
  for (auto* command : {leave, enter})
    command->add_option(
        "--store", options.store,
        "a data store that the file is in: file:///folder, redis://host:port, s3://bucket/prefix");
  enter->add_flag("--show", options.only_show, "only show the contents of the file");
  enter->add_option("--kernel", options.kernel, "the new session's kernel, if not that of the exported one")
      ->type_name("NAME");
  enter->add_flag("--unsigned", options.unsigned_too, "accept it although nobody you trust has signed it");
  enter
      ->add_option("--trust", options.trust,
                   "from now on, accept files of the signer of this one, under this name")
      ->type_name("NAME");
}

/// The commands backup, backups and restore.
void add_backup_commands(CLI::App& app, banyan::cli::BackupOptions& options, std::string& dir) {
  const auto add = [&](const char* verb, const char* what) {
    auto* command = app.add_subcommand(verb, what);
    command
        ->add_option("--store", options.store,
                     "the data store: file:///folder, redis://host:port, s3://bucket/prefix")
        ->envname(banyan::cli::kStoreVariable)
        ->required();
    command->add_flag("--json", options.show.json, "print JSON");
    command->callback([&options, verb] { options.verb = verb; });
    return command;
  };
  auto* backup = add("backup", "keep backups of all sessions in a data store, until it is stopped");
  add_gateway_options(*backup, options.show.gateway, dir);
  backup->add_option("--every", options.every_s, "look for changes each time after so many seconds")
      ->check(CLI::Range(0.1, 86400.0))
      ->capture_default_str();
  auto* once = backup->add_flag("--once", options.once, "back up what has changed, and end");
  backup->get_option("--json")->needs(once);
  backup
      ->add_option("--values", options.values,
                   "all: of every commit, so that a restored session can be undone too; head: what the "
                   "variables are now")
      ->check(CLI::IsMember({"all", "head"}))
      ->capture_default_str();
  auto* backups = add("backups", "list the sessions that a data store has");
  backups->add_option("--remove", options.remove, "remove this session's backup")->type_name("SESSION");
  auto* restore = add("restore", "make a new session from a backup");
  add_gateway_options(*restore, options.show.gateway, dir);
  auto* session = restore->add_option(
      "session", options.session,
      "the session's id, or its beginning; without it, all sessions that the gateway does not have");
  restore->add_flag("--unsigned", options.unsigned_too, "accept it although nobody you trust has signed it");
  restore
      ->add_option("--trust", options.trust,
                   "from now on, accept files of the signer of this one, under this name")
      ->needs(session)
      ->type_name("NAME");
}

/// The command `plan move`.
CLI::App* add_plan_move(CLI::App& plan, banyan::cli::PlanMoveOptions& options) {
  auto* move =
      plan.add_subcommand("move", "show which values of a session to transfer and which cells to run again");
  move->add_option("file", options.file, "a file of `banyan export`")->required();
  move->add_option("--megabits", options.megabits, "bandwidths in megabits per second")
      ->delimiter(',')
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  move->add_option("--store", options.store, "also show how fast transfers with this data store were");
  move->add_flag("--json", options.json, "print JSON");
  return move;
}

/// The commands `hosts add`, `hosts drain` and `hosts remove`.
void add_host_commands(CLI::App& hosts, banyan::cli::HostsOptions& options) {
  hosts.require_subcommand(0, 1);
  const auto add = [&](const char* verb, const char* what) {
    auto* command = hosts.add_subcommand(verb, what);
    command->fallthrough();  // --json, --url and the like may follow
    command->add_option("host", options.host, "the host's name")->required();
    command->callback([&options, verb] { options.verb = verb; });
    return command;
  };
  add("add", "take a host back that is drained or was removed; a new one registers itself");
  auto* drain = add("drain", "move what a host holds to other hosts, and give it nothing new");
  drain->add_flag("--force", options.force, "also where a session loses a variable by that");
  drain->add_flag("--no-wait", options.no_wait, "do not wait until the host holds nothing any more");
  add("remove", "remove a host that holds nothing any more")
      ->add_flag("--force", options.force, "also one that holds something: that counts as lost");
}

/// The command `plan fleet`.
CLI::App* add_plan_fleet(CLI::App& plan, banyan::cli::PlanFleetOptions& options) {
  auto* fleet = plan.add_subcommand("fleet", "find the cheapest instances for a list of tasks");
  fleet->add_option("tasks", options.tasks, "CSV: id,gpu,cpu,ram_gib, and more: src/cli/fleet/README.md")
      ->required();
  fleet->add_option("--catalog", options.catalog, "CSV: type,family,gpu,cpu,ram_gib,usd_h")->required();
  fleet->add_option("--current", options.current,
                    "the present fleet, CSV: instance,type,task; the plan says what to change");
  fleet->add_option("--policy", options.policy, "improved, eva, full, partial, no_packing, exact…");
  fleet
      ->add_option("--throughput", options.throughput,
                   "a task's throughput beside one other task; 1: neighbours do not disturb")
      ->check(CLI::Range(0.01, 1.0))
      ->capture_default_str();
  fleet->add_flag("--json", options.json, "print JSON");
  return fleet;
}

}  // namespace

int main(int argc, char** argv) {
  // The simulator parses its own options.
  if (argc > 1 && std::strcmp(argv[1], "sim") == 0) return become_simulator(argv + 1);

  CLI::App app{"Banyan: Jupyter sessions that survive their hosts", "banyan"};
  app.require_subcommand(1);
  app.add_subcommand("sim", "run seeded fault schedules; see banyan sim --help");

  std::string config;
  auto* gateway = app.add_subcommand("gateway", "run the gateway");
  gateway->add_option("--config", config, "the daemon's configuration file")->required();
  auto* host = app.add_subcommand("host", "run a host agent");
  host->add_option("--config", config, "the daemon's configuration file")->required();

  banyan::cli::UpOptions up;
  auto* up_command = app.add_subcommand("up", "run a gateway and host agents on this machine");
  up_command->add_option("--dir", up.directory, "the folder of configuration, data and logs")
      ->capture_default_str();
  up_command->add_option("--hosts", up.hosts, "the number of host agents")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  up_command->add_option("--gateway-port", up.gateway_port, "the gateway's port; 0: any free one")
      ->check(CLI::Range(0, 65535));
  up_command->add_option("--token", up.token,
                         "the token that clients must present (else $BANYAN_TOKEN, else random)");
  up_command->add_option("--python", up.python, "the interpreter of the workers");
  up_command->add_option("--python-path", up.python_path,
                         "the folder in which that interpreter finds the banyan package");
  up_command->add_option("--logos", up.logos, "the folder of the kernel's logos")
      ->check(CLI::ExistingDirectory);
  up_command->add_option("--preload", up.preload, "modules that every worker has imported when it starts")
      ->delimiter(',');
  up_command->add_option("--sandbox", up.sandbox)
      ->check(CLI::IsMember({"auto", "none", "bubblewrap"}))
      ->capture_default_str();
  up_command
      ->add_option("--worker-memory", up.worker_memory_bytes, "the memory that a worker may use, in bytes")
      ->transform(CLI::AsSizeValue(false));
  up_command
      ->add_option("--fake-gpus", up.fake_gpus,
                   "files that stand for GPUs, so many on each host: to see what cells that need some do")
      ->check(CLI::Range(1, 64))
      ->type_name("N");
  up_command->add_option("--replicas", up.replicas, "the number of replicas of each session")
      ->check(CLI::Range(1, 9))
      ->capture_default_str();
  up_command->add_option("--backup", up.backup, "the URL of a data store that keeps backups of all sessions");
  up_command->add_flag("--respawn", up.respawn, "start a daemon again when it has ended");
  up_command->add_flag("--json", up.json, "print one JSON object when the platform serves");

  banyan::cli::ShowOptions show;
  std::string dir;
  const auto add_show = [&](const char* name, const char* what) {
    auto* command = app.add_subcommand(name, what);
    add_gateway_options(*command, show.gateway, dir);
    command->add_flag("--json", show.json, "print JSON");
    return command;
  };
  auto* status = add_show("status", "the platform at a glance");
  auto* sessions = add_show("sessions", "the sessions, their executors and replicas");
  auto* gpus = add_show("gpus", "the GPUs of all hosts, and which sessions' cells have them");
  auto* queue = add_show("queue", "the cells that wait for GPUs, and how long that may take");
  auto* top = app.add_subcommand("top", "hosts, GPUs and cells, shown anew each second");
  add_gateway_options(*top, show.gateway, dir);
  auto* hosts = add_show("hosts", "the hosts and what they hold; or add, drain or remove one");
  banyan::cli::HostsOptions fleet;
  add_host_commands(*hosts, fleet);

  banyan::cli::HistoryOptions history;
  add_history_commands(app, history, dir);

  banyan::cli::MovingOptions moving;
  add_moving_commands(app, moving, dir);

  banyan::cli::BackupOptions backup;
  add_backup_commands(app, backup, dir);

  banyan::cli::LogsOptions log_options;
  auto* logs = app.add_subcommand("logs", "show the daemons' logs");
  logs->add_option("name", log_options.name, "a daemon: gateway, h1, h2…");
  logs->add_option("--dir", log_options.directory, "the folder of `banyan up`")->capture_default_str();
  logs->add_option("-n,--lines", log_options.lines, "show at most so many of the last lines")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  logs->add_flag("-f,--follow", log_options.follow, "go on showing new lines");
  auto* openapi = app.add_subcommand("openapi", "print what the REST API offers, as an OpenAPI document");

  banyan::cli::PlanFleetOptions plan;
  banyan::cli::PlanMoveOptions move;
  auto* plans = app.add_subcommand("plan", "make plans, which change nothing by themselves");
  plans->require_subcommand(1);
  auto* plan_fleet = add_plan_fleet(*plans, plan);
  auto* plan_move = add_plan_move(*plans, move);

  banyan::runtime::KernelOptions kernel;
  auto* kernel_command =
      app.add_subcommand("kernel", "serve as a Jupyter kernel: this is the command of a kernelspec");
  kernel_command->add_option("-f", kernel.connection_file, "Jupyter's connection file")->required();
  kernel_command->add_option("--platform", kernel.gateway.platform, "the platform.json of `banyan up`");
  kernel_command->add_option("--url", kernel.gateway.url, "the gateway's URL");
  kernel_command->add_option("--token", kernel.gateway.token, "the gateway's token");
  kernel_command->add_option("--kernel", kernel.kernel_name, "the name of the gateway's kernelspec");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? Exit::kDone : Exit::kUsage;
  }
  if (!dir.empty())
    show.gateway.platform = history.show.gateway.platform = moving.show.gateway.platform =
        backup.show.gateway.platform = dir + "/platform.json";
  if (gateway->parsed())
    return serve(config, banyan::daemons::load_gateway_settings, banyan::daemons::run_gateway);
  if (host->parsed()) return serve(config, banyan::daemons::load_host_settings, banyan::daemons::run_host);
  if (up_command->parsed()) return banyan::cli::up(up);
  if (status->parsed()) return banyan::cli::status(show);
  if (sessions->parsed()) return banyan::cli::sessions(show);
  if (!fleet.verb.empty()) return banyan::cli::change_hosts(show, fleet);
  if (hosts->parsed()) return banyan::cli::hosts(show);
  if (gpus->parsed()) return banyan::cli::gpus(show);
  if (queue->parsed()) return banyan::cli::queue(show);
  if (top->parsed()) return banyan::cli::top(show);
  if (!history.verb.empty()) return banyan::cli::history(history);
  if (!moving.verb.empty()) return banyan::cli::move_session(moving);
  if (!backup.verb.empty()) return banyan::cli::back_up(backup);
  if (plan_move->parsed()) return banyan::cli::plan_move(move);
  if (plan_fleet->parsed()) return banyan::cli::plan_fleet(plan);
  if (logs->parsed()) return banyan::cli::logs(log_options);
  if (openapi->parsed()) return banyan::cli::openapi();
  if (kernel_command->parsed()) return banyan::runtime::kernel_main(kernel);
  return Exit::kUsage;
}
