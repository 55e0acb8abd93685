"""JSON as this process exchanges it with others, whatever user code does to the json module meanwhile.

A cell may set `json.JSONEncoder.item_separator = "; "`, or replace json.dumps by a function that returns bytes. That is
a setting of the session; a frame or a message must not be written with it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any


class _Encoder(json.JSONEncoder):
    encode = json.JSONEncoder.encode
    iterencode = json.JSONEncoder.iterencode


def encoder(default: Callable[[Any], Any] | None = None, *, allow_nan: bool = True) -> Callable[[Any], str]:
    """A function that gives what json.dumps gives, without escapes for characters beyond ASCII. It raises what
    json.dumps raises.

    default: converts a value that has no JSON into one that has.
    """
    return _Encoder(default=default or _refuse, ensure_ascii=False, allow_nan=allow_nan, separators=(", ", ": ")).encode


def _refuse(value: object) -> Any:
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


encode = encoder()
decode = json.JSONDecoder().decode
