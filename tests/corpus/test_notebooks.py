"""Each short notebook of the corpus ends in a plain kernel as its file says; `./dev bench` runs the long ones."""

import os
import tempfile
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from _kernels import CellFailed, Plain
from _notebook_files import CORPUS, LONG, Notebook, Unexpected, read_all

_SHORT = read_all(CORPUS)
_ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # several notebooks run at once


def test_there_are_enough() -> None:
    assert len(read_all(CORPUS, LONG)) >= 60


@pytest.fixture(scope="module")
def ends() -> Mapping[str, "Future[str]"]:
    """The complaint about each notebook, empty when all was well. As many notebooks run at a time as there are
    cores."""
    pool = ThreadPoolExecutor(os.cpu_count() or 2)
    return {name: pool.submit(_run, notebook) for name, notebook in _SHORT.items()}


@pytest.mark.parametrize("name", _SHORT)
def test_a_notebook_ends_as_it_should(ends: Mapping[str, "Future[str]"], name: str) -> None:
    assert ends[name].result(timeout=200) == ""


def _run(notebook: Notebook) -> str:
    with tempfile.TemporaryDirectory() as folder, Plain(_ONE_THREAD) as kernel:
        kernel.evaluate(f"__import__('os').chdir({str(Path(folder))!r})")
        try:
            notebook.run(kernel.attempt)
        except (Unexpected, CellFailed) as error:
            return str(error)
    return ""
