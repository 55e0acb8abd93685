"""Variables that are live objects of the process: on another worker, and after a checkout, they are its live ones."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from test_replication import Pair, pair
from test_standalone import Kernel, kernel

__all__ = ["kernel", "pair"]

LIVE = {
    "sys.path": "",
    "sys.argv": "",
    "sys.modules": "",
    "sys.meta_path": "",
    "sys.path_hooks": "",
    "sys.stdout": "",
    "os.environ": "",
    "os.environ._data": "",
    "warnings.filters": "",
    "logging.getLogger()": "",
    "logging.root.handlers": "",
    "logging.root.manager": "",
    "vars(builtins)": "",
    "vars(math)": "",
    "random._inst": "",
    "copyreg.dispatch_table": "",
    "mimetypes.types_map": "mimetypes",
    "linecache.cache": "linecache",
    "np.random.mtrand._rand": "numpy.random",
    "plt.rcParams": "matplotlib.pyplot",
    "plt.rcParamsDefault": "matplotlib.pyplot",
    "plt.style.library": "matplotlib.pyplot",
    "matplotlib.colormaps": "matplotlib.pyplot",
    "pd.options": "pandas",
    "pd.options.display.d": "pandas",
    "get_ipython()": "",
    "get_ipython().events": "",
    "get_ipython().config": "",
    "get_ipython().user_ns": "",
    "get_ipython().display_formatter.formatters['text/html']": "",
    "get_ipython().input_transformers_cleanup": "",
    "get_ipython().magics_manager.magics['line']": "",
    "Out": "",
    "In": "",
}
IMPORTS = "import builtins, copyreg, logging, math, os, random, sys, warnings\n"
_ALL = pytest.mark.parametrize(("live", "needs"), LIVE.items(), ids=LIVE)


def imports(needs: str) -> str:
    short = {"matplotlib.pyplot": "import matplotlib, matplotlib.pyplot as plt", "pandas": "import pandas as pd"}
    return IMPORTS + (short.get(needs) or (f"import numpy as np, {needs}" if needs else ""))


@_ALL
def test_is_the_live_object_on_another_worker(pair: Pair, live: str, needs: str) -> None:
    pytest.importorskip(needs) if needs else None
    pair.run(imports(needs))
    pair.run(f"alias, held = {live}, {{'within': [{live}]}}")
    assert pair.standby.value(f"alias is ({live}), held['within'][0] is alias") == "(True, True)"


@_ALL
def test_is_the_live_object_after_a_checkout_and_back(kernel: Callable[..., Kernel], live: str, needs: str) -> None:
    pytest.importorskip(needs) if needs else None
    one = kernel()
    for code in ("%load_ext banyan", imports(needs), "%tag before", f"alias, held = {live}, {{'within': [{live}]}}"):
        assert one.run(code).status == "ok"
    for magic in ("%tag after", "%checkout before", "%checkout after"):
        cell = one.run(magic)
        assert cell.status == "ok", cell.error
    assert one.value(f"alias is ({live}), held['within'][0] is alias") == "(True, True)"


def test_what_cells_put_into_one_of_the_interpreter_goes_along_as_it_does_without_the_variable(pair: Pair) -> None:
    pair.run("import os, sys, warnings\nenv, path, filters = os.environ, sys.path, warnings.filters")
    pair.run("env['BANYAN_ALIAS'] = 'x'; path.append('/nowhere'); filters.insert(0, ('error', None, Warning, None, 7))")
    assert pair.standby.value("os.environ['BANYAN_ALIAS'], sys.path[-1], warnings.filters[0][4]") == (
        "('x', '/nowhere', 7)"
    )
    pair.standby.run("env['BANYAN_ALIAS'] = 'y'; del path[-1]")
    assert pair.standby.value("os.getenv('BANYAN_ALIAS'), '/nowhere' in sys.path") == "('y', False)"


def test_what_cells_put_into_one_of_a_library_goes_along(pair: Pair) -> None:
    pair.run("import difflib, string, http.server\nshared = [1]\ntable = http.server.BaseHTTPRequestHandler.responses")
    pair.run("import calendar, json.encoder\nescapes = json.encoder.ESCAPE_DCT")
    pair.run("escapes['\\x7f'] = shared; escapes['own'] = escapes")
    look = "escapes is json.encoder.ESCAPE_DCT, escapes['\\x7f'] is shared, escapes['own'] is escapes, escapes['\\n']"
    assert pair.standby.value(look) == "(True, True, True, '\\\\n')"


def test_one_that_was_replaced_is_the_users_own(pair: Pair) -> None:
    pair.run("import json.encoder\nold = json.encoder.ESCAPE_DCT; copy = dict(old)")
    pair.run("old['x'] = 'y'; copy['z'] = 1")
    assert pair.standby.value("copy is json.encoder.ESCAPE_DCT, 'z' in old, old['x'], copy['z']") == (
        "(False, False, 'y', 1)"
    )


def test_changing_one_changes_no_variable(pair: Pair) -> None:
    pair.run("import os\nenv = os.environ; apart = 1")
    assert pair.run("env['BANYAN_ALIAS'] = 'z'").changed == [["<environ>"]]
