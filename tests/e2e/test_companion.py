"""A platform as pages see it when they reach it through a Jupyter Server with the companion."""

import asyncio
import importlib
import re
import statistics
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
import tornado.httpserver
import tornado.iostream
import tornado.testing
import tornado.web
import tornado.websocket
import websocket
from dev.paths import COMPANION
from harness.client import Connection, Gateway, wait_until
from harness.jupyter_server import JupyterServer
from harness.platform import Platform
from harness.wire import V1

_ECHO = """
def opened(comm, message):
    comm.on_msg(lambda m: comm.send({}, buffers=m['buffers']))
get_ipython().kernel.comm_manager.register_target('echo', opened)
"""


@pytest.fixture(scope="module")
def server(shared_platform: Platform, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JupyterServer]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("KERNEL_TESTED", "by the companion")
        with JupyterServer(tmp_path_factory.mktemp("server"), platform=shared_platform.gateway) as server:
            yield server


@pytest.fixture
def door(server: JupyterServer, platform: Platform) -> Gateway:
    return server.gateway


@pytest.fixture
def page_kernel(door: Gateway) -> Iterator[str]:
    kernel = door.start_kernel(name="python3")
    yield kernel
    door.delete_kernel(kernel)


def test_the_servers_own_kernel_variables_go_along(door: Gateway, page_kernel: str) -> None:
    with Connection(door, page_kernel) as page:
        assert page.run("import os; os.environ['KERNEL_TESTED']").result == "'by the companion'"


@pytest.mark.parametrize("protocol", [V1, None])
def test_cells_run_through_it(door: Gateway, page_kernel: str, protocol: str | None) -> None:
    with Connection(door, page_kernel, protocol=protocol) as page:
        page.run("x = 20")
        cell = page.run("print('hello'); 2 * x + 2")
    assert (cell.stdout, cell.result) == ("hello\n", "42")


@pytest.mark.parametrize("protocol", [V1, None])
def test_binary_buffers_of_a_page_arrive_and_come_back(door: Gateway, page_kernel: str, protocol: str | None) -> None:
    sent = [bytes(range(256)), b"", b"\xff\x00\xfe\x80" * 300_000]
    with Connection(door, page_kernel, protocol=protocol) as page:
        page.run(_ECHO)
        page.send("shell", "comm_open", {"comm_id": "c1", "target_name": "echo", "data": {}})
        page.send("shell", "comm_msg", {"comm_id": "c1", "data": {}}, buffers=sent)
        answer = page.wait_for(lambda m: m.type == "comm_msg")
    assert [bytes(buffer) for buffer in answer.buffers] == sent


def test_the_first_websocket_stays(door: Gateway, page_kernel: str) -> None:
    with Connection(door, page_kernel) as page:
        for number in range(3):
            assert page.run(f"{number}").result == str(number)
            time.sleep(0.5)


def test_a_small_cell_does_not_wait_for_acknowledgements(door: Gateway, page_kernel: str) -> None:
    """A cell that waits for a delayed acknowledgement of TCP takes 40 ms longer. Half of that is far more than a small
    cell takes, also on a busy machine."""
    with Connection(door, page_kernel) as page:
        page.run("pass")
        times = []
        for _ in range(30):
            begun = time.monotonic()
            page.run("pass")
            times.append(time.monotonic() - begun)
    assert statistics.median(times) < 0.030


def test_a_kernel_begins_in_the_folder_of_its_notebook(server: JupyterServer, door: Gateway) -> None:
    folder = server.notebooks / "deep er"
    folder.mkdir(exist_ok=True)
    body = {"path": "deep er/one.ipynb", "name": "one.ipynb", "type": "notebook", "kernel": {"name": "python3"}}
    answer = door.call("POST", "/api/sessions", json=body)
    assert answer.status_code == 201, answer.text
    session = answer.json()
    try:
        with Connection(door, session["kernel"]["id"]) as page:
            assert page.run("import os; os.getcwd()").result == repr(str(folder))
    finally:
        door.call("DELETE", f"/api/sessions/{session['id']}")


def test_notebooks_keep_their_sessions_when_jupyter_server_starts_again(platform: Platform, tmp_path: Path) -> None:
    body = {"path": "kept.ipynb", "name": "kept.ipynb", "type": "notebook", "kernel": {"name": "python3"}}
    with JupyterServer(tmp_path, platform=platform.gateway) as first:
        session = first.gateway.call("POST", "/api/sessions", json=body).json()
        with Connection(first.gateway, session["kernel"]["id"]) as page:
            page.run("x = 7")
    with JupyterServer(tmp_path, platform=platform.gateway) as second:
        door = second.gateway
        assert [row["id"] for row in door.get("/api/sessions")] == [session["id"]]
        renamed = door.call("PATCH", f"/api/sessions/{session['id']}", json={"path": "other.ipynb"}).json()
        assert renamed["kernel"]["id"] == session["kernel"]["id"]
        with Connection(door, session["kernel"]["id"]) as page:
            assert page.run("x").result == "7"
        assert door.call("DELETE", f"/api/sessions/{session['id']}").status_code == 204
    assert session["kernel"]["id"] not in [row["id"] for row in platform.gateway.get("/api/kernels")]


