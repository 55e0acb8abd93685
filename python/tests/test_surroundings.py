"""What cells change beside variables goes with the session: generators, the working directory, the environment, …"""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Host, Worker
from processes import run_apart
from test_replication import Pair, pair

from banyan.surroundings import machine

__all__ = ["pair"]


@pytest.mark.parametrize(
    ("code", "draw"),
    [
        ("import random; random.seed(7); random.random()", "random.random()"),
        ("import numpy as np; np.random.seed(7); np.random.rand()", "float(np.random.rand())"),
        ("import numpy as np; np.random.normal()", "float(np.random.normal())"),
    ],
)
def test_global_generators_go_on_where_they_were(pair: Pair, code: str, draw: str) -> None:
    pair.run(code)
    assert pair.executor.value(draw) == pair.standby.value(draw)


def test_each_number_that_a_cell_draws_from_numpy_is_noticed(pair: Pair) -> None:
    """Of normal numbers, numpy makes two and keeps the second: to draw that one changes no word of the generator."""
    pair.run("import numpy as np; np.random.seed(7)")
    for draw in ["normal()", "normal()", "normal()", "rand()", "normal()", "normal()", "seed(7)", "normal()"]:
        pair.run(f"np.random.{draw}")
        state = "[str(each) for each in np.random.get_state()]"
        assert pair.executor.value(state) == pair.standby.value(state), draw
    pair.run("other = np.random.PCG64(3); np.random.set_bit_generator(other); np.random.rand()")
    state = "str(np.random.get_state(legacy=False))"
    assert pair.executor.value(state) == pair.standby.value(state)


def test_each_number_that_a_cell_draws_from_random_is_noticed(pair: Pair) -> None:
    """Of normal numbers, random makes two and keeps the second beside its words."""
    pair.run("import random; random.seed(7)")
    draws = ["gauss(0, 1)", "gauss(0, 1)", "gauss(0, 1)", "random()", "getrandbits(3)", "shuffle([1, 2])", "seed(7)"]
    for draw in [*draws, "setstate(random.getstate())"]:
        pair.run(f"random.{draw}")
        assert pair.executor.value("random.getstate()") == pair.standby.value("random.getstate()"), draw


def test_a_context_of_decimal_that_was_there_before_the_default_changed_stays_as_it_is() -> None:
    """Another process makes one anew, as the default is then: so what it is has to go along."""
    program = (
        "import decimal; from banyan.surroundings import Capture, Surroundings\n"
        "surroundings = Surroundings(Capture(), {}); decimal.getcontext(); surroundings.begin()\n"
        "decimal.DefaultContext.prec = 9\n"
        "changed = {pickled.names[0] for pickled in surroundings.changes()}\n"
        "assert changed == {'<decimal>', '<decimal.DefaultContext>'}, changed\n"
        "assert not surroundings.changes()\n"
    )
    run_apart(program)


def test_every_file_of_surroundings_has_its_parts() -> None:
    """One that fails costs no other one, and is not there: with the libraries of these tests none fails."""
    for file in machine._FILES:
        assert file.parts(), file.__name__


def test_a_patched_function_of_random_costs_no_part() -> None:
    program = (
        "import random; get = random.getstate; random.getstate = lambda: get()\n"
        "from banyan.surroundings import Capture, Surroundings\n"
        "surroundings = Surroundings(Capture(), {}); surroundings.begin(); random.random()\n"
        "assert [pickled.names for pickled in surroundings.changes()] == [('<random>',)]\n"
    )
    run_apart(program)


def test_looking_imports_nothing() -> None:
    program = (
        "import sys; from banyan.surroundings import Capture, Surroundings\n"
        "surroundings = Surroundings(Capture(), {}); surroundings.begin()\n"
        "import numpy; surroundings.changes()\n"
        "sys.exit('numpy.random' in sys.modules)"
    )
    run_apart(program)


