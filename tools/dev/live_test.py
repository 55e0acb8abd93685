"""Tests starting and stopping the platform and JupyterLab, with a small program in the place of `banyan`."""

import socket
import sys
import textwrap
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from banyan_local import processes

from dev import live, ui

Program = Callable[[str], Path]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Puts a Python program at the place of `banyan`; in its code `folder` is the value of --dir."""

    def install(body: str) -> Path:
        path = tmp_path / "banyan"
        head = "import json, os, signal, sys, time\nfrom pathlib import Path\n"
        head += "folder = Path(sys.argv[sys.argv.index('--dir') + 1])\n"
        path.write_text(f"#!{sys.executable}\n{head}{textwrap.dedent(body)}")
        path.chmod(0o755)
        monkeypatch.setattr(live, "binary", lambda: path)
        return path

    return install


_SERVES = """
    description = {"url": "http://127.0.0.1:1", "token": os.environ["BANYAN_TOKEN"], "pids": {"self": os.getpid()}}
    (folder / "platform.json.new").write_text(json.dumps(description))
    (folder / "platform.json.new").rename(folder / "platform.json")  # as `banyan up`: whole or not at all
    time.sleep(60)
"""


def start(folder: Path) -> live.Platform:
    return live.Platform(folder / "platform", hosts=4, port=1, token="secret")


def test_a_platform_is_ready_when_it_says_so_and_is_gone_after_stop(program: Program, tmp_path: Path) -> None:
    program(_SERVES)
    platform = start(tmp_path)
    assert platform.url == "http://127.0.0.1:1"
    assert platform.child.running()
    platform.stop()
    assert not platform.child.running()


def test_the_token_is_not_on_the_command_line(program: Program, tmp_path: Path) -> None:
    program(_SERVES)
    platform = start(tmp_path)
    try:
        assert b"secret" not in Path(f"/proc/{platform.child.process.pid}/cmdline").read_bytes()
    finally:
        platform.stop()


def test_a_platform_that_ends_at_once_shows_the_end_of_its_log(program: Program, tmp_path: Path) -> None:
    program("sys.exit('no disk left')")
    with pytest.raises(ui.UserError, match="no disk left"):
        start(tmp_path)


def test_a_description_of_an_earlier_life_is_not_believed(program: Program, tmp_path: Path) -> None:
    program("sys.exit('did not start')")
    (tmp_path / "platform").mkdir()
    (tmp_path / "platform" / "platform.json").write_text('{"url": "http://127.0.0.1:2"}')
    with pytest.raises(ui.UserError, match="did not start"):
        start(tmp_path)


def test_one_that_ignores_the_request_to_stop_is_killed(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "STOP_TIMEOUT_S", 0.2)
    program("signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + textwrap.dedent(_SERVES))
    platform = start(tmp_path)
    platform.stop()
    assert platform.child.process.returncode == -9


def test_jupyterlab_serves_with_the_token_only(tmp_path: Path) -> None:
    port = live.free_port(None)
    lab = live.Lab(
        gateway="http://127.0.0.1:1", token="t", port=port, notebooks=tmp_path / "notebooks", log=tmp_path / "lab.log"
    )
    try:
        with urllib.request.urlopen(lab.url) as page:
            assert b"JupyterLab" in page.read()
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/api/contents")
    finally:
        lab.stop()


def test_a_port_that_was_asked_for_must_be_free_and_a_default_gives_way() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ui.UserError, match=f"port {port} is taken"):
            live.free_port(port)
        assert live.free_port(None, port) > port


def test_the_kernelspec_of_the_kernel_shim(program: Program, tmp_path: Path) -> None:
    from jupyter_client.kernelspec import KernelSpecManager

    path = program("")
    live.program().write_kernelspec(tmp_path, tmp_path / "platform")
    spec = KernelSpecManager(kernel_dirs=[str(tmp_path / "kernels")]).get_kernel_spec("banyan")
    assert spec.argv[:4] == [str(path), "kernel", "-f", "{connection_file}"]
    assert (spec.interrupt_mode, spec.display_name) == ("message", "Python 3 (Banyan)")
    assert (Path(spec.resource_dir) / "logo-svg.svg").exists()
