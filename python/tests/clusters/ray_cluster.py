"""A cluster of ray that is no child of a session, for tests in a network of their own: ray listens on all addresses."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
import time
from pathlib import Path

OWN_NETWORK = bool(os.environ.get("BANYAN_TEST_NETWORK"))
AUTH = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(16)}
_PORT = 6390
ADDRESS = f"127.0.0.1:{_PORT}"
_READY_S = 60.0


class Cluster:
    """It ends with the process that waits for it."""

    def __init__(self, log: Path) -> None:
        self._folder = Path("/tmp") / f"ray-{secrets.token_hex(4)}"  # paths of Unix sockets are short
        ray = Path(sys.executable).with_name("ray")
        options = [f"--port={_PORT}", "--num-cpus=4", "--include-dashboard=false", "--disable-usage-stats", "--block"]
        argv = [ray, "start", "--head", *options, f"--temp-dir={self._folder}"]
        with log.open("w") as output:
            self._process = subprocess.Popen(argv, stdout=output, stderr=output, env={**os.environ, **AUTH})
        ends = time.monotonic() + _READY_S
        while "Ray runtime started" not in log.read_text():  # its port answers before it has a node
            assert self._process.poll() is None and time.monotonic() < ends, log.read_text()
            time.sleep(0.2)

    def end(self) -> None:
        self._process.terminate()
        self._process.wait(60)
        shutil.rmtree(self._folder, ignore_errors=True)
