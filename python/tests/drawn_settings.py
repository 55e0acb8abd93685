"""Settings of the libraries at hand, drawn at random."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Setting:
    """`before` imports what it is about, `change` sets it, `look` says what it is."""

    before: str
    change: str
    look: str


def _rc(rng: random.Random) -> Setting:
    key = rng.choice(
        ["lines.linewidth", "font.size", "axes.labelsize", "figure.dpi", "legend.fontsize", "xtick.labelsize"]
    )
    look = f"mpl.rcParams[{key!r}]"
    return Setting("import matplotlib as mpl", f"{look} = {rng.randint(3, 40)}.5", look)


def _pandas(rng: random.Random) -> Setting:
    key = rng.choice(
        ["display.precision", "display.max_rows", "display.width", "display.max_columns", "display.min_rows"]
    )
    return Setting("import pandas as pd", f"pd.set_option({key!r}, {rng.randint(2, 90)})", f"pd.get_option({key!r})")


def _numpy(rng: random.Random) -> Setting:
    if rng.random() < 0.5:
        kind, how = rng.choice(["divide", "over", "invalid"]), rng.choice(["ignore", "warn", "raise", "print"])
        return Setting("import numpy as np", f"_ = np.seterr({kind}={how!r})", f"np.geterr()[{kind!r}]")
    key = rng.choice(["precision", "threshold", "edgeitems", "linewidth"])
    return Setting(
        "import numpy as np", f"np.set_printoptions({key}={rng.randint(2, 99)})", f"np.get_printoptions()[{key!r}]"
    )


def _sklearn(rng: random.Random) -> Setting:
    key, values = rng.choice(
        [("display", ["text", "diagram"]), ("working_memory", [64, 128]), ("assume_finite", [True, False])]
    )
    return Setting(
        "import sklearn", f"sklearn.set_config({key}={rng.choice(values)!r})", f"sklearn.get_config()[{key!r}]"
    )


def _decimal(rng: random.Random) -> Setting:
    return Setting("import decimal", f"decimal.getcontext().prec = {rng.randint(3, 60)}", "decimal.getcontext().prec")


def _interpreter(rng: random.Random) -> Setting:
    return rng.choice(
        [
            Setting("import sys", f"sys.setrecursionlimit({rng.randint(3000, 9000)})", "sys.getrecursionlimit()"),
            Setting("import gc", f"gc.set_threshold({rng.randint(600, 900)}, 9, 9)", "gc.get_threshold()"),
            Setting("import socket", f"socket.setdefaulttimeout({rng.randint(9, 99)})", "[socket.getdefaulttimeout()]"),
            Setting("import csv", f"_ = csv.field_size_limit({rng.randint(9000, 99000)})", "csv.field_size_limit()"),
            Setting(
                "import csv",
                f"csv.register_dialect('odd', delimiter={rng.choice('|;:')!r})",
                "'odd' in csv.list_dialects() and csv.get_dialect('odd').delimiter",
            ),
        ]
    )


def _library(rng: random.Random) -> Setting:
    number = rng.randint(2, 99)
    return rng.choice(
        [
            Setting("import PIL.Image", f"PIL.Image.MAX_IMAGE_PIXELS = {number}", "PIL.Image.MAX_IMAGE_PIXELS"),
            Setting(
                "import PIL.Image", f"PIL.Image.register_extension('O', '.o{number}')", "sorted(PIL.Image.EXTENSION)"
            ),
            Setting(
                "import PIL.ImageFile",
                "PIL.ImageFile.LOAD_TRUNCATED_IMAGES = True",
                "PIL.ImageFile.LOAD_TRUNCATED_IMAGES",
            ),
            Setting("import tqdm", f"tqdm.tqdm.monitor_interval = {number}", "tqdm.tqdm.monitor_interval"),
            Setting(
                "import requests.adapters",
                f"requests.adapters.DEFAULT_RETRIES = {number}",
                "requests.adapters.DEFAULT_RETRIES",
            ),
            Setting("import requests.models as models", f"models.ITER_CHUNK_SIZE = {number}", "models.ITER_CHUNK_SIZE"),
            Setting(
                "import http.client",
                f"http.client.HTTPConnection.debuglevel = {number % 3}",
                "http.client.HTTPConnection.debuglevel",
            ),
            Setting(
                "import mimetypes; mimetypes.init()",
                f"mimetypes.add_type('x/o', '.o{number}')",
                f"mimetypes.guess_type('a.o{number}')",
            ),
            Setting("import mpmath", f"mpmath.mp.dps = {number}", "mpmath.mp.dps"),
            Setting(
                "import seaborn as sns",
                f"sns.set_theme(font_scale={number % 4 + 1})",
                "__import__('matplotlib').rcParams['font.size']",
            ),
            Setting(
                "import joblib",
                f"joblib.register_parallel_backend('o{number}', joblib.parallel.ThreadingBackend)",
                "sorted(joblib.parallel.BACKENDS)",
            ),
            Setting(
                "import multiprocessing as mp",
                "mp.set_start_method('spawn', force=True)",
                "type(mp.context._default_context._actual_context).__name__",
            ),
            Setting(
                "import urllib.request",
                "urllib.request.install_opener(urllib.request.build_opener())",
                "urllib.request._opener is None",
            ),
        ]
    )


def draw(rng: random.Random) -> Setting:
    return rng.choice([_rc, _pandas, _numpy, _sklearn, _decimal, _interpreter, _library, _library, _library])(rng)
