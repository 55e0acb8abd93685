"""A command at a terminal of its own, as a person sees it."""

import os
import pty
import signal
import struct
import subprocess
import termios
import threading
from collections.abc import Mapping, Sequence
from fcntl import ioctl
from pathlib import Path
from typing import Self

from harness.client import wait_until


class Terminal:
    """Runs the command, and gathers everything that it writes: `text`, also what is drawn over later."""

    def __init__(self, argv: Sequence[str | Path], env: Mapping[str, str] | None = None, lines: int = 40) -> None:
        self.text = ""
        self._seen = 0
        self._ours, theirs = pty.openpty()
        ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, 120, 0, 0))
        self._command = subprocess.Popen(
            argv, stdin=theirs, stdout=theirs, stderr=theirs, env={**os.environ, **(env or {})}
        )
        os.close(theirs)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._command.poll() is None:
            self._command.kill()
        self.exit_code()

    def wait_for(self, text: str, timeout: float = 30) -> None:
        """Until it has written this since this was called last, or began."""
        wait_until(lambda: text in self.text[self._seen :], f"{text!r} is shown", timeout=timeout)
        self._seen = self.text.index(text, self._seen) + len(text)

    def interrupt(self) -> None:
        self._command.send_signal(signal.SIGINT)

    def exit_code(self) -> int:
        """Waits until it has ended."""
        code = self._command.wait(timeout=60)
        self._reader.join()
        return code

    def _read(self) -> None:
        data = b""
        try:
            while part := os.read(self._ours, 1 << 16):
                data += part
                self.text = data.decode(errors="replace")
        except OSError:
            pass  # the end of a terminal
        os.close(self._ours)