def test_what_a_cell_has_set_in_its_context_is_no_change_after_others_were_restored_in_another_one() -> None:
    """Else a look after an undo is a change, which the next undo takes back and which ends the redo."""
    program = (
        "import contextvars, numpy; from banyan.surroundings import Capture, Surroundings\n"
        "surroundings = Surroundings(Capture(), {}); surroundings.begin()\n"
        "of_the_channel = contextvars.copy_context()\n"
        "numpy.seterr(divide='raise')\n"
        "assert surroundings.changes()\n"
        "of_the_channel.run(surroundings.follow, {'<csv>': {}}, ())\n"
        "surroundings.begin()\n"
        "assert not surroundings.changes()\n"
        "of_the_channel.run(surroundings.follow, {'<numpy.errors>': {'divide': 'ignore'}}, ())\n"
        "surroundings.begin()\n"
        "assert not surroundings.changes() and numpy.geterr()['divide'] == 'ignore'"
    )
    run_apart(program)


def test_the_environment_is_there_when_values_are_loaded(pair: Pair) -> None:
    """A connection that is made again reads its address or its token there."""
    pair.run(
        "import os\n"
        "os.environ['BANYAN_FIRST'] = 'set'\n"
        "class Reads:\n"
        "    @classmethod\n"
        "    def made(cls):\n"
        "        import os\n"
        "        one = cls()\n"
        "        one.seen = os.environ['BANYAN_FIRST']\n"
        "        return one\n"
        "    def __reduce__(self): return type(self).made, ()\n"
        "x = Reads.made()"
    )
    assert pair.standby.value("x.seen") == "'set'"


def test_the_working_directory_and_the_environment(pair: Pair, tmp_path: Path) -> None:
    pair.run("import os; os.environ['BANYAN_GONE'] = '1'")
    first = pair.standby.value("os.getcwd()")
    pair.run(f"os.chdir({str(tmp_path)!r}); os.environ['BANYAN_TEST'] = 'a b'; del os.environ['BANYAN_GONE']")
    look = "os.getcwd(), os.environ.get('BANYAN_TEST'), 'BANYAN_GONE' in os.environ"
    assert pair.standby.value(look) == repr((str(tmp_path), "a b", False))
    failed = pair.standby.follow(deleted=["<cwd>", "<environ>"])
    assert failed == []
    assert pair.standby.value(look) == f"({first}, None, False)"


def test_a_directory_that_is_not_there_is_named(pair: Pair, tmp_path: Path) -> None:
    pair.executor.run(f"import os; os.makedirs({str(tmp_path / 'a')!r}); os.chdir({str(tmp_path / 'a')!r})")
    cell = pair.executor.run("os.chdir('..'); os.rmdir('a'); os.makedirs('b'); os.chdir('b'); x = 1")
    pair.executor.run("os.chdir('..'); os.rmdir('b')")
    (failure,) = pair.standby.apply(cell)
    assert failure["name"] == "<cwd>"
    assert "No such file" in failure["reason"]
    assert pair.standby.value("x") == "1"


def test_filters_and_settings(pair: Pair) -> None:
    pair.run("import warnings; warnings.filterwarnings('ignore', message='not this')")
    pair.run("import matplotlib.pyplot as plt; plt.rcParams['lines.linewidth'] = 7.5")
    assert pair.standby.value("any(f[1] and f[1].pattern == 'not this' for f in warnings.filters)") == "True"
    assert pair.standby.value("plt.rcParams['lines.linewidth']") == "7.5"
    assert pair.standby.follow(deleted=["<rcParams>"]) == []
    assert pair.standby.value("plt.rcParams['lines.linewidth']") == "1.5"


def test_options_of_pandas_and_numpy_and_the_levels_of_loggers(pair: Pair) -> None:
    pair.run("import logging, numpy as np, pandas as pd; pd.options.display.max_rows = 33")
    pair.run("np.set_printoptions(precision=3); logging.getLogger('banyan.test').setLevel(10)")
    look = "pd.options.display.max_rows, np.get_printoptions()['precision'], logging.getLogger('banyan.test').level"
    assert pair.standby.value(look) == "(33, 3, 10)"
    assert pair.standby.follow(deleted=["<pandas.options>", "<numpy.printoptions>", "<logging>"]) == []
    assert pair.standby.value(look) == "(60, 8, 0)"


