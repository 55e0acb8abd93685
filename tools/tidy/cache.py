"""Remembers inputs that passed a slow check, by content, in the user's cache folder (shared, safe to delete)."""

import hashlib
import os
from pathlib import Path


def _folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "banyan-tidy"


class Cache:
    """Passed inputs of one check. Failures are not remembered: they are printed again each time."""

    def __init__(self, check: str, folder: Path | None = None) -> None:
        self._folder = (folder or _folder()) / check

    @staticmethod
    def key(*inputs: str | bytes) -> str:
        digest = hashlib.sha256()
        for item in inputs:
            data = item.encode() if isinstance(item, str) else item
            digest.update(len(data).to_bytes(8, "little") + data)
        return digest.hexdigest()

    def passed(self, key: str) -> bool:
        path = self._path(key)
        if not path.exists():
            return False
        path.touch()
        return True

    def remember(self, key: str) -> None:
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / key[2:]
