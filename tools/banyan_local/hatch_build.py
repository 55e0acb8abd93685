"""Tags the wheel: it contains a program and an extension module, so it fits one Python and one kind of machine."""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class BinaryWheel(BuildHookInterface[Any]):
    def initialize(self, _version: str, build_data: dict[str, Any]) -> None:
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
