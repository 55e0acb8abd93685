"""A value that cannot be saved is made again when a cell reads it, and not before."""

import pytest
from notebook import Notebook
from ways import OPERATIONS, operate, question

_SPENT_S = 3.0  # the CPU time of the cell that makes the value
_MAKES = f"""import time
began = time.process_time()
while time.process_time() - began < {_SPENT_S}: pass
made = (i for i in range(3))
"""


def _spent(notebook: Notebook) -> float:
    """The CPU seconds that the session's process has used. The expression reads no variable that a test looks at."""
    return float(notebook.value("time.process_time()"))


@pytest.mark.parametrize("way", [*OPERATIONS, "failover"])
def test_in_another_process_it_is_made_for_the_cell_that_reads_it(notebook: Notebook, way: str) -> None:
    notebook.ok(_MAKES)
    if way == "failover":
        notebook.fail_over()
    else:
        what, body = question(notebook, way)
        answer = operate(notebook, what, **body)
        assert answer.status_code == 200 and not answer.json().get("lost"), answer.text
    notebook.ok("x = [1]\ndef other(): return x")
    assert notebook.value("other()") == "[1]"
    assert _spent(notebook) < _SPENT_S, "its cell has run again though nobody reads it"
    assert notebook.value("next(made)") == "0"
    assert _spent(notebook) > _SPENT_S
    assert notebook.value("next(made)") == "1"
    if way == "failover":
        notebook.platform.repair()


def test_an_undo_and_a_checkout_leave_it_until_it_is_read(notebook: Notebook) -> None:
    notebook.ok(_MAKES)
    notebook.ok("next(made)")
    before = _spent(notebook)
    notebook.ok("%undo")
    notebook.ok("x = 1")
    assert _spent(notebook) - before < _SPENT_S
    notebook.ok("%checkout HEAD~1")
    assert _spent(notebook) - before < _SPENT_S
    assert notebook.value("next(made)") == "0"


@pytest.mark.parametrize(
    "reads",
    [
        pytest.param("next(made)", id="by its name"),
        pytest.param("reader()", id="in a function"),
        pytest.param("Reader().read()", id="in a method"),
        pytest.param("next(globals()['made'])", id="without a name"),
        pytest.param("next(eval('ma' + 'de'))", id="by a text"),
        pytest.param("%time next(made)", id="by a magic"),
        pytest.param("'made' in get_ipython().run_line_magic('who_ls', '') and 0", id="in a list of all"),
        pytest.param("import __main__; next(__main__.made)", id="through the module"),
        pytest.param("[next(each) for each in (lambda: [made])()][0]", id="in a nested function"),
    ],
)
def test_whatever_reads_it_finds_it(notebook: Notebook, reads: str) -> None:
    notebook.ok("def reader(): return next(made)\nclass Reader:\n    def read(self): return reader()\n")
    notebook.ok("made = (i for i in range(3))")
    notebook.rebuild()
    notebook.ok("x = 1")
    assert notebook.value(reads) == "0"


def test_what_shares_objects_with_it_goes_on_to(notebook: Notebook) -> None:
    notebook.ok("items = [1, 2]")
    notebook.ok("made = (i for i in items)")
    notebook.rebuild()
    notebook.ok("items.append(3)\nopen('/tmp/banyan-outside', 'w').close()")
    assert notebook.value("list(made)") == "[1, 2, 3]"


def test_bound_anew_it_is_not_made(notebook: Notebook) -> None:
    notebook.ok(_MAKES)
    notebook.rebuild()
    notebook.ok("made = 5")
    assert notebook.value("made") == "5"
    assert _spent(notebook) < _SPENT_S


def test_deleted_it_is_gone_and_an_undo_brings_it_back(notebook: Notebook) -> None:
    notebook.ok("made = (i for i in range(3))")
    notebook.rebuild()
    notebook.ok("del made")
    assert notebook.value("'made' in globals()") == "False"
    notebook.ok("%undo")
    assert notebook.value("next(made)") == "0"
