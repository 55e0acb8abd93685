"""A platform with a JupyterLab for tests in other languages: `python -m harness.serve FOLDER [--lossy]`.

Prints one line of JSON, {"url", "token", "lab", "platform", "pids"}, when both serve; ends with its stdin. A line of
that is a command; when it is done, {} is printed:

    restart gateway SIGTERM     ends the gateway (or "lab", the Jupyter Server) by a signal, and starts it again
    swallow lab                 --lossy: what the Jupyter Server sends to pages vanishes from now on; "gateway": what
                                the gateway sends to the Jupyter Server
    reset lab                   --lossy: resets those connections, and swallows no more
"""

import json
import signal
import sys
from contextlib import ExitStack
from pathlib import Path

from dev import live, ui

from harness.client import wait_until
from harness.lossy import LossyProxy
from harness.platform import Platform


class Served:
    """The platform and its JupyterLab; making the object starts both."""

    def __init__(self, folder: Path, stack: ExitStack, *, lossy: bool) -> None:
        self._folder = folder
        self._platform = Platform(folder / "platform")
        stack.callback(self._platform.stop)
        self._proxies: dict[str, LossyProxy] = {}
        self._gateway = self._platform.url
        self._port = live.free_port(None)
        if lossy:
            self._proxies["gateway"] = stack.enter_context(LossyProxy(self._gateway))
            self._proxies["lab"] = stack.enter_context(LossyProxy(f"http://127.0.0.1:{self._port}"))
            self._gateway = self._proxies["gateway"].url
        self._lives = 0
        self._lab = self._start_lab()
        stack.callback(lambda: self._lab.stop())

    def described(self) -> dict[str, object]:
        pids = {daemon: self._platform.pid(daemon) for daemon in ("gateway", *self._platform.hosts)}
        lab = self._proxies["lab"].url + f"/lab?token={self._platform.token}" if self._proxies else self._lab.url
        where = {"url": self._platform.url, "lab": lab, "platform": str(self._platform.folder)}
        return where | {"token": self._platform.token, "pids": pids}

    def do(self, command: str, where: str, how: str = "") -> None:
        if command == "swallow":
            self._proxies[where].swallow()
        elif command == "reset":
            self._proxies[where].reset()
        elif where == "gateway":
            self._platform.kill("gateway", signal.Signals[how])
            self._platform.restart("gateway")
        else:
            self._lab.child.process.send_signal(signal.Signals[how])
            wait_until(lambda: not self._lab.child.running(), "JupyterLab has ended")
            self._lab = self._start_lab()

    def _start_lab(self) -> live.Lab:
        self._lives += 1
        return live.Lab(
            gateway=self._gateway,
            token=self._platform.token,
            port=self._port,
            notebooks=self._folder / "notebooks",
            log=self._folder / f"lab-{self._lives}.log",
        )


def main(folder: Path, *, lossy: bool) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        served = Served(folder, stack, lossy=lossy)
        print(json.dumps(served.described()), flush=True)
        for line in sys.stdin:
            served.do(*line.split())
            print("{}", flush=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(Path(sys.argv[1]), lossy="--lossy" in sys.argv[2:]))
    except ui.UserError as error:
        sys.exit(str(error))
