"""Each kind of surroundings (`python/tests/kinds.py`: state of a process beside its variables) takes all ways on the
platform: undo, moves, suspension and failover."""

import re
from collections.abc import Iterator

import pytest
from harness.client import Connection
from harness.platform import Platform
from notebook import Notebook
from ways import MOVES, OPERATIONS, WAYS, Walked, operate, question, together, walk

from python.tests.kinds import KINDS, NAMED, Kind
from python.tests.kinds_ipython import CONTEXT, IPYTHON
from python.tests.kinds_torch import TORCH

# Variables bound to live objects of the process or of the shell. They are restored as variables, not as surroundings.
VARIABLES = [
    Kind("%macro", "2 + 3", "%macro -q repeated 1", "type(globals().get('repeated')).__name__"),
    Kind("an alias of os.environ", "import os", "env = os.environ", "globals().get('env') is os.environ"),
    Kind("an alias of sys.path", "import sys", "path = sys.path", "globals().get('path') is sys.path"),
    Kind(
        "an alias within a container",
        "import sys, warnings",
        "aliases = {'filters': [warnings.filters, sys.modules]}",
        "'aliases' in globals() and (aliases['filters'][0] is warnings.filters, aliases['filters'][1] is sys.modules)",
    ),
    Kind(
        "an alias of a part of the shell",
        "import logging",
        "late = get_ipython().input_transformers_post; handlers = logging.root.handlers",
        "'late' in globals() and (late is get_ipython().input_transformers_post, handlers is logging.root.handlers)",
    ),
    Kind(
        "an alias of a library's dict",
        "import json.encoder",
        "escapes = json.encoder.ESCAPE_DCT; escapes['own'] = 'mine'",
        "'escapes' in globals() and (escapes is json.encoder.ESCAPE_DCT, escapes['own'], len(escapes) > 30)",
    ),
]

_ALL = [kind for kind in [*KINDS, *CONTEXT, *IPYTHON, *TORCH, *VARIABLES] if kind.is_here]


@pytest.fixture(scope="module")
def walked(shared_platform: Platform) -> Iterator[dict[str, Walked]]:
    """Walks all kinds, and gives the results by the name of the kind."""
    found: dict[str, Walked] = {}
    for kinds in together(_ALL):
        kernel = shared_platform.gateway.start_kernel(name="python3")
        try:
            with Connection(shared_platform.gateway, kernel) as session:
                found |= {one.kind.name: one for one in walk(Notebook(shared_platform, kernel, session), kinds)}
        finally:
            shared_platform.repair()
            shared_platform.gateway.delete_kernel(kernel)
    yield found


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", [pytest.param(kind, id=kind.name) for kind in _ALL])
def test_is_kept(walked: dict[str, Walked], kind: Kind, way: str) -> None:
    if problem := walked[kind.name].problems.get(way):
        pytest.fail(problem)


@pytest.mark.parametrize("kind", [pytest.param(kind, id=kind.name) for kind in NAMED])
def test_is_named_before_it_is_lost(notebook: Notebook, kind: Kind) -> None:
    """An operation that would lose the value is refused and names it. The cell also writes a file, so that the platform
    does not simply run it again."""
    notebook.ok(kind.before)
    for way in OPERATIONS:
        outside = f"_ = open('/tmp/banyan-named', 'a').write('{way}')"
        (name,) = set(re.findall(r"'(<[^']*>)' cannot be saved", notebook.ok(f"{kind.change}\n{outside}").stderr))
        what, body = question(notebook, way)
        refused = operate(notebook, what, **body)
        assert refused.status_code == 409 and name in refused.json()["message"], f"{way}: {refused.text}"
        answer = operate(notebook, what, force=True, **body)
        assert [each["name"] for each in answer.json()["lost"]] == [name], f"{way}: {answer.text}"
        assert name in notebook.ok("1 + 1").stderr, way


def test_a_cell_that_runs_again_has_the_context_variables_that_it_had(notebook: Notebook) -> None:
    notebook.ok(
        "import contextvars\nasked, told = [contextvars.ContextVar(name, default=0) for name in ('asked', 'told')]"
    )
    notebook.ok("_ = asked.set(7)")
    notebook.ok("seen = asked.get(); told.set(seen + 1); lines = (i for i in range(3))")
    notebook.ok("next(lines)")
    notebook.ok("%undo")
    assert notebook.value("seen, asked.get(), told.get(), next(lines)") == "(7, 7, 8, 0)"


@pytest.mark.parametrize("way", list(MOVES))
def test_what_cells_have_shown_goes_along_and_looking_is_no_step(notebook: Notebook, way: str) -> None:
    notebook.ok("import numpy as np\nrows, table = [1], np.zeros((1000, 300))")
    notebook.ok("table")
    notebook.ok("rows.append(2); rows")
    notebook.ok("{'a': [7]}")
    assert MOVES[way](notebook) == []
    assert notebook.value("_['a'], __ is rows, _2 is table, Out[2].shape, rows") == (
        "([7], True, True, (1000, 300), [1, 2])"
    )
    assert "rows.append" in notebook.ok("%undo").stdout
    assert notebook.value("_ is table, rows") == "(True, [1])"
    notebook.ok("%redo")
    assert notebook.value("rows") == "[1, 2]"
