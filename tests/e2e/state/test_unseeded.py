"""Numbers that no cell has seeded: a cell that runs again draws those of its first run, and no two sessions draw the
same."""

import pytest
from harness.client import Connection, Gateway
from notebook import Notebook
from ways import OPERATIONS, operate, question

# The object cannot be saved, so its cell runs again wherever another process needs it.
_DRAWS = """import random, numpy as np
class Numbers:
    def __init__(self):
        self.drawn = [random.random(), float(np.random.rand()), float(np.random.normal())]
    def __reduce__(self):
        raise TypeError("not to be saved")
numbers = Numbers()
print(numbers.drawn)
"""
_OTHER = "import random, numpy as np; random.random(), float(np.random.rand())"


@pytest.mark.parametrize("way", [*OPERATIONS, "failover", "a new process"])
def test_a_cell_that_runs_again_draws_the_numbers_of_its_first_run(notebook: Notebook, way: str) -> None:
    drawn = notebook.ok(_DRAWS).stdout.strip()
    notebook.ok("later = random.random()")
    then = notebook.value("later, random.getstate()[1][:3]")
    if way == "failover":
        notebook.fail_over()
    elif way == "a new process":
        notebook.rebuild()
    else:
        what, body = question(notebook, way)
        answer = operate(notebook, what, **body)
        assert answer.status_code == 200 and not answer.json().get("lost"), answer.text
    assert notebook.value("later, random.getstate()[1][:3]") == then
    assert notebook.value("numbers.drawn") == drawn
    assert notebook.value("later, random.getstate()[1][:3]") == then, "the cell that ran again moved the generator"
    if way == "failover":
        notebook.platform.repair()


def test_no_two_sessions_draw_the_same(notebook: Notebook, gateway: Gateway) -> None:
    """Their processes are children of one zygote, which has imported both modules."""
    seen = {notebook.value(_OTHER)}
    for _ in range(3):
        kernel = gateway.start_kernel(name="python3")
        with Connection(gateway, kernel) as session:
            seen.add(str(session.run(_OTHER).result))
        gateway.delete_kernel(kernel)
    assert len(seen) == 4, seen
