"""`_timed_cells.py NOTEBOOK`: runs its cells in this process, as a worker does, and says how long each took.

A JSON line for each: `code_s`; `detect_s`, to find what it changed, which serialises it; `values`: `[type, bytes,
seconds to serialise]` of each co-variable that changed.
"""

import contextlib
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from _notebook_files import Unexpected, read
from banyan.state import detect, serialise
from banyan.state.access import analyse
from banyan.worker.replica import type_of
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output


def main(path: Path) -> None:
    shell = InteractiveShell.instance()
    serialise.bind_namespace(shell.user_ns)
    detector = detect.DigestDetector(shell.user_ns, shell.user_ns_hidden)

    def attempt(code: str, _tags: Sequence[str]) -> str | None:
        begun = time.perf_counter()
        with capture_output():
            result = shell.run_cell(code, store_history=True)
        ran = time.perf_counter()
        accesses = analyse(code, shell.transform_cell)
        serialise.note_imports(accesses.imports)
        changes = detector.changes(accesses)
        detected = time.perf_counter()
        values = [
            (
                type_of([shell.user_ns.get(name) for name in pickled.names]),
                sum(size for part in pickled.parts for _, size in part),
                pickled.seconds,
            )
            for pickled in changes.changed
        ]
        print(json.dumps({"code_s": ran - begun, "detect_s": detected - ran, "values": values}), flush=True)
        error = result.error_before_exec or result.error_in_exec
        return None if error is None else f"{type(error).__name__}: {error}"

    with contextlib.suppress(Unexpected):  # the cells that ran until then count
        read(path).run(attempt)
    os._exit(0)  # ends at once, whatever threads the notebook has left


if __name__ == "__main__":
    main(Path(sys.argv[1]))