def test_each_can_be_switched_off_and_on(pair: Pair) -> None:
    pair.run("%config Capture.environ = False")
    cell = pair.run("import os; os.environ['BANYAN_TEST'] = 'here'; os.chdir('/')")
    assert [name for (name,) in cell.changed if name.startswith("<")] == ["<cwd>"]
    cell = pair.run("%config Capture.environ = True\nos.chdir('/tmp')")
    assert [name for (name,) in cell.changed if name.startswith("<")] == ["<cwd>", "<environ>", "<ipython.config>"]


def test_cells_that_touch_none_report_none(pair: Pair) -> None:
    assert [name for (name,) in pair.run("x = 1").changed] == ["x"]
    assert pair.run("print(x)").changed == []


def test_where_modules_are_found_is_known_before_values_are_loaded(pair: Pair, tmp_path: Path) -> None:
    (tmp_path / "banyan_mine.py").write_text("class Mine:\n    x = 7\n")
    first = pair.standby.value("__import__('sys').path")
    pair.run(f"import sys; sys.path.insert(1, {str(tmp_path)!r}); import banyan_mine; mine = banyan_mine.Mine()")
    assert pair.standby.value("mine.x, sys.path[1]") == repr((7, str(tmp_path)))
    assert pair.standby.follow(deleted=["<sys.path>"]) == []
    assert pair.standby.value("sys.path") == first


def test_attributes_that_cells_set_on_modules(pair: Pair) -> None:
    pair.run("import json, string")
    cell = pair.run("seen, n = [1], 1; json.banyan, string.banyan = seen, {'a': [1]}; string.one = n")
    assert ["<modules>"] in cell.changed
    assert pair.standby.value("json.banyan is seen, string.banyan, string.one") == "(True, {'a': [1]}, 1)"
    pair.run("json.banyan.append(2); string.banyan['a'].append(2)")
    assert pair.standby.value("json.banyan is seen, seen, string.banyan") == "(True, [1, 2], {'a': [1, 2]})"
    pair.run("seen = [3]; json.banyan = seen")
    assert pair.standby.value("json.banyan is seen, json.banyan") == "(True, [3])"
    assert pair.standby.follow(deleted=["<modules>"]) == []
    assert pair.standby.value("hasattr(json, 'banyan'), hasattr(string, 'banyan')") == "(False, False)"


def test_a_function_in_place_of_a_librarys(pair: Pair) -> None:
    pair.run("import textwrap")
    pair.run("textwrap.dedent = lambda text: 'mine'")
    assert pair.standby.value("textwrap.dedent(' a')") == "'mine'"
    assert "<modules>" not in [name for (name,) in pair.run("textwrap.indent('a', ' ')").changed]
    assert pair.executor.follow(deleted=["<modules>"]) == []
    assert pair.executor.value("textwrap.dedent(' a')") == "'a'"


def test_an_attribute_that_cannot_be_pickled_costs_no_other(pair: Pair) -> None:
    pair.run("import json, threading")
    cell = pair.run("json.banyan_lock = threading.Lock(); json.banyan_kept = [1]; sys = __import__('sys'); x = 1")
    assert ["<modules>"] in cell.changed and ["x"] in cell.changed
    assert pair.standby.value("json.banyan_kept, hasattr(json, 'banyan_lock')") == "([1], False)"
    assert pair.executor.follow(deleted=["<modules>"]) == []
    assert pair.executor.value("x") == "1"


def test_what_a_cell_put_in_place_of_a_librarys_is_put_back_where_it_was_seen(pair: Pair) -> None:
    pair.run("import textwrap; textwrap.dedent = lambda text: 'mine'")
    for worker in (pair.executor, pair.standby):
        assert worker.value("textwrap.dedent(' a')") == "'mine'"
        assert worker.follow(deleted=["<modules>"]) == []
    assert pair.executor.value("textwrap.dedent(' a')") == "'mine'", "nobody saw what was there before"
    assert pair.standby.value("textwrap.dedent(' a')") == "'a'"


