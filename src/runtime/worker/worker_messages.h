// What the frames between host agent and worker say (docs/internals/worker.md).
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <variant>

#include "node/host_events.h"
#include "runtime/worker/frame.h"

namespace banyan::runtime {

/// The worker's kernel is bound and serves.
struct Hello {
  std::string python;  ///< the version of its interpreter
};

/// The frames of a worker.
using WorkerSays =
    std::variant<Hello, node::WorkerFenced, node::WorkerReport, node::WorkerApplied, node::WorkerAsks,
                 node::WorkerRepeated, node::WorkerReads, node::WorkerRemoves>;

/// Reads a frame of `worker`. Blobs stay views of the frame; chunks have size and bytes and no digest yet.
/// kCorrupt when the frame breaks the protocol.
Result<WorkerSays> parse_worker_frame(WorkerId worker, const Frame& frame);

/// The libraries, and parts of them, that the worker has imported since its last frame that had such a list.
/// The process may say anything, so only plausible names are taken, and not too many.
std::vector<std::string> imported_in(const Frame& frame);

/// Computes the digests of all chunks of which it has the bytes. It touches no shared state and may run on
/// another thread.
void add_digests(node::WorkerReport& report);
void add_digests(node::WorkerRepeated& repeated);
/// How many bytes add_digests() reads.
std::uint64_t bytes_of(const node::WorkerReport& report);
std::uint64_t bytes_of(const node::WorkerRepeated& repeated);

/// The frame `go`, or `refuse` with its reason.
Outgoing answer_frame(const node::AnswerFence& answer);
/// The frame `answer`, with its content or an error.
Outgoing answer_frame(const node::AnswerWorker& answer);
/// The frame `apply`.
Outgoing apply_frame(const node::ApplyToWorker& view);
/// The frame `reads`.
Outgoing reads_frame(const node::AskReads& question);
/// The frame `removes`.
Outgoing removes_frame(const node::AskRemovals& question);
/// The frame `repeat`, with the digests of what the cell made the first time.
Outgoing repeat_frame(const node::RepeatOnWorker& cell);

/// What a zygote needs to fork a worker, beside its two file descriptors.
struct SpawnRequest {
  WorkerId worker;
  SessionId session;
  std::filesystem::path connection_file;
  std::filesystem::path directory;
  std::map<std::string, std::string> env;
  std::filesystem::path log;
};
Outgoing spawn_frame(const SpawnRequest& request);
Outgoing kill_frame(WorkerId worker);
/// The frame that has a zygote import these modules; it is answered by ZygoteImported.
Outgoing import_frame(const std::vector<std::string>& modules);

/// How a process ended: by a signal, or with an exit status when `signal` is 0.
struct ExitStatus {
  int code = 0;
  int signal = 0;
};

/// The version of the protocol between host agent and workers. The package banyan of an interpreter must have
/// the same number (banyan.worker.channel.PROTOCOL). It grows when a new side could not talk to an old one.
constexpr std::uint64_t kWorkerProtocol = 1;

/// The zygote serves: it has imported what it was started with.
struct ZygoteReady {
  std::uint64_t protocol = 0;  ///< kWorkerProtocol of its package; 0 from a package that does not say
  std::string python;          ///< the version of the interpreter, "3.11.2"
  std::string package;         ///< the version of the package banyan
};
/// The zygote has done what import_frame() asked for.
struct ZygoteImported {
  struct File {
    std::string path;
    std::int64_t mtime_ns = 0;
  };
  std::vector<std::string> failed;  ///< the modules that it could not import
  std::vector<std::string> unfit;   ///< the libraries that no zygote may import
  std::vector<std::string> left;    ///< the modules for which there was no memory
  std::vector<File> files;  ///< the libraries' files: a later change of one shows that a library was replaced
};
/// A worker was forked.
struct Spawned {
  WorkerId worker;
  int pid = 0;
};
/// A worker ended.
struct Exited {
  WorkerId worker;
  ExitStatus status;
};
/// A worker could not be forked.
struct SpawnFailed {
  WorkerId worker;
  std::string reason;
};
/// The frames of a zygote.
using ZygoteSays = std::variant<ZygoteReady, ZygoteImported, Spawned, Exited, SpawnFailed>;
/// kCorrupt when the frame breaks the protocol.
Result<ZygoteSays> parse_zygote_frame(const Frame& frame);

}  // namespace banyan::runtime
