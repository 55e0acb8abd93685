"""The cells of `bench state`, with our goals and what the peers (Kishu, ElasticNotebook) take on another machine.

The session: 200 small variables, an array of 100 MB, a frame of 1,000,000 rows × 3 numbers, then also with a column of
strings. Numbers are normally distributed with fixed seeds, strings objects of their own: no data that suits a store.
"""

from dataclasses import dataclass

ARRAY_BYTES = 100_000_000
ROWS = 1_000_000
COLUMN_BYTES = 8 * ROWS
FRAME_BYTES = 3 * COLUMN_BYTES
_HEADROOM = 10_000  # bytes that describe a column beside its values

_IMPORTS = "import numpy as np, pandas as pd"
_SMALL = """
for number in range(200):
    kind = number % 4
    globals()[f"v{number}"] = (number, f"text {number}", [number, number + 1], {"key": number, "more": [number]})[kind]
del number, kind
"""
_ARRAY = f"""
generator = np.random.default_rng({{seed}})
array = generator.standard_normal({ARRAY_BYTES // 8})
"""
_FRAME = f"""
frame = pd.DataFrame({{name: generator.standard_normal({ROWS}) for name in "abc"}})
"""
_STRINGS = f"""
frame["name"] = [f"customer-{{n:06}}" for n in generator.integers(0, 50_000, {ROWS})]
"""


def setup(seed: int, *, strings: bool) -> list[str]:
    """Sessions of one platform need different seeds: its store keeps equal bytes once."""
    return [_IMPORTS, _SMALL, _ARRAY.format(seed=seed), _FRAME + (_STRINGS if strings else "")]


@dataclass(frozen=True)
class Peers:
    """The times of Kishu for the same cell on another machine, in its default and in its experimental mode."""

    default: str = ""
    experimental: str = ""


@dataclass(frozen=True)
class Case:
    """A cell; `{n}` is a number that differs in each repetition.

    `back` undoes it by hand, for a kernel that cannot; `look` reads the variable; empty when the cell changes nothing.
    `copy_bytes`: the variable after an undo, whose copy no undo can avoid.
    """

    name: str
    code: str
    time_ms_max: float | None = None
    bytes_max: int | None = None
    peers: Peers = Peers()
    back: str = ""
    look: str = ""
    copy_bytes: int = 0
    undo_peers: Peers = Peers()


TRIVIAL_MS_MAX = 2.0
UNDO_MS_MAX = 50.0
STORE_MB_MAX = 130.0
FINGERPRINT_RATIO_MAX = 2.0

TRIVIAL = Case(
    "int",
    "v4 += {n}",
    time_ms_max=TRIVIAL_MS_MAX,
    peers=Peers("24 ms, 7.1 kB", "24 ms, 7.1 kB"),
    back="v4 -= {n}",
    look="v4",
    undo_peers=Peers("52 ms", "72 ms"),
)
_SMALL_ARRAY = Case(
    "small_array",
    "small_{n} = np.array([{n}.0, 2.0, 3.0])",
    time_ms_max=5,
    bytes_max=1000,
    peers=Peers("490 ms, 124 MB", "27 ms, 212 B"),
    back="del small_{n}",
    look="'small_{n}' in dir()",
    copy_bytes=24,
    undo_peers=Peers("1370 ms", "86 ms"),
)
_READ_ARRAY = Case("read_array", "float(array[{n}])", 5, 0, Peers("148 ms", "37 ms"))
_READ_FRAME = Case("read_frame", "float(frame['a'].iloc[{n}])", 5, 0, Peers("138 ms", "24 ms"))
_ELEMENT = Case(
    "array_element",
    "array[{n} * 1000] = {n}.5",
    time_ms_max=40,
    bytes_max=1_000_000,
    peers=Peers("610 ms, 124 MB", "560 ms, 100 MB"),
    back="array[{n} * 1000] = 0.5",
    look="float(array[{n} * 1000])",
    copy_bytes=ARRAY_BYTES,
    undo_peers=Peers("1170 ms", "380 ms"),
)
_COLUMN = Case(
    "frame_column",
    "frame['d{n}'] = frame['a'] * {n}.25",
    bytes_max=COLUMN_BYTES + _HEADROOM,
    peers=Peers("520 ms, 132 MB", "200 ms, 32 MB"),
    back="del frame['d{n}']",
    look="list(frame.columns), float(frame['b'].iloc[{n}])",
    copy_bytes=FRAME_BYTES,
    undo_peers=Peers("850 ms", "134 ms"),
)
_STRING_ROW = Case(
    "string_cell",
    "frame.loc[{n}, 'name'] = 'changed {n}'",
    back="frame.loc[{n}, 'name'] = 'changed back'",
    look="frame.loc[{n}, 'name']",
    copy_bytes=FRAME_BYTES,
)

NUMBERS = (TRIVIAL, _SMALL_ARRAY, _READ_ARRAY, _READ_FRAME, _ELEMENT, _COLUMN)
# The peers were not measured with a column of strings.
STRINGS = (TRIVIAL, _SMALL_ARRAY, _READ_ARRAY, _READ_FRAME, _ELEMENT, _COLUMN, _STRING_ROW)

# The 21 cells after which the store is weighed.
FIRST_CELLS = [
    *setup(1, strings=False),
    *(case.code.format(n=n) for n in (1, 2, 3, 4) for case in (TRIVIAL, _READ_ARRAY, _READ_FRAME)),
    *(_SMALL_ARRAY.code.format(n=n) for n in (1, 2, 3)),
    _ELEMENT.code.format(n=1),
    _COLUMN.code.format(n=1),
]
STORE_PEERS = Peers("729 MB", "257 MB")

TRIVIAL_AT = (0, 50, 300, 600, 1000)
TRIVIAL_PEERS = {0: "2.7 (no Kishu)", 50: "42", 300: "124", 600: "190"}
UNDO_LATE_PEERS = Peers("1900 ms at 600", "")


def filler(number: int) -> str:
    """What happens in a session between two measurements: small cells, each of another variable."""
    return (f"v{number % 50 * 4} += 1", f"v{number % 50 * 4 + 2}.append({number})", f"v{number % 50 * 4 + 3}")[
        number % 3
    ]


@dataclass(frozen=True)
class FingerprintPeers:
    """Seconds that the peers took on another machine; a dash where nothing was measured."""

    label: str
    pickle: str
    kishu_default: str
    kishu_experimental: str
    elastic_notebook: str


FINGERPRINTS = {
    "list_1e6_ints": FingerprintPeers("list of 1e6 ints", ".006", ".85", "1.33", ".25"),
    "dict_1e5_dicts": FingerprintPeers("dict of 1e5 small dicts", ".040", ".91", "2.17", ".18 (values skipped)"),
    "frame_numbers": FingerprintPeers("frame 1M rows, numbers", ".012", ".04", ".001", "flag only"),
    "frame_strings": FingerprintPeers("+ a string column", ".114", "1.84", "<.001", "flag only"),
    "array_100mb": FingerprintPeers("100 MB array", ".041", ".13", ".005", ".006"),
    "set_1e6_texts": FingerprintPeers("set of 1e6 texts", "-", "-", "-", "-"),
    "instances_1e5": FingerprintPeers("1e5 instances", ".087", "1.48", "12.4", "1.43"),
}
