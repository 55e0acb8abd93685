"""Fixtures: a notebook for one test, and a notebook in which all stories of a module are told."""

from collections.abc import Iterator

import pytest
from harness.client import Connection
from harness.platform import Platform
from notebook import Notebook
from story import Told, tell_all


@pytest.fixture
def notebook(platform: Platform, kernel: str, session: Connection) -> Notebook:
    """A notebook with a new kernel; the test may kill hosts."""
    return Notebook(platform, kernel, session)


@pytest.fixture(scope="module")
def told(request: pytest.FixtureRequest, shared_platform: Platform) -> Iterator[dict[str, Told]]:
    """Tells all selected stories of the module in one session; the results, by the name of the story."""
    stories = {
        item.function.story.__name__: item.function.story()
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.module is request.module and hasattr(item.function, "story")
    }
    kernel = shared_platform.gateway.start_kernel(name="python3")
    try:
        with Connection(shared_platform.gateway, kernel) as session:
            yield tell_all(Notebook(shared_platform, kernel, session), stories)
    finally:
        shared_platform.repair()
        shared_platform.gateway.delete_kernel(kernel)
