"""The IPython magics about where a session is and what goes along: %suspend, %migrate, %copy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from banyan.history import HistoryError

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from banyan.magics import Ask


@magics_class
class SessionMagics(Magics):
    """They take effect when their cell has ended."""

    def __init__(self, shell: InteractiveShell, ask: Ask) -> None:
        super().__init__(shell)
        self._ask = ask

    @magic_arguments()
    @argument("--force", action="store_true", help="also where variables would be lost")
    @line_magic
    def suspend(self, line: str) -> None:
        """End the session's processes. It goes on where it was when it is next used."""
        arguments = parse_argstring(self.suspend, line)
        lost = self._say({"do": "suspend", "force": arguments.force})["lost"]
        print("The session is suspended when this cell has ended; the next cell wakes it.")
        if isinstance(lost, list) and lost:
            print("Lost then:", ", ".join(f"{row['name']} ({row['reason']})" for row in lost))

    @magic_arguments()
    @argument("host", help="one of `banyan hosts`")
    @argument("--force", action="store_true", help="also where variables would be lost")
    @line_magic
    def migrate(self, line: str) -> None:
        """Move the session to another host. Cells go on meanwhile."""
        arguments = parse_argstring(self.migrate, line)
        answer = self._say({"do": "migrate", "host": arguments.host, "force": arguments.force})
        print(f"The session moves to {answer['host']}.")

    @magic_arguments()
    @argument("how", nargs="?", choices=["always", "auto"], help="auto: whichever is quicker, the default")
    @argument("names", nargs="*", help="variables")
    @line_magic
    def copy(self, line: str) -> None:
        """Say that variables are always copied, never made again: %copy always df. Without words, list them."""
        arguments = parse_argstring(self.copy, line)
        question: dict[str, object] = {"do": "copy", "names": " ".join(arguments.names)}
        always = self._say({**question, "always": arguments.how != "auto"})["always"]
        print("Always copied:", ", ".join(always) if isinstance(always, list) and always else "nothing")

    def _say(self, question: dict[str, object]) -> dict[str, object]:
        try:
            return self._ask(question)
        except HistoryError as error:
            raise UsageError(str(error)) from None
