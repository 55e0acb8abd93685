"""Bad input gives a clear error, and the session and its other clients lose nothing."""

import contextlib
import struct
import subprocess
from pathlib import Path

import pytest
import requests
import websocket
from harness import wire
from harness.client import Connection, Gateway
from harness.platform import Platform, binary
from harness.wire import V1


def _socket(gateway: Gateway, kernel: str, token: str, protocol: str | None = None) -> websocket.WebSocket:
    return websocket.create_connection(
        f"{gateway.url.replace('http', 'ws', 1)}/api/kernels/{kernel}/channels?session_id=bad",
        header=[f"Authorization: token {token}"],
        subprotocols=[protocol] if protocol else None,
        timeout=20,
    )


def _close_code(socket: websocket.WebSocket) -> int:
    """The code that the gateway closes the WebSocket with."""
    while True:
        opcode, data = socket.recv_data(control_frame=True)
        if opcode == websocket.ABNF.OPCODE_CLOSE:
            return int.from_bytes(data[:2], "big")


@pytest.mark.parametrize("header", [None, "token wrong", "Bearer wrong", "nonsense"])
def test_a_wrong_token_is_refused(gateway: Gateway, header: str | None) -> None:
    response = requests.get(
        gateway.url + "/api/kernels", headers={"Authorization": header} if header else {}, timeout=20
    )
    assert response.status_code == 403
    assert "token" in response.json()["message"]
    assert gateway.token not in response.text


def test_a_token_in_the_query_is_taken(gateway: Gateway) -> None:
    assert requests.get(f"{gateway.url}/api/kernels?token={gateway.token}", timeout=20).status_code == 200


def test_a_websocket_with_a_wrong_token_is_refused(gateway: Gateway, kernel: str) -> None:
    with pytest.raises(websocket.WebSocketBadStatusException) as refused:
        _socket(gateway, kernel, "wrong")
    assert refused.value.status_code == 403


def test_the_token_is_in_no_log(platform: Platform, gateway: Gateway) -> None:
    requests.get(f"{gateway.url}/api/kernels?token={gateway.token}", timeout=20)
    requests.get(f"{gateway.url}/api/kernels?token=wrong-but-secret", timeout=20)
    for log in (platform.folder / "logs").iterdir():
        text = log.read_text(errors="replace")
        assert gateway.token not in text and "wrong-but-secret" not in text, log


@pytest.mark.parametrize("body", ["{", "[]", '"text"', '{"name": 5}', '{"name": "no-such-kernel"}'])
def test_a_malformed_body_is_400(gateway: Gateway, body: str) -> None:
    response = gateway.call("POST", "/api/kernels", data=body)
    assert response.status_code == 400
    assert set(response.json()) >= {"reason", "message"}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/kernels/none"),
        ("DELETE", "/api/kernels/none"),
        ("POST", "/api/kernels/none/interrupt"),
        ("POST", "/api/kernels/none/restart"),
        ("GET", "/api/kernelspecs/none"),
        ("GET", "/kernelspecs/python3/no-such.png"),
        ("GET", "/nothing"),
    ],
)
def test_what_does_not_exist_is_404(gateway: Gateway, method: str, path: str) -> None:
    response = gateway.call(method, path)
    assert response.status_code == 404
    assert response.json()["message"]


def test_a_websocket_to_an_unknown_kernel_is_404(gateway: Gateway) -> None:
    with pytest.raises(websocket.WebSocketBadStatusException) as refused:
        _socket(gateway, "none", gateway.token)
    assert refused.value.status_code == 404


_BAD_FRAMES: dict[str, tuple[str | None, str | bytes]] = {
    "text that is no JSON": (None, "{"),
    "JSON that is no message": (None, "[1, 2]"),
    "a message with no header": (None, '{"channel": "shell"}'),
    "a binary frame cut in its offsets": (None, struct.pack(">III", 3, 16, 40)),
    "a binary frame with offsets beyond its end": (None, struct.pack(">III", 2, 12, 1 << 30) + b"{}"),
    "v1: an empty frame": (V1, b""),
    "v1: cut in its offsets": (V1, struct.pack("<QQ", 6, 64)),
    "v1: more offsets than bytes": (V1, struct.pack("<Q", 1 << 61)),
    "v1: offsets that fall": (V1, struct.pack("<7Q", 6, 90, 80, 70, 60, 50, 40) + b"x" * 60),
    "v1: parts that are no JSON": (V1, struct.pack("<7Q", 6, 56, 61, 62, 63, 64, 65) + b"shell" + b"!!!!"),
}


