"""Settings of the shell: traits that `%config` sets, the mode of tracebacks, aliases, extensions and their settings."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from IPython.core.alias import Alias

from banyan.surroundings.of_ipython import Registered
from banyan.surroundings.part import Moment, Part
from banyan.surroundings.scan import SIMPLE

# Settings that belong to the process: no user wishes to keep them.
_NOT_KEPT = frozenset({"HistoryManager.hist_file", "InteractiveShell.logfile", "InteractiveShell.logappend"})
_INLINE = "InlineBackend"
# By extension: attributes of its magics that are tables, which are kept beside its traits and its plain attributes.
_TABLES = {"autoreload": ("modules", "skip_modules")}


class _Traits:
    """Traits of the shell, its formatters and its other configurable objects that were set since the first cell.

    traitlets calls back when one is set, so that nothing is read after a cell that sets none.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._owners: dict[str, Any] = {}
        self._first: dict[tuple[str, str], Any] = {}
        self._set: dict[tuple[str, str], None] = {}
        self._times = 0
        self._count = 0
        self._take_in()

    def glance(self) -> Any:
        self._take_in()
        return self._times

    def read(self) -> dict[str, Any]:
        self._take_in()
        found = {}
        for key in self._set:
            value = getattr(self._owners[key[0]], key[1])
            if value != self._first[key] and _is_plain(value):
                found[".".join(key)] = _plain_copy(value)
        return found

    def write(self, difference: Mapping[str, Any]) -> None:
        if self._shell is None:
            return
        wanted = {(name.rpartition(".")[0], name.rpartition(".")[2]): value for name, value in difference.items()}
        for owner in {owner for owner, _ in wanted} - self._owners.keys():
            _make(owner, self._shell)
        self._take_in()
        numpy: Any = sys.modules.get("numpy")
        printing = numpy.get_printoptions() if hasattr(numpy, "get_printoptions") else {}
        failed = []
        for key in sorted({*self._set, *wanted}):
            try:
                value = wanted.get(key, self._first[key])
                if getattr(self._owners[key[0]], key[1]) != value:
                    setattr(self._owners[key[0]], key[1], _plain_copy(value))
            except KeyError:
                failed.append(f"{'.'.join(key)}: there is no such setting here")
            except Exception as error:
                failed.append(f"{'.'.join(key)}: {error}")
        # IPython passes its precision of floats on to numpy, which has a part of its own.
        if printing and numpy.get_printoptions() != printing:
            numpy.set_printoptions(**printing)
        if failed:
            raise ValueError("; ".join(failed))

    def _take_in(self) -> None:
        """Take in objects that libraries have added since the last call. What their traits differ from by
        default counts as set.
        """
        configurables = getattr(self._shell, "configurables", ())
        if len(configurables) == self._count:
            return
        late, self._count = self._count > 0, len(configurables)
        display = self._shell.display_formatter
        formatters = [*display.formatters.values(), display.ipython_display_formatter, display.mimebundle_formatter]
        for one in [*configurables, *formatters]:
            owner = type(one).__name__
            if owner in self._owners:
                continue
            self._owners[owner] = one
            names = [name for name in one.traits(config=True) if f"{owner}.{name}" not in _NOT_KEPT]
            for name in names:
                with contextlib.suppress(Exception):
                    self._first[owner, name] = _plain_copy(getattr(one, name))
                    if late and not type(one).__module__.startswith("IPython."):
                        self._first[owner, name] = _plain_copy(type(one).class_traits()[name].default(one))
                        self._set[owner, name] = None
            if observed := [name for name in names if (owner, name) in self._first]:
                one.observe(self._note, names=observed)

    def _note(self, change: Any) -> None:
        self._times += 1
        self._set[type(change["owner"]).__name__, change["name"]] = None


def _make(owner: str, shell: Any) -> None:
    """Make an object that IPython makes when it is first used. The one of matplotlib is made without
    importing matplotlib.
    """
    if owner != _INLINE:
        with contextlib.suppress(Exception):
            shell.magics_manager.registry[owner]
        return
    from matplotlib_inline.config import InlineBackend

    inline = InlineBackend.instance(parent=shell)
    if inline not in shell.configurables:
        shell.configurables.append(inline)
    if "matplotlib.figure" in sys.modules:
        inline.shell = shell


