"""Runs notebooks, takes them elsewhere in several ways, and judges what arrived."""

import argparse
import json
import statistics
import tempfile
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import _report
from _compare import Line, difference, layout_difference
from _contestants import OF_PLAIN, OF_PLATFORM, Contestant, Failed, Unavailable, call, install, plain
from _kernels import CellFailed, Kernel, Session
from _notebook_files import CORPUS, LONG, Notebook, Unexpected, read_all
from harness.platform import Platform

Row = dict[str, Any]


def chosen_of(parser: argparse.ArgumentParser, only: list[str] | None, *, short: bool) -> list[Notebook]:
    """The notebooks that were asked for."""
    corpus = read_all(CORPUS) if short else read_all(CORPUS, LONG)
    if unknown := set(only or ()) - corpus.keys():
        parser.error(f"no notebook {unknown.pop()!r}; there are: {', '.join(corpus)}")
    return [notebook for name, notebook in corpus.items() if not only or name in only]


class Bench:
    """The ways that are compared, and the platform that some of them need."""

    def __init__(self, ways: list[str]) -> None:
        self.ways = ways
        self._platform: Platform | None = None

    @contextmanager
    def platform(self, folder: Path, hosts: int) -> Iterator[None]:
        """Starts the platform if one of the ways needs it."""
        if not any(contestant.name in self.ways for contestant in OF_PLATFORM):
            yield
            return
        _report.progress(f"starting a platform of {hosts} hosts")
        self._platform = Platform(folder / "platform", hosts=hosts)
        try:
            yield
        finally:
            self._platform.stop()

    def measure(self, corpus: list[Notebook], repeat: int, folder: Path) -> list[Row]:
        """The rows of all notebooks, or of the finished ones after an interruption."""
        rows: list[Row] = []
        try:
            for number, notebook in enumerate(corpus):
                _report.bar(number, len(corpus), notebook.name)
                taken: list[list[Row]] = []
                for _ in range(repeat):
                    with tempfile.TemporaryDirectory(dir=folder) as own:
                        taken.append(self.once(notebook, Path(own)))
                rows += [middle(list(samples)) for samples in zip(*taken, strict=True)]
            _report.bar(len(corpus), len(corpus), "done")
        except KeyboardInterrupt:
            _report.progress("interrupted")
        return rows

    def once(self, notebook: Notebook, folder: Path) -> list[Row]:
        """Takes the notebook each way once; one row for each way."""
        expected: Expected | None = None
        rows = []
        with Original(notebook, folder, None) as original:
            for kind in OF_PLAIN:
                if kind.name in self.ways:
                    rows.append(self.row(kind(notebook, folder), original))
            expected = Expected(original)
        if self._platform is not None:
            with Original(notebook, folder, self._platform) as original:
                for of_platform in OF_PLATFORM:
                    if of_platform.name not in self.ways:
                        continue
                    try:
                        contestant = of_platform(notebook, folder, self._platform)
                    except Unavailable as error:
                        rows.append(empty(notebook, of_platform.name, str(error)))
                        continue
                    rows.append(self.row(contestant, original))
        for row in rows:
            expected.judge(row)
        return rows

    def row(self, contestant: Contestant, original: "Original") -> Row:
        row = empty(contestant.notebook, contestant.name, "")
        try:
            kernel = original.kernel()
            row["cells_s"] = original.took_s
            own = described(kernel) if contestant.notebook.differs else None
            begun = time.perf_counter()
            row["bytes"] = contestant.store(kernel)
            row["store_s"] = time.perf_counter() - begun
            contestant.prepare()
            begun = time.perf_counter()
            restored = contestant.restore()
            row["restore_s"] = time.perf_counter() - begun
            row["start_s"] = contestant.start_s
        except Unavailable as error:
            return row | {"reason": str(error)}
        except (Failed, CellFailed, Unexpected, AssertionError, OSError, TimeoutError) as error:
            original.forget()
            with suppress(Exception):
                contestant.close()
            return row | {"correct": False, "reason": short(error)}
        with original.closing(restored, contestant.ends_original):
            try:
                if restored is not kernel or contestant.on_platform:
                    install(restored)
                row |= {"own": own, "described": described(restored), "yielded": yielded(restored)}
            except (Failed, CellFailed, TimeoutError, OSError) as error:
                row |= {"correct": False, "reason": f"cannot be described: {short(error)}"}
        if contestant.notes:
            row["notes"] = contestant.notes
        return row | contestant.extra


