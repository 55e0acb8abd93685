"""Each kind of what a process holds beside its variables (`python/tests/kinds.py`) goes all ways on the platform."""

from collections.abc import Iterator

import pytest
from harness.client import Connection
from harness.platform import Platform
from notebook import Notebook
from ways import WAYS, Walked, together, walk

from python.tests.kinds import KINDS, Kind


@pytest.fixture(scope="module")
def walked(shared_platform: Platform) -> Iterator[dict[str, Walked]]:
    """What became of each kind, by its name."""
    found: dict[str, Walked] = {}
    for kinds in together(kind for kind in KINDS if kind.is_here):
        kernel = shared_platform.gateway.start_kernel(name="python3")
        try:
            with Connection(shared_platform.gateway, kernel) as session:
                found |= {one.kind.name: one for one in walk(Notebook(shared_platform, kernel, session), kinds)}
        finally:
            shared_platform.repair()
            shared_platform.gateway.delete_kernel(kernel)
    yield found


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", [pytest.param(kind, id=kind.name) for kind in KINDS if kind.is_here])
def test_is_kept(walked: dict[str, Walked], kind: Kind, way: str) -> None:
    if problem := walked[kind.name].problems.get(way):
        pytest.fail(problem)