def test_an_attribute_that_a_cell_deleted(pair: Pair) -> None:
    pair.run("import textwrap")
    pair.run("del textwrap.dedent")
    assert pair.standby.value("hasattr(textwrap, 'dedent')") == "False"
    assert pair.standby.follow(deleted=["<modules>"]) == []
    assert pair.standby.value("textwrap.dedent(' a')") == "'a'"


def test_what_is_no_text_in_the_path(pair: Pair) -> None:
    cell = pair.run("import sys; sys.path = sys.path + [None, '/banyan']; x = 1")
    assert sorted(name for (name,) in cell.changed) == ["<sys.path>", "sys", "x"]
    assert pair.standby.value("sys.path[-1]") == "'/banyan'"


def test_a_handler_of_a_signal_goes_along_and_shares_what_it_writes_to(pair: Pair) -> None:
    pair.run("import signal\nhits = []\ndef note(number, frame):\n    hits.append(number)")
    cell = pair.run("signal.signal(signal.SIGUSR1, note)")
    assert ["<signals: SIGUSR1>"] in cell.changed or ["<signals: SIGUSR1>", "note"] in cell.changed
    pair.run("signal.raise_signal(signal.SIGUSR1)")
    assert pair.standby.value("len(hits)") == "1"
    assert pair.standby.value("signal.raise_signal(signal.SIGUSR1); len(hits), signal.getsignal(10) is note") == (
        "(2, True)"
    )
    assert pair.standby.follow(deleted=["<signals: SIGUSR1>"]) == []
    assert pair.standby.value("signal.getsignal(signal.SIGUSR1)") == "<Handlers.SIG_DFL: 0>"


def test_a_timer_that_goes_on_is_no_change_of_the_cell_after_an_undo(pair: Pair) -> None:
    pair.run("import signal; _ = signal.signal(signal.SIGALRM, lambda *_: None)")
    pair.run("_ = signal.setitimer(signal.ITIMER_REAL, 3600, 60)")
    pair.run("import gc; gc.disable()")
    for worker in (pair.executor, pair.standby):
        assert worker.follow(deleted=["<interpreter>"]) == []
        assert worker.run("1").changed == []


# Draws numbers when it is imported, as sklearn's datasets does, and changes what imports change.
_DRAWS = """
import os, random, warnings
import numpy
DRAWN = random.random(), numpy.random.rand()
os.environ["BANYAN_DRAWS"] = "imported"
warnings.filterwarnings("ignore", message="drawn")
class Thing:
    pass
"""


def test_what_an_import_changes_while_values_are_loaded_is_put_back(pair: Pair, tmp_path: Path) -> None:
    (tmp_path / "draws.py").write_text(_DRAWS)
    pair.run(f"import sys; sys.path.append({str(tmp_path)!r})")
    imports = pair.executor.run("import draws, os, random, warnings, numpy; thing = draws.Thing()")
    pair.run("random.seed(1); numpy.random.seed(2); os.environ['BANYAN_DRAWS'] = 'mine'")
    values = [one for one in imports.body["changed"] if not one["names"][0].startswith("<")]
    imports.body["changed"] = values
    assert pair.standby.apply(imports) == []  # its values come late, as when they are large
    pair.run("state = 0")
    look = "random.random(), float(numpy.random.rand()), os.environ['BANYAN_DRAWS']"
    assert pair.standby.value(look) == pair.executor.value(look)
    assert "'mine'" in pair.standby.value(look)


def test_generators_are_set_after_what_imports_when_it_is_set(pair: Pair, tmp_path: Path) -> None:
    (tmp_path / "draws_too.py").write_text(_DRAWS)
    pair.run(f"import sys; sys.path.append({str(tmp_path)!r})")
    # <modules> comes after <random>, and imports the module.
    pair.run(
        "import random, numpy, draws_too; draws_too.seen = [1]; random.seed(1); numpy.random.seed(1); del draws_too"
    )
    look = "random.random(), float(numpy.random.rand())"
    assert pair.standby.value(look) == pair.executor.value(look)


