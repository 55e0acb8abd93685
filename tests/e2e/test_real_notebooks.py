"""Cells from public notebooks whose values once differed after a session was suspended, moved or taken over."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from harness.client import Connection, Gateway, wait_until
from harness.platform import Platform


@dataclass(frozen=True)
class Found:
    """Cells, and the value that the expression `look` must have after them."""

    cells: tuple[str, ...]
    look: str
    right: str


FOUND = {
    "options that depend on the terminal": Found(
        ("import pandas as pd", "frame = pd.DataFrame({'a': [1]})"), "pd.get_option('display.max_columns')", "20"
    ),
    "settings of a cell that runs again": Found(
        ("import numpy as np\nnp.set_printoptions(precision=4)\ng = (i for i in [1, 2, 3])", "x = 1"),
        "np.get_printoptions()['precision'], next(g)",
        "(4, 1)",
    ),
    "settings beside a cell that runs again": Found(
        ("import numpy as np\ng = (i for i in [1, 2, 3])", "np.set_printoptions(precision=6)", "next(g)"),
        "np.get_printoptions()['precision'], next(g)",
        "(6, 2)",
    ),
    "draws of an import": Found(
        (
            "import random\nrandom.seed(1)",
            "import sklearn.datasets\niris = sklearn.datasets.load_iris()\ng = (i for i in [1])",
            "random.seed(1)",
        ),
        "random.random() == random.Random(1).random()",
        "True",
    ),
    "numbers of a library's fields": Found(
        ("from sympy import RR; x = RR(2) * 3", "y = 1"), "x, RR", "(mpf('6.0'), RR)"
    ),
    "all names of a library": Found(
        ("from sympy import *", "y = 1"), "RR(1) + y, CC, diff(cos(Symbol('x')))", "(mpf('2.0'), CC, -sin(x))"
    ),
    "functions under interact": Found(
        (
            "from ipywidgets import interact\ndef f(x):\n    return x\ninteract(f, x=3);",
            "@interact(x=True, y=1.0)\ndef g(x, y):\n    return x, y",
            "z = 1",
        ),
        "f(2), g(3, 4)",
        "(2, (3, 4))",
    ),
    "figures of cells that run again": Found(
        (
            "import matplotlib.pyplot as plt",
            "figure, axes = plt.subplots(); axes.plot([1, 2]); figure.live = (i for i in [1])",
            "x = 1",
        ),
        "x",
        "1",
    ),
    "a large set of texts": Found(
        ("texts = {str(i) for i in range(100_000)}", "texts.add('more')"), "len(texts), '7' in texts", "(100001, True)"
    ),
    "settings that change numbers": Found(
        (
            "import decimal, locale, os, sys, time\nimport numpy as np, sklearn",
            "np.seterr(divide='raise'); sklearn.set_config(transform_output='pandas')\n"
            "decimal.getcontext().prec = 7; sys.setrecursionlimit(4321)\n"
            "locale.setlocale(locale.LC_NUMERIC, 'C.UTF-8'); os.environ['TZ'] = 'Asia/Tokyo'; time.tzset()",
        ),
        "np.geterr()['divide'], sklearn.get_config()['transform_output'], decimal.Decimal(1) / 7, "
        "sys.getrecursionlimit(), locale.setlocale(locale.LC_NUMERIC), time.tzname[0]",
        "('raise', 'pandas', Decimal('0.1428571'), 4321, 'C.UTF-8', 'JST')",
    ),
    "a handler of logging that writes to a variable": Found(
        (
            "import logging\nrecords = []\nclass Keep(logging.Handler):\n    def emit(self, record):\n"
            "        records.append(record.getMessage())\nlog = logging.getLogger('mine')",
            "log.addHandler(Keep()); log.addFilter(lambda record: 'not' not in record.msg); logging.disable(10)",
            "log.warning('one')",
        ),
        "log.warning('not this'); log.warning('two'); records, logging.root.manager.disable",
        "(['one', 'two'], 10)",
    ),
    "hooks and streams": Found(
        (
            "import builtins, gc, sys, threading\nclass Tee:\n    def __init__(self, stream):\n"
            "        self.stream, self.kept = stream, []\n    def write(self, text):\n        self.kept.append(text)\n"
            "        return self.stream.write(text)\n    def flush(self):\n        self.stream.flush()\nfailed = []",
            "sys.stdout = Tee(sys.stdout); builtins.shout = str.upper; sys.argv.append('--fast')\n"
            "threading.excepthook = lambda what: failed.append(what.exc_type.__name__)",
            "print('one')",
        ),
        "thread = threading.Thread(target=lambda: 1 / 0); thread.start(); thread.join()\n"
        "sys.stdout.kept, shout('x'), sys.argv[-1], failed",
        r"(['one', '\n'], 'X', '--fast', ['ZeroDivisionError'])",
    ),
    "patches of libraries": Found(
        (
            "import pandas as pd, textwrap\nfrom unittest import mock",
            "pd.DataFrame.twice = lambda frame: frame * 2\nmock.patch('textwrap.indent', len).start();\n"
            "@pd.api.extensions.register_series_accessor('odd')\nclass Odd:\n"
            "    def __init__(self, series):\n        self.size = len(series)",
            "x = 1",
        ),
        "int(pd.DataFrame({'a': [2]}).twice().a[0]), textwrap.indent('abc'), pd.Series([1, 2]).odd.size",
        "(4, 3, 2)",
    ),
    "the exit code of a command": Found(("!exit 3", "x = 1"), "_exit_code, x", "(3, 1)"),
}


def suspend(platform: Platform, gateway: Gateway, kernel: str) -> None:
    for what in ("suspend", "resume"):
        answer = gateway.call("POST", f"/api/banyan/sessions/{kernel}/{what}", json={}, timeout=120)
        assert answer.status_code == 200, answer.text


def move_to_a_new_host(platform: Platform, gateway: Gateway, kernel: str) -> None:
    members = {row["host"] for row in gateway.session(kernel)["replicas"]}
    migrate(gateway, kernel, min(gateway.hosts_up() - members))


def move_to_a_standby(platform: Platform, gateway: Gateway, kernel: str) -> None:
    members = {row["host"] for row in gateway.session(kernel)["replicas"]}
    migrate(gateway, kernel, min(members - {gateway.executor(kernel)}))


def migrate(gateway: Gateway, kernel: str, host: str) -> None:
    answer = gateway.call("POST", f"/api/banyan/sessions/{kernel}/migrate", json={"host": host}, timeout=120)
    assert answer.status_code == 200, answer.text
    assert answer.json()["lost"] == []


def lose_the_host(platform: Platform, gateway: Gateway, kernel: str) -> None:
    executor = gateway.session(kernel)["executor"]
    if not executor:  # It was lost with the host of another session before, for so long that others took its place.
        return
    platform.kill(executor)
    wait_until(lambda: gateway.session(kernel)["executor"] not in ("", None, executor), "another one leads", timeout=60)


WAYS = (suspend, move_to_a_standby, move_to_a_new_host, lose_the_host)


@pytest.mark.parametrize("way", WAYS)
def test_values_are_those_of_before(
    platform: Platform, gateway: Gateway, way: Callable[[Platform, Gateway, str], None]
) -> None:
    """Moves the sessions of all cases in one test, because the moves take most of the time."""
    kernels = {}
    for name, found in FOUND.items():
        kernels[name] = kernel = gateway.start_kernel(name="python3")
        with Connection(gateway, kernel) as session:
            for cell in found.cells:
                assert session.run(cell, timeout=90).status == "ok"
    seen = {}
    for name, kernel in kernels.items():
        way(platform, gateway, kernel)
        with Connection(gateway, kernel) as session:
            cell = session.run(FOUND[name].look, timeout=90)
            seen[name] = cell.result
            assert not cell.shown, "what it did not make"
        platform.repair()
        gateway.delete_kernel(kernel)
    assert seen == {name: found.right for name, found in FOUND.items()}
