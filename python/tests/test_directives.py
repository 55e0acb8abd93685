"""`%%durable`, `%%gpus` and `%%cpu`: what a worker makes of them.

What the platform makes of them is tested in src/node/cell_directives_test.cc and cell_ending_large_test.cc.
"""

import pytest
from IPython.core.interactiveshell import InteractiveShell

from banyan.notebook import directives, rerun


@pytest.fixture
def shell() -> InteractiveShell:
    shell = InteractiveShell()
    directives.Directives(shell)
    return shell


def test_the_rest_of_the_cell_is_code_like_any_other(shell: InteractiveShell) -> None:
    shell.run_cell("%%durable\nx = 1\ny = x + 1").raise_error()
    assert shell.user_ns["y"] == 2


@pytest.mark.parametrize(
    "code",
    [
        "\n\n%%durable\nx = 1",
        "  %%durable\n  x = 1",
        "%%durable  \nx = 1",
        "%%gpus 2\nx = 1",
        "%%cpu\n\n%%durable\n  \nx = 1",
        "%%durable\n%%gpus  12\nx = 1",
    ],
)
def test_blanks_around_it_do_not_matter(shell: InteractiveShell, code: str) -> None:
    shell.run_cell(code).raise_error()
    assert shell.user_ns["x"] == 1


def test_another_magic_may_stand_below_it() -> None:
    shell = InteractiveShell()
    shell.input_transformers_cleanup.append(rerun.as_line)  # As the worker does: before.
    directives.Directives(shell)
    lines = shell.transform_cell("%%durable\n%%rerun never\nx = 1\n").splitlines()
    assert lines == ["get_ipython().run_line_magic('rerun', 'never')", "", "x = 1"]


@pytest.mark.parametrize("code", ["%%gpus 2\n%%time\nx = 1", "%%durable\n\n%%cpu\n%%capture out\nx = 1"])
def test_a_magic_of_the_whole_cell_may_stand_below_it(shell: InteractiveShell, code: str) -> None:
    shell.run_cell(code).raise_error()
    assert shell.user_ns["x"] == 1


@pytest.mark.parametrize("code", ["%%time\n%%gpus 2\nx = 1", "get_ipython().run_cell('%%cpu\\nx = 1').raise_error()"])
def test_what_the_platform_has_not_seen_is_refused(
    shell: InteractiveShell, capsys: pytest.CaptureFixture, code: str
) -> None:
    shell.run_cell(code)
    assert "stands above all code of a cell" in capsys.readouterr().err
    assert "x" not in shell.user_ns
    shell.run_cell("%%gpus 1\nx = 2").raise_error()
    assert shell.user_ns["x"] == 2


def test_it_goes_without_a_trace(shell: InteractiveShell) -> None:
    before = InteractiveShell()
    found = directives.Directives(before)
    found.remove()
    assert "gpus" not in before.magics_manager.magics["cell"]
    assert found not in before.input_transformers_cleanup


def test_lines_keep_their_numbers(shell: InteractiveShell) -> None:
    assert shell.transform_cell("%%durable\n1 / 0\n").splitlines()[1] == "1 / 0"


def test_other_cells_stay_as_they_are(shell: InteractiveShell) -> None:
    for lines in (
        [],
        ["x = 1\n", "%%durable\n"],
        ["%%gpus\n", "x\n"],
        ["%%gpus two\n"],
        ["%%cpus\n"],
        ["%%gpus 2 3\n"],
    ):
        assert directives.without_directives(lines) == lines


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("%%durable always", "takes no words"),
        ("%%cpu 1", "takes no words"),
        ("%%gpus", "takes the number"),
        ("%%gpus two", "takes the number"),
        ("y = 1\n%%gpus 2", ""),
    ],
)
def test_what_is_wrong_is_refused_with_what_it_is(
    shell: InteractiveShell, capsys: pytest.CaptureFixture, line: str, said: str
) -> None:
    result = shell.run_cell(line + "\nx = 1")
    assert not result.success
    assert said in capsys.readouterr().err
    assert "x" not in shell.user_ns
