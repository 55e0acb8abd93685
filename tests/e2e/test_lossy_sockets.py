"""Output that was written into a dying connection: only the client knows how much of it arrived."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import websocket
from harness.client import Connection, Gateway
from harness.jupyter_server import JupyterServer
from harness.lossy import LossyProxy
from harness.platform import Platform
from harness.wire import Message

_LINES = 60
_CELL = f"""
import time
for number in range({_LINES}):
    print(number, flush=True)
    time.sleep(0.05)
"""
_MARK = re.compile(r"the connection broke here; up to (\d+) messages? \(\d+ bytes\) of output may be missing")


@pytest.fixture(params=["gateway", "companion"])
def proxy(request: pytest.FixtureRequest, platform: Platform, tmp_path: Path) -> Iterator[LossyProxy]:
    """A proxy in front of the gateway, or in front of the Jupyter Server through which pages reach the gateway."""
    if request.param == "gateway":
        with LossyProxy(platform.gateway.url) as proxy:
            proxy.token = platform.gateway.token
            yield proxy
        return
    with JupyterServer(tmp_path, platform=platform.gateway) as server, LossyProxy(server.gateway.url) as proxy:
        proxy.token = server.gateway.token
        yield proxy


class Page:
    """A client that connects again whenever its connection breaks, and keeps what it received."""

    def __init__(self, proxy: LossyProxy, kernel: str, *, drops_repeats: bool) -> None:
        self.proxy = proxy
        self.connection = Connection(Gateway(proxy.url, proxy.token), kernel, drops_repeats=drops_repeats)
        self.messages: list[Message] = []
        self._had: set[str] = set()

    def read(self, seconds: float) -> None:
        """Reads the messages that come within a time."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            try:
                self._take(self.connection.receive(left))
            except (TimeoutError, websocket.WebSocketTimeoutException):
                return

    def lose(self, *, swallow: float) -> None:
        """Lets the proxy swallow messages for a time, then resets the connection and connects the page again."""
        self.proxy.swallow()
        time.sleep(swallow)
        self.proxy.reset()
        self.connection.cut()
        self.connection = self.connection.reconnect()

    def finish(self, cell: str) -> None:
        """Reads up to the end of the cell."""
        deadline = time.monotonic() + 60
        while not self._ended(cell):
            assert time.monotonic() < deadline, "the cell's end does not come"
            self.read(0.2)

    def _ended(self, cell: str) -> bool:
        mine = [m for m in self.messages if m.parent == cell]
        replied = any(m.type == "execute_reply" for m in mine)
        return replied and any(m.type == "status" and m.content["execution_state"] == "idle" for m in mine)

    def _take(self, message: Message) -> None:
        if self.connection.drops_repeats and message.id in self._had:
            return
        self._had.add(message.id)
        self.messages.append(message)

    def stream(self, cell: str, name: str) -> str:
        mine = (m for m in self.messages if m.parent == cell and m.type == "stream" and m.content["name"] == name)
        return "".join(m.content["text"] for m in mine)

    def lines(self, cell: str) -> list[int]:
        return [int(line) for line in self.stream(cell, "stdout").split()]


def _troubles(page: Page) -> None:
    page.read(0.4)
    page.lose(swallow=0.5)
    page.lose(swallow=0.2)  # nothing is read between these two losses
    page.read(0.3)
    page.lose(swallow=0.0)
    page.read(0.3)
    page.lose(swallow=0.3)


def test_who_drops_repeats_has_everything_once(proxy: LossyProxy, kernel: str) -> None:
    page = Page(proxy, kernel, drops_repeats=True)
    cell = page.connection.start(_CELL)
    _troubles(page)
    page.finish(cell)
    assert proxy.swallowed > 0
    assert page.lines(cell) == list(range(_LINES))
    assert page.stream(cell, "stderr") == "", "nothing is missing, and nothing is said to be"


def test_for_others_the_cell_says_how_much_may_be_missing(proxy: LossyProxy, kernel: str) -> None:
    page = Page(proxy, kernel, drops_repeats=False)
    cell = page.connection.start(_CELL)
    _troubles(page)
    page.finish(cell)
    lines = page.lines(cell)
    assert lines == sorted(set(lines)), "nothing comes twice, or out of order"
    missing = _LINES - len(lines)
    assert missing > 0, "the proxy has swallowed lines"
    said = sum(int(count) for count in _MARK.findall(page.stream(cell, "stderr")))
    assert missing <= said <= _LINES


def test_the_end_of_a_cell_that_was_swallowed_comes_again(proxy: LossyProxy, kernel: str) -> None:
    page = Page(proxy, kernel, drops_repeats=False)
    page.read(0.3)
    cell = page.connection.start("import time; time.sleep(0.2); print('seen', flush=True)")
    page.lose(swallow=0.8)
    page.finish(cell)
    assert "may be missing" in page.stream(cell, "stderr")


def test_nothing_is_said_of_a_connection_that_breaks_when_all_was_received(proxy: LossyProxy, kernel: str) -> None:
    page = Page(proxy, kernel, drops_repeats=False)
    cell = page.connection.start("import time; print('before', flush=True); time.sleep(2); print('after')")
    page.read(1.0)
    page.lose(swallow=0.0)
    page.finish(cell)
    assert page.stream(cell, "stdout").split() == ["before", "after"]
    assert page.stream(cell, "stderr") == ""
