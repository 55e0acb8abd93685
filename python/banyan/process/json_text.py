"""JSON as this process speaks it with others, whatever user code makes of the json module meanwhile.

`json.JSONEncoder.item_separator = "; "`, or a json.dumps that gives bytes, is a setting of the session. A frame or a
message that is written so would be none.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any


class _Encoder(json.JSONEncoder):
    encode = json.JSONEncoder.encode
    iterencode = json.JSONEncoder.iterencode


def encoder(default: Callable[[Any], Any] | None = None, *, allow_nan: bool = True) -> Callable[[Any], str]:
    """What json.dumps gives, with characters as they are; the function raises what json.dumps raises.

    default: makes something that has JSON of what has none.
    """
    return _Encoder(default=default or _refuse, ensure_ascii=False, allow_nan=allow_nan, separators=(", ", ": ")).encode


def _refuse(value: object) -> Any:
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


encode = encoder()
decode = json.JSONDecoder().decode
