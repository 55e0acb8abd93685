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
  std::string python;  ///< its version
};

/// What a worker says.
using WorkerSays =
    std::variant<Hello, node::WorkerFenced, node::WorkerReport, node::WorkerApplied, node::WorkerAsks,
                 node::WorkerRepeated, node::WorkerReads, node::WorkerRemoves>;

/// Reads a frame of `worker`. Blobs stay views of the frame; chunks have size and bytes and no digest yet.
/// kCorrupt when the frame breaks the protocol.
Result<WorkerSays> parse_worker_frame(WorkerId worker, const Frame& frame);

/// Libraries and parts of them that the worker has imported since its last frame that said so. From a process
/// that may say anything: names of modules at least, and not too many.
std::vector<std::string> imported_in(const Frame& frame);

/// Computes the digests of all chunks of a delta. Touches no shared state: may run on another thread.
void add_digests(session::Delta& delta);
/// Bytes that add_digests() reads.
std::uint64_t bytes_of(const session::Delta& delta);

/// `go`, or `refuse` with its reason.
Outgoing answer_frame(const node::AnswerFence& answer);
/// `answer`, with its content or an error.
Outgoing answer_frame(const node::AnswerWorker& answer);
/// kInvalid when a chunk comes without its bytes.
Outgoing apply_frame(const node::ApplyToWorker& view);
/// `reads`.
Outgoing reads_frame(const node::AskReads& question);
/// `removes`.
Outgoing removes_frame(const node::AskRemovals& question);
/// `repeat`; of what the cell makes it says the digests.
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
/// Has the zygote import these before it forks again; answered by ZygoteImported.
Outgoing import_frame(const std::vector<std::string>& modules);

/// How a process ended: by a signal, else with an exit status.
struct ExitStatus {
  int code = 0;
  int signal = 0;
};

/// Which frames host agent and workers understand: the package banyan of an interpreter has the same number
/// (banyan.worker.channel.PROTOCOL). It grows when one of them could not talk to an earlier other.
constexpr std::uint64_t kWorkerProtocol = 1;

/// The zygote has imported what it should.
struct ZygoteReady {
  std::uint64_t protocol = 0;  ///< 0: of a version that does not say
  std::string python;          ///< version of the interpreter, "3.11.2"
  std::string package;         ///< version of the package banyan
};
/// It has done as import_frame() said.
struct ZygoteImported {
  struct File {
    std::string path;
    std::int64_t mtime_ns = 0;
  };
  std::vector<std::string> failed;  ///< names that it could not import
  std::vector<File> files;          ///< by which one sees that a library was replaced
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
/// What a zygote says.
using ZygoteSays = std::variant<ZygoteReady, ZygoteImported, Spawned, Exited, SpawnFailed>;
/// kCorrupt when the frame breaks the protocol.
Result<ZygoteSays> parse_zygote_frame(const Frame& frame);

}  // namespace banyan::runtime