# Looks for a notebook when it is imported: as pandas and rich, as tqdm.autonotebook, as plotly and as matplotlib do.
_LOOKS = """
import logging, sys
from IPython import get_ipython as ask
SAW = [
    "zmq" in str(type(get_ipython())).lower(),
    "IPKernelApp" in ask().config,
    ask().__class__.__name__,
    hasattr(ask(), "kernel"),
    __IPYTHON__,
]
ask().events.register("post_run_cell", lambda _: print("heard"))
logging.getLogger("looks").addHandler(logging.StreamHandler(sys.stderr))
class Thing:
    pass
"""
_SEEN = "[True, True, 'ZMQInteractiveShell', True, True]"


def test_a_library_that_is_imported_while_values_are_loaded_finds_a_notebook(pair: Pair, tmp_path: Path) -> None:
    (tmp_path / "looks.py").write_text(_LOOKS)
    pair.run(f"import sys; sys.path.append({str(tmp_path)!r})")
    pair.run("import looks; thing = looks.Thing()")
    assert pair.executor.value("looks.SAW") == pair.standby.value("looks.SAW") == _SEEN


def test_a_library_that_a_zygote_has_imported_found_a_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "looks.py").write_text(_LOOKS)
    monkeypatch.chdir(tmp_path)
    host = Host(tmp_path, "looks")
    try:
        worker = host.spawn()
        cell = worker.run("import looks, logging; logging.getLogger('looks').error('logged'); looks.SAW")
        print(cell.stdout)
        assert (cell.result, cell.stderr, cell.stdout) == (_SEEN, "logged\n", "heard\n")
        host.retire(worker)
    finally:
        host.close()


def test_pandas_shows_as_many_columns_as_in_a_notebook(worker: Worker) -> None:
    assert worker.run("import pandas; pandas.get_option('display.max_columns')").result == "20"


def test_a_setting_of_numpy_holds_after_a_cell_ran_again(pair: Pair) -> None:
    """Each cell has a context of its own, and so has one that runs again."""
    made = "import numpy as np; np.set_printoptions(precision=4); g = (i for i in [1, 2])"
    pair.run(made)
    look = "np.get_printoptions()['precision']"
    assert pair.standby.repeat(made)["error"] == ""
    assert pair.standby.value(look) == "4"
    assert pair.standby.repeat("np.set_printoptions(precision=6)")["changed"] == ["<numpy.printoptions>"]
    assert pair.standby.value(look) == "6"


def test_a_setting_that_is_taken_back_stays_so_after_a_cell_ran_again(pair: Pair) -> None:
    pair.run("import numpy as np; np.set_printoptions(precision=6)")
    assert pair.standby.follow(deleted=["<numpy.printoptions>"]) == []
    assert pair.standby.repeat("g = (i for i in [1, 2])")["error"] == ""
    cell = pair.standby.run("np.get_printoptions()['precision']")
    assert (cell.result, cell.changed) == ("8", [])


def test_the_exit_code_of_a_command(pair: Pair) -> None:
    assert pair.run("!exit 3").changed == [["_exit_code"]]
    assert pair.standby.value("_exit_code") == "3"
    assert pair.standby.follow(deleted=["_exit_code"]) == []
    assert "NameError" in str(pair.standby.run("_exit_code", allow_error=True).error)


_KEEP = (
    "import logging\nclass Keep(logging.Handler):\n    def __init__(self, records):\n        super().__init__()\n"
    "        self.records = records\n    def emit(self, record):\n        self.records.append(record.getMessage())\n"
    "records = []; log = logging.getLogger('banyan.kept')"
)


