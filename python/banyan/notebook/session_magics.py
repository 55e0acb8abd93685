"""The IPython magics about where a session is and what it takes along: %suspend, %migrate, %export, %import, %copy.

Only workers have them: they need the platform.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments
from IPython.utils.process import system  # type: ignore[attr-defined]

from banyan.notebook.history import HistoryError

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from banyan.notebook import api
    from banyan.notebook.magics import Ask


@magics_class
class SessionMagics(Magics):
    """The magics. %suspend, %migrate and %copy take effect when their cell has ended."""

    def __init__(self, shell: InteractiveShell, ask: Ask, session: str) -> None:
        super().__init__(shell)
        self._ask = ask
        self._session = session

    @magic_arguments()
    @argument("--force", action="store_true", help="also where variables would be lost")
    @line_magic
    def suspend(self, line: str) -> None:
        """End the session's processes. It goes on where it was when it is next used."""
        arguments = _parsed(self.suspend, line)
        answer: api.Suspended = self._say({"do": "suspend", "force": arguments.force})
        print("The session is suspended when this cell has ended; the next cell wakes it.")
        if lost := answer["lost"]:
            print("Lost then:", ", ".join(f"{row['name']} ({row['reason']})" for row in lost))

    @magic_arguments()
    @argument("host", help="one of `banyan hosts`")
    @argument("--force", action="store_true", help="also where variables would be lost")
    @line_magic
    def migrate(self, line: str) -> None:
        """Move the session to another host. Cells go on meanwhile."""
        arguments = _parsed(self.migrate, line)
        answer: api.MigrateAnswer = self._say({"do": "migrate", "host": arguments.host, "force": arguments.force})
        print(f"The session moves to {answer['host']}.")

    @magic_arguments()
    @argument("file", help="such as work.banyan")
    @argument("--values", choices=["head", "least", "all"], default="head", help="which go along")
    @argument("--store", help="a data store that the file is in: file:///folder, redis://host:port, s3://bucket/prefix")
    @line_magic
    def export(self, line: str) -> None:
        """Write the session into a file, as it was before this cell."""
        arguments = _parsed(self.export, line)
        if re.match(r"\w+=", arguments.file):
            raise UsageError("%export writes the session into a file; for environment variables there is %env")
        store = ["--store", arguments.store] if arguments.store else []
        self._command("export", self._session, arguments.file, "--values", arguments.values, *store)

    @magic_arguments("import")
    @argument("file", help="of %%export or `banyan export`")
    @argument("--store", help="a data store that the file is in")
    @argument("--show", action="store_true", help="only show what is in it")
    @argument("--trust", metavar="NAME", help="take files of whoever has signed this one from now on")
    @argument("--unsigned", action="store_true", help="take it though nobody you trust has signed it")
    @line_magic("import")  # type: ignore[arg-type]
    def import_(self, line: str) -> None:
        """Make a new session from a file; this one stays as it is."""
        arguments = _parsed(self.import_, line)
        given = [
            word for name in ("store", "trust") if (value := getattr(arguments, name)) for word in (f"--{name}", value)
        ]
        given += [f"--{name}" for name in ("show", "unsigned") if getattr(arguments, name)]
        self._command("import", arguments.file, *given)

    @magic_arguments()
    @argument("how", nargs="?", choices=["always", "auto"], help="auto: whichever is quicker, the default")
    @argument("names", nargs="*", help="variables")
    @line_magic
    def copy(self, line: str) -> None:
        """Say that variables are always copied, never made again: %copy always df. Without words, list them."""
        arguments = _parsed(self.copy, line)
        always = arguments.how != "auto"
        answer: api.CopyAnswer = self._say({"do": "copy", "names": " ".join(arguments.names), "always": always})
        print("Always copied:", ", ".join(answer["always"]) or "nothing")

    def _command(self, *words: str) -> None:
        """Run `banyan` as in a terminal, with its progress bar."""
        program = os.environ.get("BANYAN_COMMAND")
        if not program:
            raise UsageError("this host does not say where the banyan command is; use it in a terminal")
        if system(shlex.join([program, *words])) != 0:
            raise UsageError(f"banyan {words[0]} has failed: see above")

    def _say(self, question: api.Question) -> Any:
        try:
            return self._ask(question)
        except HistoryError as error:
            raise UsageError(str(error)) from None


def _parsed(magic: Any, line: str) -> argparse.Namespace:
    """The arguments of a magic. Quotes have the meaning that they have in a shell."""
    try:
        parsed: argparse.Namespace = magic.parser.parse_args(shlex.split(line))
    except ValueError as error:
        raise UsageError(f"{error}: {line}") from None
    return parsed
