"""`python -m compat.child session|follower FOLDER`: one side of the `case` in the folder, in a process of its own.

A session leaves `history` there, a follower `restored`; either leaves `error` when the case itself is at fault.
"""

from __future__ import annotations

import os
import pickle
import sys
import warnings
from pathlib import Path

from compat.case import Case, Library
from compat.follower import follow
from compat.session import CaseError, play


def main(side: str, folder: Path) -> None:
    library: Library
    case: Case
    library, case = pickle.loads((folder / "case").read_bytes())
    warnings.simplefilter("ignore")
    try:
        if side == "session":
            result: object = play(library, case)
        else:
            result = follow(library.setup, case, pickle.loads((folder / "history").read_bytes()))
    except CaseError as error:
        (folder / "error").write_text(str(error))
    else:
        (folder / ("history" if side == "session" else "restored")).write_bytes(pickle.dumps(result))
    sys.stdout.flush()
    os._exit(0)  # ends at once, whatever threads and pools the case has started


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
