"""A platform with a JupyterLab for tests in other languages: `python -m dev.serve FOLDER`.

Prints one line of JSON, {"url", "token", "lab", "platform", "pids"}, when both serve; ends with its stdin."""

import json
import secrets
import sys
from pathlib import Path

from dev import live, ui


def main(folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    token = secrets.token_hex(16)
    platform = live.Platform(folder / "platform", hosts=4, port=live.free_port(None), token=token)
    try:
        lab = live.Lab(
            gateway=platform.url,
            token=token,
            port=live.free_port(None),
            notebooks=folder / "notebooks",
            log=folder / "lab.log",
        )
        try:
            description = json.loads((folder / "platform" / "platform.json").read_text())
            ready = {"url": platform.url, "token": token, "lab": lab.url, "platform": str(folder / "platform")}
            print(json.dumps(ready | {"pids": description["pids"]}), flush=True)
            sys.stdin.read()
        finally:
            lab.stop()
    finally:
        platform.stop()
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(Path(sys.argv[1])))
    except ui.UserError as error:
        sys.exit(str(error))
