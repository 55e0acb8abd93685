"""The kernel shim: `banyan kernel` under jupyter_kernel_test, and as jupyter_client's tools drive it."""

import os
from collections.abc import Iterator
from queue import Empty
from typing import Any, ClassVar

import jupyter_kernel_test  # type: ignore[import-untyped]
import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager, start_new_kernel


@pytest.fixture(scope="class", autouse=True)
def _known_kernelspec(jupyter_env: dict[str, str]) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in jupyter_env.items():
            if os.environ.get(name) != value:
                patch.setenv(name, value)
        yield


class TestPublishedSuite(jupyter_kernel_test.KernelTests):  # type: ignore[misc]
    """Everything that jupyter_kernel_test checks of a Python kernel."""

    kernel_name = "banyan"
    language_name = "python"
    file_extension = ".py"
    code_hello_world = "print('hello, world')"
    code_stderr = "import sys; print('to stderr', file=sys.stderr)"
    completion_samples: ClassVar = [{"text": "zi", "matches": {"zip"}}]
    complete_code_samples: ClassVar = ["1", "print('hello')", "def f(x):\n  return x*2\n\n\n"]
    incomplete_code_samples: ClassVar = ["print('''hello", "def f(x):\n  x*2"]
    invalid_code_samples: ClassVar = ["import = 7q"]
    code_page_something = "zip?"
    code_generate_error = "raise"
    code_execute_result: ClassVar = [
        {"code": "1+2+3", "result": "6"},
        {"code": "[n*n for n in range(1, 4)]", "result": "[1, 4, 9]"},
    ]
    code_display_data: ClassVar = [
        {"code": "from IPython.display import HTML, display; display(HTML('<b>test</b>'))", "mime": "text/html"},
        {"code": "from IPython.display import Math, display; display(Math('\\\\frac{1}{2}'))", "mime": "text/latex"},
    ]
    code_history_pattern = "1?2*"
    supported_history_operations = ("tail", "search")
    code_inspect_sample = "zip"
    code_clear_output = "from IPython.display import clear_output; clear_output()"


class TestShim:
    @pytest.fixture
    def started(self) -> Iterator[tuple[KernelManager, BlockingKernelClient]]:
        manager, client = start_new_kernel(kernel_name="banyan", startup_timeout=60)
        yield manager, client
        client.stop_channels()
        manager.shutdown_kernel(now=True)

    def test_an_interrupt_by_message(self, started: tuple[KernelManager, BlockingKernelClient]) -> None:
        manager, client = started
        cell = client.execute("print('go', flush=True)\nimport time\nfor _ in range(600): time.sleep(0.1)")
        _until(client, cell, "stream")
        manager.interrupt_kernel()
        assert _reply(client, cell)["ename"] == "KeyboardInterrupt"

    def test_input_over_zmq(self, started: tuple[KernelManager, BlockingKernelClient]) -> None:
        _, client = started
        cell = client.execute("print(input('Who? '))", allow_stdin=True)
        assert client.get_stdin_msg(timeout=30)["content"]["prompt"] == "Who? "
        client.input("Ada")
        assert _until(client, cell, "stream")["content"]["text"].strip() == "Ada"
        assert _reply(client, cell)["status"] == "ok"

    def test_a_restart_clears_variables(self, started: tuple[KernelManager, BlockingKernelClient]) -> None:
        manager, client = started
        client.execute("a = 1", reply=True, timeout=30)
        manager.restart_kernel(now=False)
        client.wait_for_ready(timeout=60)
        assert client.execute("a", reply=True, timeout=30)["content"]["ename"] == "NameError"

    def test_its_kernel_ends_with_it(
        self, started: tuple[KernelManager, BlockingKernelClient], request: pytest.FixtureRequest
    ) -> None:
        gateway = request.getfixturevalue("shared_platform").gateway
        manager, client = started
        before = {row["id"] for row in gateway.get("/api/kernels")}
        client.stop_channels()
        manager.shutdown_kernel()
        assert len(before - {row["id"] for row in gateway.get("/api/kernels")}) == 1

    def test_a_bad_signature_is_ignored_and_hurts_nobody(
        self, started: tuple[KernelManager, BlockingKernelClient]
    ) -> None:
        manager, client = started
        stranger = BlockingKernelClient()
        stranger.load_connection_info({**manager.get_connection_info(), "key": b"wrong"})
        stranger.start_channels()
        stranger.execute("stolen = 1")
        with pytest.raises(Empty):
            stranger.get_shell_msg(timeout=2)
        stranger.stop_channels()
        assert client.execute("stolen", reply=True, timeout=30)["content"]["ename"] == "NameError"


def _until(client: BlockingKernelClient, cell: str, kind: str) -> dict[str, Any]:
    while True:
        message = client.get_iopub_msg(timeout=30)
        if message["parent_header"].get("msg_id") == cell and message["msg_type"] == kind:
            return dict(message)


def _reply(client: BlockingKernelClient, cell: str) -> dict[str, Any]:
    while True:
        message = client.get_shell_msg(timeout=30)
        if message["parent_header"].get("msg_id") == cell:
            return dict(message["content"])
