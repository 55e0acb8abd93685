"""Frames arrive as they were sent, and nothing else is taken for one."""

from __future__ import annotations

import json
import os
import socket
import struct
import threading
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from banyan.worker import output
from banyan.worker.channel import MEMFD_BLOB_MIN, Blobs, Channel, ChannelClosed, ChannelError

Ends = tuple[Channel, Channel, socket.socket]


@pytest.fixture
def ends() -> Iterator[Ends]:
    """Two ends, and the socket of the first."""
    left, right = socket.socketpair()
    yield Channel(left), Channel(right), left
    left.close()
    right.close()


def raw_frame(body: object, payload: bytes = b"") -> bytes:
    text = json.dumps(body).encode()
    return struct.pack("<IIQ", len(text), 0, len(payload)) + text + payload


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50)
@given(sizes=st.lists(st.sampled_from([0, 1, 63, 64, 1000, MEMFD_BLOB_MIN - 1, MEMFD_BLOB_MIN, 70_001]), max_size=4))
def test_blobs_arrive_whole_and_large_ones_by_memfd(ends: Ends, sizes: list[int]) -> None:
    sender, receiver, _ = ends
    data = [bytes([index + 1]) * size for index, size in enumerate(sizes)]
    blobs = Blobs()
    references = [blobs.add(part) for part in data]
    sending = threading.Thread(target=sender.send, args=({"type": "test", "blobs": references}, blobs))
    sending.start()  # more than the socket holds
    message = receiver.receive()
    sending.join()
    assert message.body["blobs"] == references
    assert [bytes(memoryview(message.blob(reference))) for reference in references] == data
    assert [reference["in"] == "memfd" for reference in references] == [size >= MEMFD_BLOB_MIN for size in sizes]


def test_what_is_received_is_the_receivers_to_write(ends: Ends) -> None:
    sender, receiver, _ = ends
    blobs = Blobs()
    small, large = blobs.add(b"a" * 10), blobs.add(b"b" * 100_000)
    sender.send({}, blobs)
    message = receiver.receive()
    for reference in (small, large):
        view = memoryview(message.blob(reference))
        view[0] = ord("x")
        assert bytes(view[:2]) in (b"xa", b"xb")


def test_a_mapping_outlives_its_message_and_holds_no_descriptor(ends: Ends) -> None:
    sender, receiver, _ = ends
    before = len(os.listdir("/proc/self/fd"))
    blobs = Blobs()
    reference = blobs.add(b"z" * 100_000)
    sender.send({}, blobs)
    view = memoryview(receiver.receive().blob(reference))
    assert bytes(view[-1:]) == b"z"
    assert len(os.listdir("/proc/self/fd")) == before


def test_text_with_lone_surrogates_is_sent_as_utf8(ends: Ends) -> None:
    sender, receiver, _ = ends
    sender.send({"reason": "bad \udc80 text, gut für alle"})
    assert receiver.receive().body == {"reason": "bad ? text, gut für alle"}


def test_end_of_file_also_in_mid_frame(ends: Ends) -> None:
    _, receiver, raw = ends
    raw.sendall(raw_frame({"a": 1})[:20])
    raw.shutdown(socket.SHUT_WR)
    with pytest.raises(ChannelClosed):
        receiver.receive()


@pytest.mark.parametrize(
    "frame",
    [
        struct.pack("<IIQ", 0xFFFFFFFF, 0, 0),
        struct.pack("<IIQ", 3, 0, 0) + b"{]}",
        struct.pack("<IIQ", 2, 0, 0) + b"\xff\xfe",
        raw_frame([1, 2]),
        raw_frame({"memfd": True}),
    ],
)
def test_nonsense_is_refused(ends: Ends, frame: bytes) -> None:
    _, receiver, raw = ends
    raw.sendall(frame)
    with pytest.raises(ChannelError):
        receiver.receive()


@pytest.mark.parametrize(
    "reference",
    [
        {"in": "payload", "at": 0, "size": 9},
        {"in": "payload", "at": -1, "size": 2},
        {"in": "payload", "at": 2**63, "size": 2**63},
        {"in": "memfd", "at": 0, "size": 1},
        {"in": "elsewhere", "at": 0, "size": 1},
        {"at": "0"},
    ],
)
def test_a_blob_outside_its_frame_is_refused(ends: Ends, reference: dict[str, object]) -> None:
    _, receiver, raw = ends
    raw.sendall(raw_frame({}, b"12345678"))
    with pytest.raises(ChannelError):
        receiver.receive().blob(reference)


def test_a_memfd_that_could_change_is_refused(ends: Ends) -> None:
    _, receiver, raw = ends
    fd = os.memfd_create("unsealed", os.MFD_ALLOW_SEALING)
    socket.send_fds(raw, [raw_frame({"memfd": True})], [fd])
    os.close(fd)
    with pytest.raises(ChannelError, match="sealed"):
        receiver.receive()


def test_what_user_code_makes_of_the_json_module_changes_no_frame_and_no_message(
    ends: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    sender, receiver, _ = ends
    monkeypatch.setattr(json.JSONEncoder, "item_separator", "; ")
    monkeypatch.setattr(json.JSONEncoder, "default", lambda self, value: "anything")
    monkeypatch.setattr(json.JSONEncoder, "encode", lambda self, value: "{}")
    monkeypatch.setattr(json, "dumps", lambda *_, **__: b"bytes")
    monkeypatch.setattr(json, "loads", lambda *_, **__: None)
    sender.send({"a": [1, 2], "b": "ä"})
    assert receiver.receive().body == {"a": [1, 2], "b": "ä"}
    with pytest.raises(TypeError):
        sender.send({"a": object()})
    assert output.pack({"a": [1, "\ud800"]}) == b'{"a": [1, "?"]}'
