"""How work that is done is pickled: processes and threads that have ended, futures with a result, spent generators.

Nothing of it runs any more, so such objects are values. What comes back has ended, too, with the same status or result.
"""

from __future__ import annotations

import concurrent.futures
import os
import subprocess
import sys
import threading
import time
import types
from collections.abc import Mapping
from typing import Any

from banyan.reducers.reducer import Pickling, Reducer

_MOMENT_S = 0.002


def reducer_for(kind: type) -> Reducer | None:
    """The reducer for types that have subclasses, and for types of modules that must not be
    imported in order to ask.
    """
    if issubclass(kind, threading.Thread):
        return _reduce_thread
    processes: Any = sys.modules.get("multiprocessing.process")
    if processes is not None and issubclass(kind, processes.BaseProcess):
        return _reduce_child
    return None


def bare(kind: Any) -> Any:
    return kind.__new__(kind)


def _reduce_process(process: subprocess.Popen[Any], _pickling: Pickling) -> Any:
    """For a process that has ended. Its pipes are pickled as files are."""
    if process.returncode is None and process.poll() is None:
        return NotImplemented
    kept = {name: value for name, value in vars(process).items() if name != "_waitpid_lock"}
    return bare, (type(process),), kept, None, None, set_process


def set_process(process: Any, state: Mapping[str, Any]) -> None:
    vars(process).update(state)
    process._waitpid_lock = threading.Lock()


def _reduce_future(future: concurrent.futures.Future[Any], _pickling: Pickling) -> Any:
    if not future.done():
        return NotImplemented
    if future.cancelled():
        return done_future, (), None
    return (
        done_future,
        (),
        (future.exception(), None if future.exception() else future.result()),
        None,
        None,
        set_result,
    )


def done_future() -> concurrent.futures.Future[Any]:
    future: concurrent.futures.Future[Any] = concurrent.futures.Future()
    future.cancel()
    return future


def set_result(future: Any, state: tuple[BaseException | None, Any]) -> None:
    future.__init__()
    error, result = state
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(result)


def _reduce_generator(generator: types.GeneratorType[Any, Any, Any], _pickling: Pickling) -> Any:
    if generator.gi_frame is not None:
        return NotImplemented
    return ended_generator, (generator.__name__, generator.__qualname__)


def ended_generator(name: str, qualified: str) -> Any:
    generator: Any = (nothing for nothing in "")
    generator.close()
    generator.__name__, generator.__qualname__ = name, qualified
    return generator


# Attributes that each thread has. The others are the user's.
_OF_THREADS = frozenset(vars(threading.Thread(target=int))) | {"_target", "_args", "_kwargs", "_tstate_lock"}


def _reduce_thread(thread: threading.Thread, _pickling: Pickling) -> Any:
    if thread.ident is None or thread.is_alive():
        return NotImplemented
    own = {name: value for name, value in vars(thread).items() if name not in _OF_THREADS}
    return bare, (type(thread),), (thread.name, thread.daemon, own), None, None, set_thread


def set_thread(thread: Any, state: tuple[str, bool, Mapping[str, Any]]) -> None:
    name, daemon, own = state
    threading.Thread.__init__(thread, name=name, daemon=daemon)
    thread.run = int  # The thread runs something that ends at once, so that it has run and ended.
    threading.Thread.start(thread)
    threading.Thread.join(thread)
    del thread.run
    vars(thread).update(own)


class Ended:
    """Stands for what multiprocessing knows of a child that has ended."""

    def __init__(self, pid: int, returncode: int) -> None:
        self.pid, self.returncode = pid, returncode

    def poll(self, _flag: int = 0) -> int:
        return self.returncode

    def wait(self, _timeout: float | None = None) -> int:
        return self.returncode

    def close(self) -> None:
        """Do nothing: nothing is open."""


def _reduce_child(process: Any, _pickling: Pickling) -> Any:
    """For a process of multiprocessing that has ended."""
    popen = getattr(process, "_popen", None)
    if popen is None or process.exitcode is None:
        return NotImplemented
    dropped = ("_popen", "_config", "_parent_pid", "_target", "_args", "_kwargs")
    kept = {name: value for name, value in vars(process).items() if name not in dropped}
    return bare, (type(process),), (kept, popen.pid, process.exitcode), None, None, set_child


def set_child(process: Any, state: tuple[Mapping[str, Any], int, int]) -> None:
    kept, pid, exitcode = state
    vars(process).update(kept, _popen=Ended(pid, exitcode), _config={}, _parent_pid=os.getpid())
    vars(process).update(_target=None, _args=(), _kwargs={})


def _reduce_executor(executor: concurrent.futures.ThreadPoolExecutor, _pickling: Pickling) -> Any:
    """For an executor that was shut down, or that has nothing to do: it begins its threads anew when it has."""
    settings = executor._max_workers, executor._thread_name_prefix
    if executor._shutdown:
        return NotImplemented if any(thread.is_alive() for thread in executor._threads) else (ended_executor, settings)
    return (type(executor), settings) if _is_idle(executor) and not _initializes(executor) else NotImplemented


def _is_idle(executor: Any) -> bool:
    """Whether all calls are done. A thread reports that it is idle a moment after its call's result is there."""
    if not executor._work_queue.empty():
        return False
    if executor._idle_semaphore._value < len(executor._threads):
        time.sleep(_MOMENT_S)
    return bool(executor._idle_semaphore._value >= len(executor._threads))


def _initializes(executor: Any) -> bool:
    """Whether each of the executor's threads begins with a function. Since Python 3.14 that
    function is in a closure.
    """
    if hasattr(executor, "_initializer"):
        return executor._initializer is not None
    create = executor._create_worker_context
    names: tuple[str, ...] = getattr(getattr(create, "__code__", None), "co_freevars", ())
    if "initializer" not in names:  # The closure belongs to a class of its own, which may do anything.
        return True
    return create.__closure__[names.index("initializer")].cell_contents is not None


def ended_executor(workers: int, prefix: str) -> concurrent.futures.ThreadPoolExecutor:
    executor = concurrent.futures.ThreadPoolExecutor(workers, prefix)
    executor.shutdown()
    return executor


REDUCERS: dict[type, Reducer] = {
    subprocess.Popen: _reduce_process,
    concurrent.futures.Future: _reduce_future,
    concurrent.futures.ThreadPoolExecutor: _reduce_executor,
    types.GeneratorType: _reduce_generator,
}
