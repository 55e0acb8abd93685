"""Packing of a Jupyter message's parts that never fails on text: a lone surrogate becomes "?"."""

from __future__ import annotations

import json

from jupyter_client.jsonutil import json_clean, json_default
from jupyter_client.session import json_packer


def pack(part: object) -> bytes:
    """One part of a message as JSON in UTF-8.

    jupyter_client raises on a lone surrogate, and ipykernel's output thread then loses what it was told to flush:
    each later flush waits its ten seconds.
    """
    try:
        return bytes(json_packer(part))
    except UnicodeEncodeError:
        text = json.dumps(json_clean(part), default=json_default, ensure_ascii=False, allow_nan=False)
        return text.encode(errors="replace")