def test_kernelspecs_and_their_resources(door: Gateway) -> None:
    specs = door.get("/api/kernelspecs")
    resources = specs["kernelspecs"][specs["default"]]["resources"]
    assert resources
    for path in resources.values():
        answer = door.call("GET", path)
        assert answer.ok
        assert answer.headers["Content-Type"].startswith("image/")


def test_under_a_base_url(platform: Platform, tmp_path: Path) -> None:
    with JupyterServer(tmp_path, platform=platform.gateway, base="/user/ada/") as server:
        door = server.gateway
        specs = door.get("/api/kernelspecs")
        logo = next(iter(specs["kernelspecs"]["python3"]["resources"].values()))
        assert logo.startswith("/user/ada/kernelspecs/")
        started = door.call("POST", "/api/kernels", json={"name": "python3"})
        kernel = started.json()["id"]
        assert started.headers["Location"] == f"/user/ada/api/kernels/{kernel}"
        with Connection(door, kernel) as page:
            assert page.run("1 + 1").result == "2"
        door.delete_kernel(kernel)


def test_errors_of_the_gateway_come_through(door: Gateway) -> None:
    refused = door.call("POST", "/api/kernels", json={"name": "fortran"})
    assert refused.status_code == 400
    assert "fortran" in refused.text
    assert door.call("GET", "/api/kernels/0").status_code == 404
    with pytest.raises(websocket.WebSocketBadStatusException) as error:
        Connection(door, "00000000-0000-4000-8000-000000000000")
    assert error.value.status_code == 404


def test_nobody_comes_in_without_this_servers_token(door: Gateway, page_kernel: str) -> None:
    nobody = Gateway(door.url, "wrong")
    for path in ("/api/kernels", "/api/sessions", "/api/kernelspecs", "/api/banyan/sessions"):
        assert nobody.call("GET", path, allow_redirects=False).status_code == 403
    with pytest.raises(websocket.WebSocketBadStatusException) as error:
        Connection(nobody, page_kernel)
    assert error.value.status_code == 403


def test_the_gateways_token_is_no_key_here_and_is_not_shown(
    platform: Platform, door: Gateway, page_kernel: str
) -> None:
    stolen = Gateway(door.url, platform.gateway.token)
    assert stolen.call("GET", "/api/kernels").status_code == 403
    for path in ("/api/kernels", "/api/sessions", "/api/banyan/sessions", "/api/banyan/hosts", "/lab", "/api/me"):
        answer = door.call("GET", path)
        assert platform.gateway.token not in answer.text + str(answer.headers)


def test_no_token_is_in_a_log(platform: Platform, server: JupyterServer, door: Gateway, page_kernel: str) -> None:
    """No token gets into a log when a page has it in its address, is refused, or finds the gateway away."""
    for own, path in ((door, "/api/kernels"), (door, "/api/nothing"), (platform.gateway, "/api/nothing")):
        requests.get(f"{own.url}{path}?token={own.token}", timeout=30)
    address = door.url.replace("http", "ws", 1)
    for kernel in (page_kernel, "00000000-0000-4000-8000-000000000000"):
        try:
            websocket.create_connection(
                f"{address}/api/kernels/{kernel}/channels?session_id=s&token={door.token}", timeout=30
            ).close()
        except websocket.WebSocketBadStatusException as error:
            assert error.status_code == 404
    platform.kill("gateway")
    assert requests.get(f"{door.url}/api/kernels?token={door.token}", timeout=30).status_code == 503
    platform.repair()
    # up.log is left out: the harness keeps there the output of `banyan up --json`, which has the token on purpose. The
    # files in a host's folder `log` are left out too: they are the host's store, and have the contents of cells.
    texts = (log for log in platform.folder.rglob("*.log") if log.name != "up.log" and log.parent.name != "log")
    logs = [server.log, *texts]
    assert len(logs) > len(platform.hosts)
    for log in logs:
        text = log.read_text(errors="replace")
        assert door.token not in text and platform.gateway.token not in text, log


def test_a_page_may_show_its_token_in_its_address(door: Gateway, page_kernel: str) -> None:
    """The gateway would take a `token` in the address for its own, so the companion must not pass this one on."""
    answer = requests.get(f"{door.url}/api/kernels/{page_kernel}?token={door.token}", timeout=30)
    assert answer.status_code == 200
    address = door.url.replace("http", "ws", 1)
    page = websocket.create_connection(
        f"{address}/api/kernels/{page_kernel}/channels?session_id=s&token={door.token}", timeout=30
    )
    page.close()