@pytest.mark.parametrize("name", _BAD_FRAMES)
def test_a_malformed_frame_closes_its_connection_only(
    gateway: Gateway, kernel: str, session: Connection, name: str
) -> None:
    protocol, frame = _BAD_FRAMES[name]
    session.run("kept = 1")
    bad = _socket(gateway, kernel, gateway.token, protocol)
    bad.send(frame) if isinstance(frame, str) else bad.send_binary(frame)
    assert _close_code(bad) in (1002, 1003, 1007)
    assert session.run("kept").result == "1"


def test_a_message_cut_at_any_place_is_refused_or_understood_as_sent(gateway: Gateway, kernel: str) -> None:
    whole = wire.encode_v1(wire.request("shell", "kernel_info_request", {}, "s"))
    for end in range(0, len(whole) - 1, 37):
        bad = _socket(gateway, kernel, gateway.token, V1)
        bad.send_binary(whole[:end])
        assert _close_code(bad) in (1002, 1007), f"cut after {end} bytes"


def test_an_oversize_message_closes_with_1009(gateway: Gateway, kernel: str, session: Connection) -> None:
    session.run("kept = 1")
    bad = _socket(gateway, kernel, gateway.token, V1)
    assert bad.sock is not None
    bad.sock.sendall(struct.pack(">BBQ", 0x82, 0xFF, 1 << 40) + b"\0\0\0\0")
    with contextlib.suppress(ConnectionError):
        for _ in range(300):  # the limit is 256 MiB
            bad.sock.sendall(bytes(1 << 20))
    assert _close_code(bad) == 1009
    assert session.run("kept").result == "1"


def test_an_oversize_body_is_413(gateway: Gateway) -> None:
    response = requests.post(
        gateway.url + "/api/kernels",
        headers={"Authorization": f"token {gateway.token}", "Content-Length": str(1 << 40)},
        timeout=20,
    )
    assert response.status_code == 413


def test_an_unknown_kind_of_request_does_not_hang_the_kernel(session: Connection) -> None:
    session.send("shell", "no_such_request", {})
    assert session.run("1 + 1").result == "2"


def test_a_cell_for_a_subshell_is_refused_and_the_next_one_runs(session: Connection) -> None:
    content = {"code": "x = 1", "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False}
    cell = session.finish(session.send("shell", "execute_request", content, subshell="s1"))
    assert (cell.status, cell.reply["ename"]) == ("error", "NotSupported")
    assert session.run("'x' in globals()").result == "False"


def test_a_cell_whose_text_is_not_valid_unicode(session: Connection) -> None:
    cells = [session.run("print('a\\ud800b', flush=True)") for _ in range(5)]
    assert [(cell.status, cell.stdout) for cell in cells] == [("ok", "a?b\n")] * 5
    assert session.run("'\\ud800'").result == "'\\ud800'"
    assert session.run("raise ValueError('\\ud800')").reply["evalue"] == "?"
    assert session.run("1 + 1").result == "2"


@pytest.mark.parametrize("daemon", ["gateway", "host"])
def test_a_config_with_an_unknown_key_is_refused_with_the_nearest_one(
    platform: Platform, tmp_path: Path, daemon: str
) -> None:
    good = platform.config("gateway" if daemon == "gateway" else "h1").read_text()
    bad = tmp_path / "bad.toml"
    bad.write_text("clutser_secret = 'x'\n" + good)
    ended = subprocess.run([binary(), daemon, "--config", bad], capture_output=True, text=True, timeout=20, check=False)
    assert ended.returncode != 0
    assert "bad.toml" in ended.stderr and "clutser_secret" in ended.stderr
    assert "cluster_secret" in ended.stderr.replace("clutser_secret", "")