def _is_plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_is_plain, value)) and all(map(_is_plain, value.values()))
    return isinstance(value, SIMPLE) or (isinstance(value, (list, tuple, set)) and all(map(_is_plain, value)))


def _plain_copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain_copy(each) for key, each in value.items()}
    return type(value)(value) if type(value) in (list, set) else value


class _Shell:
    """Settings that are no traits: the mode of tracebacks, aliases, the directories of %pushd and of `%cd -`, and the
    file of %logstart.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._first = self._now()

    def glance(self) -> Any:
        shell = self._shell
        if shell is None:
            return None
        lines = shell.magics_manager.magics["line"]
        log = shell.logger.logfile, shell.logger.log_active
        directories = list(shell.dir_stack), list(shell.user_ns.get("_dh", ()))
        return shell.InteractiveTB.mode, shell.call_pdb, directories, list(lines.values()), log

    def read(self) -> dict[str, Any]:
        return {name: value for name, value in self._now().items() if value != self._first[name]}

    def write(self, difference: Mapping[str, Any]) -> None:
        shell, wanted = self._shell, {**self._first, **difference}
        if shell is None:
            return
        shell.InteractiveTB.set_mode(mode=wanted["mode of tracebacks"])
        shell.call_pdb = wanted["pdb"]
        shell.dir_stack[:] = wanted["directories"]
        if isinstance(visited := shell.user_ns.get("_dh"), list):
            visited[:] = map(Path, wanted["visited"])
        now, aliases = dict(shell.alias_manager.aliases), wanted["aliases"]
        for name in now.keys() - aliases.keys():
            shell.alias_manager.undefine_alias(name)
        for name, command in aliases.items():
            if now.get(name) != command:
                shell.alias_manager.define_alias(name, command)
        if _log_of(shell) != wanted["log"]:
            _write_log(shell.logger, wanted["log"])

    def _now(self) -> dict[str, Any]:
        shell = self._shell
        if shell is None:
            return {}
        lines = shell.magics_manager.magics["line"]
        return {
            "mode of tracebacks": shell.InteractiveTB.mode,
            "pdb": shell.call_pdb,
            "directories": list(shell.dir_stack),
            "visited": [str(each) for each in shell.user_ns.get("_dh", ())],
            "aliases": {name: one.cmd for name, one in list(lines.items()) if isinstance(one, Alias)},
            "log": _log_of(shell),
        }


def _log_of(shell: Any) -> dict[str, Any]:
    """How %logstart was called; empty where no log is written."""
    log = shell.logger
    if log.logfile is None:
        return {}
    options = {name: getattr(log, name) for name in ("log_output", "timestamp", "log_raw_input")}
    # The stored name may be relative to a directory that was current then.
    file = Path(f"/proc/self/fd/{log.logfile.fileno()}").readlink()
    return {"file": str(file), "active": log.log_active, "options": options}


def _write_log(log: Any, wanted: Mapping[str, Any]) -> None:
    """Stop or start the log. What is in the file stays, as somebody may have read it."""
    if log.logfile is not None:
        log.logstop()
    if wanted:
        log.logstart(wanted["file"], logmode="append", **wanted["options"])
        log.log_active = wanted["active"]


class _Extensions:
    """Extensions that cells loaded or unloaded, and their settings."""

    def __init__(self, registered: Registered) -> None:
        self._shell = registered.shell
        self._registered = registered
        self._first: list[str] = []
        self._order: list[str] = []
        # By extension: what was registered before it was loaded, and after.
        self._added: dict[str, tuple[Any, Any]] = {}
        if self._shell is not None:
            self._first = self._loaded()
            self._watch(self._shell.extension_manager)

    def _watch(self, manager: Any) -> None:
        load = manager._call_load_ipython_extension

        def loading(module: Any) -> Any:
            before = self._registered.snapshot()
            try:
                return load(module)
            finally:
                self._registered.take_in(list(self._registered.since(before)))
                self._added[module.__name__] = before, self._registered.snapshot()

        manager._call_load_ipython_extension = loading

    def glance(self) -> Any:
        loaded = self._loaded()
        return loaded, self._states(loaded) if loaded != self._first else None

    def read(self) -> dict[str, Any]:
        loaded = self._loaded()
        if loaded == self._first:
            return {}
        return {"loaded": loaded, "states": self._states(loaded)}

    def write(self, wanted: Mapping[str, Any]) -> None:
        if self._shell is None:
            return
        names, failed = wanted.get("loaded", self._first), []
        manager = self._shell.extension_manager
        silence = io.StringIO()
        with contextlib.redirect_stdout(silence), contextlib.redirect_stderr(silence):
            for name in [name for name in reversed(self._loaded()) if name not in names]:
                self._unload(name)
            for name in names:
                try:
                    if name not in manager.loaded and manager.load_extension(name) == "no load function":
                        failed.append(f"{name} is no extension here")
                    self._put(wanted.get("states", {}).get(name, {}), name)
                except Exception as error:
                    failed.append(f"{name}: {type(error).__name__}: {error}")
        if failed:
            raise ValueError("; ".join(failed))

    def _unload(self, name: str) -> None:
        """Unload an extension. One that offers no way to do so loses what it has registered."""
        manager = self._shell.extension_manager
        with contextlib.suppress(Exception):
            manager.unload_extension(name)
        if name in self._added:
            self._registered.take_back(*self._added.pop(name))
        manager.loaded.discard(name)

    def _loaded(self) -> list[str]:
        """Extensions in the order in which they were loaded."""
        if self._shell is None:
            return []
        loaded = {name for name in self._shell.extension_manager.loaded if name.partition(".")[0] != "banyan"}
        if len(loaded) != len(self._order) or not loaded.issuperset(self._order):
            self._order = [name for name in self._order if name in loaded]
            self._order += sorted(loaded.difference(self._order))
        return self._order if self._order != self._first else self._first

    def _states(self, loaded: list[str]) -> dict[str, dict[str, Any]]:
        return {name: self._state(name) for name in loaded if name not in self._first}

    def _state(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for at, holder in self._holders(name):
            for attribute, value in list(vars(holder).items()):
                table = attribute in _TABLES.get(name.rpartition(".")[2], ())
                if type(value) in SIMPLE or (table and _is_plain(value)):
                    found[f"{at}.{attribute}"] = _plain_copy(value)
        return found

    def _put(self, state: Mapping[str, Any], name: str) -> None:
        for at, holder in self._holders(name):
            own = {each: value for each, value in state.items() if each.rpartition(".")[0] == at}
            for each, value in own.items():
                attribute = each.rpartition(".")[2]
                if vars(holder).get(attribute) != value:
                    vars(holder)[attribute] = _plain_copy(value)

    def _holders(self, name: str) -> Iterator[tuple[str, Any]]:
        """The magics of an extension, and objects of the same module that these have as attributes."""
        for kind, magics in list(self._shell.magics_manager.registry.items()):
            if not f"{type(magics).__module__}.".startswith(f"{name}."):
                continue
            yield kind, magics
            for attribute, value in list(vars(magics).items()):
                if type(value).__module__ == type(magics).__module__ and hasattr(value, "__dict__"):
                    yield f"{kind}.{attribute}", value


def parts(registered: Registered) -> list[Part]:
    traits, shell, extensions = _Traits(registered.shell), _Shell(registered.shell), _Extensions(registered)
    return [
        Part("<ipython.config>", "what %config sets", traits.read, traits.write, traits.glance, first={}),
        Part(
            "<ipython.shell>",
            "IPython's aliases, the mode of its tracebacks, %logstart and other settings of the shell",
            shell.read,
            shell.write,
            shell.glance,
            first={},
        ),
        Part(
            "<ipython.extensions>",
            "extensions of IPython, and what they have set",
            extensions.read,
            extensions.write,
            extensions.glance,
            moment=Moment.BEFORE,
            first={},
        ),
    ]