def test_what_a_handler_of_logging_has_heard(pair: Pair) -> None:
    pair.run(_KEEP)
    pair.run("log.addHandler(Keep(records))")
    pair.run("logging.getLogger('banyan.other').addFilter(lambda record: True)")
    pair.run("log.warning('one')")
    assert pair.standby.value("records, len(log.handlers)") == "(['one'], 1)"
    assert pair.standby.run("log.warning('two'); records").result == "['one', 'two']"


def test_a_handler_of_logging_that_cannot_be_pickled_is_named_and_costs_no_other(pair: Pair) -> None:
    pair.run(_KEEP)
    cell = pair.run(
        "import socket\nclass Sends(Keep):\n    pass\nlog.handlers += [Sends(socket.socket()), Keep(records)]"
    )
    assert cell.failed == ["<loggers: banyan.kept, handler Sends>"]
    assert pair.standby.value("[type(each).__name__ for each in log.handlers]") == "['Keep']"


def test_a_file_that_is_logged_to_is_written_on(pair: Pair, tmp_path: Path) -> None:
    file = tmp_path / "log"
    pair.run(
        f"import logging; log = logging.getLogger('banyan.file'); log.addHandler(logging.FileHandler({str(file)!r}))"
    )
    pair.run("log.warning('one')")
    pair.standby.run("log.warning('two')")
    assert file.read_text() == "one\ntwo\n"


def test_what_a_stream_of_the_users_has_kept(pair: Pair) -> None:
    pair.run(
        "import sys\nclass Tee:\n    def __init__(self, stream):\n        self.stream, self.kept = stream, []\n"
        "    def write(self, text):\n        self.kept.append(text)\n        return self.stream.write(text)\n"
        "    def flush(self):\n        pass\n"
        "sys.stdout = Tee(sys.stdout)"
    )
    assert pair.run("print('one')").stdout == "one\n", (
        "its flush does nothing, and what it passes on comes all the same"
    )
    cell = pair.standby.run("print('two'); sys.stdout.kept")
    assert cell.stdout == "two\n"
    assert cell.result == r"['one', '\n', 'two', '\n']"
    assert pair.standby.follow(deleted=["<hooks: sys.stdout>"]) == []
    assert pair.standby.run("print('three')").stdout == "three\n"


def test_a_hook_that_cannot_be_pickled_is_named_and_costs_no_other(pair: Pair) -> None:
    pair.run("import builtins, socket, sys, threading")
    cell = pair.run(
        "def hook(what, at=socket.socket()):\n    pass\nsys.unraisablehook = hook\nbuiltins.at = socket.socket()\n"
        "threading.excepthook = lambda what: None; builtins.kept = [1]"
    )
    assert {"<hooks: sys.unraisablehook>", "<builtins: at>"} <= set(cell.failed)
    look = "kept, threading.excepthook.__name__, sys.unraisablehook is sys.__unraisablehook__, hasattr(builtins, 'at')"
    assert pair.standby.value(look) == "([1], '<lambda>', True, False)"


def test_patches_that_a_cell_makes_of_what_it_imports_itself(pair: Pair) -> None:
    pair.run("import fractions; fractions.Fraction.half = lambda number: number / 2")
    assert pair.standby.value("fractions.Fraction(1).half()") == "Fraction(1, 2)"
    for worker in (pair.executor, pair.standby):
        assert worker.follow(deleted=["<patches: fractions.Fraction.half>"]) == []
        assert worker.value("hasattr(fractions.Fraction, 'half')") == "False"


def test_a_patch_that_cannot_be_pickled_is_named_and_costs_no_other(pair: Pair) -> None:
    pair.run("import fractions, socket")
    cell = pair.run("fractions.Fraction.at = socket.socket(); fractions.Fraction.half = lambda number: number / 2")
    assert cell.failed == ["<patches: fractions.Fraction.at>"]
    look = "hasattr(fractions.Fraction, 'at'), fractions.Fraction(1).half()"
    assert pair.standby.value(look) == "(False, Fraction(1, 2))"