class Original:
    """A session that has run the notebook, on the platform or in a plain ipykernel. It is made when it is needed."""

    def __init__(self, notebook: Notebook, folder: Path, platform: Platform | None) -> None:
        self._notebook, self._folder, self._platform = notebook, folder, platform
        self._kernel: Kernel | None = None
        self.took_s = 0.0
        self.described: list[Line] = []

    def __enter__(self) -> "Original":
        return self

    def __exit__(self, *_: object) -> None:
        self.forget()

    def kernel(self) -> Kernel:
        if self._kernel is None:
            self._kernel = plain(self._folder) if self._platform is None else Session(self._platform.gateway)
            begun = time.perf_counter()
            self._notebook.run(self._kernel.attempt)
            self.took_s = time.perf_counter() - begun
            if self._platform is None:
                self.described = described(self._kernel)
            elif self._notebook.differs:
                install(self._kernel)
        return self._kernel

    def forget(self, *, close: bool = True) -> None:
        """Closes the kernel, unless told otherwise, so that the next use makes a new one."""
        if close and self._kernel is not None:
            with suppress(Exception):
                self._kernel.close()
            self._kernel = None

    @contextmanager
    def closing(self, restored: Kernel, is_original: bool) -> Iterator[None]:
        """Closes the restored kernel after use."""
        yield
        if is_original:
            self.forget()
        else:
            with suppress(Exception):
                restored.close()


class Expected:
    """The contents of the plain original, and the items that its generators give."""

    def __init__(self, original: Original) -> None:
        kernel = original.kernel()
        self._described = original.described
        self._changed = difference(self._described, described(kernel))
        self._yielded = yielded(kernel)

    def judge(self, row: Row) -> None:
        """Sets `correct` and `reason` of a row, and removes the descriptions from it."""
        own, found, given = (row.pop(key, None) for key in ("own", "described", "yielded"))
        if row["correct"] is not None or found is None:
            return
        row["reason"] = difference(own or self._described, found) or difference(self._yielded, given)
        row["correct"] = not row["reason"]
        row["layout"] = layout_difference(own or self._described, found)
        if self._changed and not own:
            row["reason"] += f" (the original has changed since: {self._changed})"


def described(kernel: Kernel) -> list[Line]:
    return _unpacked(call(kernel, "_describe.described"))


def yielded(kernel: Kernel) -> list[Line]:
    return _unpacked(call(kernel, "_describe.yielded"))


def _unpacked(name: str) -> list[Line]:
    file = Path(name)
    lines = json.loads(zlib.decompress(file.read_bytes()))
    file.unlink()
    return [(place, what) for place, what in lines]


def empty(notebook: Notebook, way: str, reason: str) -> Row:
    return {
        "notebook": notebook.name,
        "way": way,
        "correct": None,
        "reason": reason,
        "bytes": None,
        "cells_s": None,
        "store_s": None,
        "start_s": None,
        "restore_s": None,
    }


def short(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:300]


def middle(rows: list[Row]) -> Row:
    """One row for several runs: correct if all of them are, with the medians of the figures."""
    wrong = next((row for row in rows if row["correct"] is not True), rows[0])
    figures = {}
    for key in ("bytes", "cells_s", "store_s", "start_s", "restore_s"):
        values = [row[key] for row in rows if row[key] is not None]
        figures[key] = statistics.median(values) if values else None
    return {**wrong, **figures}
