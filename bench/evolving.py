"""Notebooks whose values change a little in each cell: what a session stores and takes for them, beside a full pickle
of all variables after each cell.

The kinds are those with which Kishu and Chipmink (VLDB 2026) were measured: training with a checkpoint each
epoch, frames that grow, lists of models, a large structure of which little changes.
"""

import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import _report
from _kernels import Plain, Session
from _state_bytes import Store
from harness.platform import Platform


@dataclass(frozen=True)
class Notebook:
    """`cell` runs `cells` times after `prepare`; it may use `n`, the number of the time."""

    name: str
    prepare: str
    cell: str
    cells: int = 10


NOTEBOOKS = [
    Notebook(
        "training, a checkpoint each epoch",
        "import numpy as np\nrng = np.random.default_rng(1)\n"
        "weights = [rng.random((512, 512)) for _ in range(4)]\ncheckpoints = []",
        "for layer in weights: layer += 0.01 * rng.random(layer.shape)\n"
        "checkpoints.append([layer.copy() for layer in weights])",
    ),
    Notebook(
        "training of the last layer only",
        "import numpy as np\nrng = np.random.default_rng(1)\nweights = [rng.random((512, 512)) for _ in range(8)]",
        "weights[-1] += 0.01 * rng.random((512, 512))",
    ),
    Notebook(
        "a frame that gets rows",
        "import numpy as np, pandas as pd\n"
        "def rows(n, k=20_000):\n"
        "    rng = np.random.default_rng(n)\n"
        "    return pd.DataFrame({'t': np.arange(k) + k * n, 'x': rng.random(k), 'y': rng.random(k)})\n"
        "frame = rows(0, 200_000)",
        "frame = pd.concat([frame, rows(n)], ignore_index=True)",
    ),
    Notebook(
        "a frame that gets columns",
        "import numpy as np, pandas as pd\n"
        "frame = pd.DataFrame(np.random.default_rng(1).random((200_000, 5)), columns=list('abcde'))",
        "frame[f'c{n}'] = frame.a * n + frame.b",
    ),
    Notebook(
        "a list of models",
        "import numpy as np\nfrom sklearn.ensemble import RandomForestClassifier\n"
        "rng = np.random.default_rng(1)\nX, y = rng.random((4000, 10)), rng.integers(0, 2, 4000)\nmodels = []",
        "models.append(RandomForestClassifier(30, random_state=n).fit(X, y))",
    ),
    Notebook(
        "a dict of 200,000 lists, one changes",
        "table = {n: [n, str(n)] for n in range(200_000)}",
        "table[n * 1000].append(n)",
    ),
]
# What somebody does who has only pickle: all variables of the notebook, after each cell.
_PICKLE = (
    "import pickle as _pickle\n"
    "_kept = {k: v for k, v in globals().items() if not k.startswith('_') and k not in ('In', 'Out', 'exit', 'quit', "
    "'get_ipython', 'open', 'np', 'pd', 'RandomForestClassifier', 'rows')}\n"
    "_bytes = len(_pickle.dumps(_kept, protocol=5))"
)


def main() -> None:
    options = _report.arguments(__doc__).parse_args()
    rows = []
    for done, notebook in enumerate(NOTEBOOKS):
        _report.bar(done, len(NOTEBOOKS), notebook.name)
        rows.append({"notebook": notebook.name, "cells": notebook.cells} | pickled(notebook) | stored(notebook))
    _report.bar(len(NOTEBOOKS), len(NOTEBOOKS), "done")
    _report.report({"rows": rows, **_report.machine()}, table(rows), as_json=options.json)


def pickled(notebook: Notebook) -> dict[str, float]:
    with Plain() as kernel:
        kernel.run(notebook.prepare)
        plain, pickles, sizes = [], [], []
        for number in range(1, notebook.cells + 1):
            plain.append(kernel.run(f"n = {number}\n{notebook.cell}").wall_ms)
            pickles.append(kernel.run(_PICKLE).wall_ms)
            sizes.append(int(kernel.evaluate("_bytes")))
    return {
        "plain_ms": statistics.median(plain),
        "pickle_ms": statistics.median(pickles),
        "pickles_mb": sum(sizes) / 1e6,
    }


def stored(notebook: Notebook) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="banyan-evolving-", dir="/var/tmp") as folder:
        platform = Platform(Path(folder), hosts=3)
        try:
            with Session(platform.gateway) as session:
                store = Store(platform, session)
                session.run(notebook.prepare)
                before = store.weigh()
                times = []
                for number in range(1, notebook.cells + 1):
                    begun = time.perf_counter()
                    end, _ = session.run_untimed(f"n = {number}\n{notebook.cell}")
                    times.append((end - begun) * 1000)
                return {"session_ms": statistics.median(times), "stored_mb": (store.weigh() - before) / 1e6}
        finally:
            platform.stop()


def table(rows: list[dict[str, Any]]) -> list[list[str]]:
    lines = [
        ["notebook", "plain, ms", "+ pickle, ms", "Banyan, ms", "pickles, MB", "stored, MB", "smaller by", "faster by"]
    ]
    for row in rows:
        over = max(row["session_ms"] - row["plain_ms"], 0.1)
        lines.append(
            [
                row["notebook"],
                f"{row['plain_ms']:.1f}",
                f"{row['pickle_ms']:.1f}",
                f"{row['session_ms']:.1f}",
                f"{row['pickles_mb']:.1f}",
                f"{row['stored_mb']:.1f}",
                f"× {row['pickles_mb'] / max(row['stored_mb'], 0.001):.1f}",
                f"× {row['pickle_ms'] / over:.1f}",
            ]
        )
    return lines


if __name__ == "__main__":
    main()