def test_a_patch_of_mock_is_stopped_where_it_came_to(pair: Pair) -> None:
    pair.run("import textwrap; from unittest import mock\npatch = mock.patch('textwrap.indent', len)\npatch.start()")
    assert pair.standby.value("textwrap.indent('abc')") == "3"
    assert pair.standby.run("patch.stop(); textwrap.indent('abc', '_')").result == "'_abc'"


def test_a_cell_that_patches_nothing_changes_nothing(pair: Pair) -> None:
    pair.run("import pandas as pd, textwrap; from unittest import mock\npd.DataFrame.twice = lambda frame: frame * 2")
    cell = pair.run("x = pd.DataFrame({'a': [1]}).groupby('a').size(); y = pd.Series([1]).rolling(1).sum()")
    assert [name for names in cell.changed for name in names if name.startswith("<")] == []


def test_what_libraries_register_when_they_are_imported_is_no_change(pair: Pair) -> None:
    pair.run("import pandas as pd, matplotlib.pyplot as plt")
    for cell in ("import copyreg, numpy as np", "import seaborn", "import sklearn.datasets", "import decimal, sqlite3"):
        changed = [name for names in pair.run(cell).changed for name in names]
        assert not [name for name in changed if name.startswith("<patches")], cell
    pair.run("class Odd:\n    pass\ncopyreg.pickle(Odd, lambda odd: 'odd')")
    assert pair.standby.value("Odd in copyreg.dispatch_table, 'mako' in plt.colormaps()") == "(True, True)"
    changed = [name for names in pair.standby.run("x = 1").changed for name in names]
    assert changed == ["x"]


def test_a_finder_of_the_users_finds_what_variables_are_loaded_with(pair: Pair) -> None:
    pair.run(
        "import importlib.abc, importlib.machinery, sys\n"
        "class Finds(importlib.abc.MetaPathFinder, importlib.abc.Loader):\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        return importlib.machinery.ModuleSpec(name, self) if name == 'made_up' else None\n"
        "    def exec_module(self, module):\n"
        "        exec('class Thing:\\n    size = 7', vars(module))\n"
        "sys.meta_path.append(Finds())\n"
        "import made_up; thing = made_up.Thing()"
    )
    assert pair.standby.value("thing.size, type(sys.meta_path[-1]).__name__, len(sys.meta_path)") == (
        pair.executor.value("thing.size, type(sys.meta_path[-1]).__name__, len(sys.meta_path)")
    )


def test_a_log_of_the_shell_goes_on_where_it_was_begun(pair: Pair, tmp_path: Path) -> None:
    """Its name is relative to the directory of then; what was written before stays."""
    (tmp_path / "below").mkdir()
    pair.run(f"import os; os.chdir({str(tmp_path)!r})")
    pair.run("%logstart -q notes.log")
    pair.run("first = 1")
    pair.run("os.chdir('below')")
    pair.run("%xmode Minimal")
    pair.standby.run("second = 2")
    logged = (tmp_path / "notes.log").read_text()
    assert "first = 1" in logged
    assert "second = 2" in logged
    assert not (tmp_path / "below" / "notes.log").exists()


def test_a_process_that_has_read_the_hosts_types_and_one_that_has_not_know_the_same(pair: Pair) -> None:
    """What cells set before the module reads them is in what it begins with."""
    pair.run("import mimetypes; mimetypes.types_map['.early'] = 'x/early'")
    pair.run("mimetypes.init(); mimetypes.add_type('x/late', '.late'); del mimetypes.types_map['.html']")
    for each in ("early", "late", "html"):
        look = f"mimetypes.guess_type('a.{each}')"
        assert pair.executor.value(look) == pair.standby.value(look), each
    assert pair.standby.value("mimetypes.guess_type('a.late'), mimetypes.guess_extension('x/late')") == (
        "(('x/late', None), '.late')"
    )
    assert pair.standby.follow(deleted=["<mimetypes>"]) == []
    look = "[mimetypes.guess_type(f'a.{each}')[0] for each in ('early', 'late', 'html')]"
    assert pair.standby.value(look) == "[None, None, 'text/html']"