def test_pages_of_other_sites_cannot_use_a_cookie(door: Gateway, page_kernel: str) -> None:
    browser = requests.Session()
    browser.get(f"{door.url}/api/me?token={door.token}", timeout=30)
    browser.get(f"{door.url}/login?token={door.token}", timeout=30)
    assert browser.get(f"{door.url}/api/kernels", timeout=30).status_code == 200, "signed in by cookie"
    assert browser.post(f"{door.url}/api/kernels", json={}, timeout=30).status_code == 403, "no XSRF token"
    address = door.url.replace("http", "ws", 1)
    cookies = "; ".join(f"{cookie.name}={cookie.value}" for cookie in browser.cookies)
    with pytest.raises(websocket.WebSocketBadStatusException) as error:
        websocket.create_connection(
            f"{address}/api/kernels/{page_kernel}/channels", cookie=cookies, origin="http://evil.example", timeout=30
        )
    assert error.value.status_code == 403


def test_a_gateway_that_starts_again_is_waited_for(platform: Platform, door: Gateway, page_kernel: str) -> None:
    with Connection(door, page_kernel) as page:
        page.run("x = 5")
        platform.kill("gateway")
        with pytest.raises(ConnectionError, match="1012"):
            while True:
                page.receive(timeout=30)
        assert door.call("GET", "/api/kernels").status_code == 503
        platform.restart("gateway")
        with page.reconnect() as again:  # reconnects at once, because the server waits for the gateway
            assert again.run("x").result == "5"
    wait_until(lambda: door.call("GET", "/api/kernels").ok, "the gateway answers again")


def test_a_page_that_confirms_as_the_gateway_dies_is_not_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pong of the page that comes between the end of the gateway's connection and the news of it may break nothing:
    from its callback, tornado would break the page's WebSocket without a word."""

    monkeypatch.syspath_prepend(str(COMPANION))
    channels = importlib.import_module("banyan_server.channels")

    async def confirm() -> None:
        server = tornado.httpserver.HTTPServer(tornado.web.Application([("/", tornado.websocket.WebSocketHandler)]))
        listener = tornado.testing.bind_unused_port()[0]
        server.add_sockets([listener])
        twin = await tornado.websocket.websocket_connect(f"ws://127.0.0.1:{listener.getsockname()[1]}/")
        twin.protocol.stream.close()
        with pytest.raises(tornado.iostream.StreamClosedError):
            twin.ping(b"confirmed 1")
        channels.ping(twin, b"confirmed 1")
        server.stop()

    asyncio.run(confirm())


def test_a_gateway_whose_machine_falls_silent_is_noticed(door: Gateway, platform: Platform, page_kernel: str) -> None:
    """TCP keep-alive asks the gateway's machine. The test looks at the timer: cutting the wire would take a minute to
    show the same."""
    port = platform.gateway.url.rpartition(":")[2]
    with Connection(door, page_kernel) as page:
        page.run("x = 5")
        listed = subprocess.run(["ss", "-tno", f"( dport = :{port} )"], capture_output=True, text=True, check=True)
    timers = re.findall(r"timer:\(keepalive,(\d+)(?:\.\d+)?(ms|sec)", listed.stdout)
    assert any(unit == "ms" or int(number) <= 10 for number, unit in timers), listed.stdout


def test_exports_come_whole(platform: Platform, door: Gateway, page_kernel: str) -> None:
    with Connection(door, page_kernel) as page:
        page.run("import os; b = os.urandom(3_000_000)")
    path = f"/api/banyan/sessions/{page_kernel}/export?values=head"
    through, straight = (each.call("GET", path) for each in (door, platform.gateway))
    assert through.status_code == straight.status_code == 200
    assert through.content == straight.content
    assert through.content


def test_widgets_with_binary_data(door: Gateway, page_kernel: str) -> None:
    """Does what ipywidgets does: bytes of a widget's state travel as buffers, on opening and at each change, both
    ways."""
    with Connection(door, page_kernel) as page:
        cell = page.run("import ipywidgets; image = ipywidgets.Image(value=b'\\x00\\xff\\x80'); image")
        shown = cell.of_type("execute_result")[0].content["data"]["application/vnd.jupyter.widget-view+json"]
        opened = {m.content["comm_id"]: m for m in cell.of_type("comm_open")}[shown["model_id"]]
        assert opened.content["data"]["buffer_paths"] == [["value"]]
        assert [bytes(buffer) for buffer in opened.buffers] == [b"\x00\xff\x80"]
        new = b"\xfe\x00" * 100_000
        change = {"method": "update", "state": {}, "buffer_paths": [["value"]]}
        page.send("shell", "comm_msg", {"comm_id": shown["model_id"], "data": change}, buffers=[new])
        assert page.run("image.value == b'\\xfe\\x00' * 100_000").result == "True"
        back = page.run("image.value = b'\\x01\\x02'").of_type("comm_msg")[-1]
        assert back.content["comm_id"] == shown["model_id"]
        assert [bytes(buffer) for buffer in back.buffers] == [b"\x01\x02"]
