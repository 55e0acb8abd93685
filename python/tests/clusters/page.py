"""The tables of docs/guide/clusters.md: `python page.py` prints them."""

from __future__ import annotations

from handles import Library
from of_dask import DASK
from of_ray import RAY
from of_spark import SPARK

LIBRARIES = (DASK, RAY, SPARK)


def tables() -> str:
    return "\n\n".join(f"## {library.name}\n\n{_table(library)}" for library in LIBRARIES)


def _table(library: Library) -> str:
    rows = [
        "| What a variable holds | Cluster beside the session | Cluster that the session started |",
        "|---|---|---|",
    ]
    rows += [
        f"| `{each.kind}`{', ' * bool(each.form)}{each.form} | {each.fate} | {each.inside} |"
        for each in library.handles
    ]
    return "\n".join(rows)


if __name__ == "__main__":
    print(tables())
