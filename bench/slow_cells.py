"""Cells that real notebooks have and that once were much slower in a session than in a plain kernel: each on both.

A case begins in new kernels. Its last cell is timed, from its request to its reply; the earlier ones prepare it. What a
plain kernel cannot do (an undo) is timed in the session only.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import _report
from _kernels import Kernel, Plain, Session
from harness.platform import Platform

_TEXTS = "S = {str(i) for i in range(2_600_000)}"
_FIGURE = "figure, axes = plt.subplots(2, 2)\nfor each in axes.flat:\n    each.plot(range(100))\nplt.show()"
_BUSY = (
    "import time\nbegun = time.process_time()\nwhile time.process_time() - begun < 3: pass\nunread = (i for i in [1])"
)


@dataclass(frozen=True)
class Case:
    """`before_s`: what the session took when the case was found, where that was written down."""

    name: str
    cells: tuple[str, ...]
    timed: str
    before_s: str
    session_only: bool = False


CASES = [
    Case("a set of 2.6 million texts is made", (), _TEXTS, "9.4"),
    Case("a later cell that names the set", (_TEXTS,), "len(S)", "5.3 to 5.8"),
    *(
        Case(
            f"`pass` beside {count:,} variables",
            (f"for i in range({count}): globals()[f'v{{i}}'] = [i]", "pass"),
            "pass",
            before,
        )
        for count, before in ((4000, "0.026"), (8000, "0.27, 6 at first"))
    ),
    Case(
        "the cell after an undo, 29 cells of widgets before it",
        (
            "import ipywidgets",
            *(f"w{n} = ipywidgets.IntSlider(value={n}); b{n} = ipywidgets.VBox([w{n}])" for n in range(29)),
            "x = 1",
            "%undo",
        ),
        "y = 2",
        "up to 58",
        session_only=True,
    ),
    Case("a cell that draws a figure", ("import matplotlib.pyplot as plt", _FIGURE, _FIGURE), _FIGURE, "+ 0.3 to 0.8"),
    Case(
        "the first fit of scikit-learn",
        ("import numpy as np\nfrom sklearn.ensemble import RandomForestClassifier",),
        "RandomForestClassifier(20).fit(np.arange(4000).reshape(1000, 4), np.arange(1000) % 2);",
        "1.5",
    ),
    Case(
        "the cell after a checkout, 3 s of work for a value that nobody reads",
        (_BUSY, "x = 1", "%checkout HEAD~1"),
        "y = 2",
        "all of the work again",
        session_only=True,
    ),
]


def main() -> None:
    options = _report.arguments(__doc__).parse_args()
    with tempfile.TemporaryDirectory(prefix="banyan-slow-cells-", dir="/var/tmp") as folder:
        _report.progress("starting a platform of 3 hosts")
        platform = Platform(Path(folder), hosts=3)
        try:
            rows = []
            for done, case in enumerate(CASES):
                _report.bar(done, len(CASES), case.name)
                rows.append(measure(platform, case))
        finally:
            platform.stop()
    _report.bar(len(CASES), len(CASES), "done")
    _report.report({"rows": rows, **_report.machine()}, table(rows), as_json=options.json)


def measure(platform: Platform, case: Case) -> dict[str, Any]:
    plain_s = None
    if not case.session_only:
        with Plain() as kernel:
            plain_s = timed_s(kernel, case)
    with Session(platform.gateway) as session:
        return {"name": case.name, "plain_s": plain_s, "banyan_s": timed_s(session, case), "before_s": case.before_s}


def timed_s(kernel: Kernel, case: Case) -> float:
    for cell in case.cells:
        kernel.run(cell)
    return kernel.run(case.timed).wall_ms / 1000


def table(rows: list[dict[str, Any]]) -> list[list[str]]:
    lines = [["cell", "plain, s", "Banyan, s", "when it was found, s"]]
    for row in rows:
        plain = "" if row["plain_s"] is None else f"{row['plain_s']:.3f}"
        lines.append([row["name"], plain, f"{row['banyan_s']:.3f}", row["before_s"]])
    return lines


if __name__ == "__main__":
    main()
