"""What cells set of asyncio: its policy, and debugging, the exception handler and the task factory of their loop."""

from __future__ import annotations

import asyncio
import operator
from typing import Any

from banyan.surroundings.part import Part, Resists
from banyan.surroundings.settings import Access

_events: Any = asyncio.events


class _Asyncio:
    def __init__(self) -> None:
        self._policy = _events._event_loop_policy
        self._settings: dict[str, Access] = {"policy": (self._read_policy, self._write_policy)}
        try:
            loop: Any = asyncio.get_running_loop()
        except RuntimeError:  # When a worker begins, its loop does not run yet.
            loop = getattr(getattr(self._policy, "_local", None), "_loop", None)
        if loop is not None:
            self._settings |= {
                "debugging": (loop.get_debug, loop.set_debug),
                "exception handler": (loop.get_exception_handler, loop.set_exception_handler),
                "task factory": (loop.get_task_factory, loop.set_task_factory),
            }
        if hasattr(loop, "slow_callback_duration"):
            self._settings["slow callbacks"] = (
                lambda: loop.slow_callback_duration,
                lambda duration_s: setattr(loop, "slow_callback_duration", duration_s),
            )
        self._before = self._now()

    def read(self) -> dict[str, Any]:
        now = self._now()
        if all(map(operator.is_, now.values(), self._before.values())):
            return {}
        return {name: one for name, one in now.items() if one is not self._before[name] and one != self._before[name]}

    def write(self, wanted: dict[str, Any]) -> None:
        reasons: dict[str, str] = {}
        for name, (read, write) in self._settings.items():
            value = wanted.get(name, self._before[name])
            try:
                if read() is not value:
                    write(value)
            except Exception as error:
                reasons[name] = f"{type(error).__name__}: {error}"
        if reasons:
            raise Resists(reasons)

    def _now(self) -> dict[str, Any]:
        return {name: read() for name, (read, _) in self._settings.items()}

    def _read_policy(self) -> Any:
        """The class of the policy, because the policy itself holds what belongs to a thread. None for one
        of asyncio's own.

        Python 3.14 warns whoever uses its public name.
        """
        kind = type(_events._event_loop_policy)
        return None if kind.__module__.startswith("asyncio") else kind

    def _write_policy(self, kind: Any) -> None:
        _events._event_loop_policy = self._policy if kind is None else kind()


def parts() -> list[Part]:
    settings = _Asyncio()
    about = "asyncio: its policy, and debugging, the handler of exceptions and the factory of tasks of the loop"
    return [Part("<asyncio>", about, settings.read, settings.write, holds=True)]
