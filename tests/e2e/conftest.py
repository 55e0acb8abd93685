"""Fixtures: one platform for all tests, which is repaired after each test, and a new kernel for each test."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness.client import Connection, Gateway
from harness.platform import Platform, binary
from harness.wire import V1


@pytest.fixture(scope="session")
def platform_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("platform")


@pytest.fixture(scope="session")
def shared_platform(platform_folder: Path) -> Iterator[Platform]:
    if not binary().exists():
        pytest.fail(f"no program at {binary()}: ./dev test e2e builds it, or set BANYAN_BINARY")
    platform = Platform(platform_folder)
    yield platform
    platform.stop()


@pytest.fixture
def platform(shared_platform: Platform) -> Iterator[Platform]:
    """A platform of four hosts, all up. A test may kill daemons; dead daemons are started again after the test."""
    yield shared_platform
    shared_platform.repair()


@pytest.fixture
def limited_platform(tmp_path: Path) -> Iterator[Platform]:
    """A platform for one test; its workers may use 512 MiB each."""
    platform = Platform(tmp_path, hosts=3)
    try:
        platform.configure(platform.hosts, "worker_memory_bytes", str(512 << 20))
        yield platform
    finally:
        platform.stop()


@pytest.fixture
def gateway(platform: Platform) -> Gateway:
    return platform.gateway


@pytest.fixture
def kernel(gateway: Gateway) -> Iterator[str]:
    """The id of a new kernel."""
    kernel = gateway.start_kernel(name="python3")
    yield kernel
    gateway.delete_kernel(kernel)


@pytest.fixture
def session(gateway: Gateway, kernel: str) -> Iterator[Connection]:
    """A client of the new kernel."""
    with Connection(gateway, kernel) as connection:
        yield connection


@pytest.fixture(params=[V1, None], ids=["v1", "legacy"])
def either(request: pytest.FixtureRequest, gateway: Gateway, kernel: str) -> Iterator[Connection]:
    """A client of the new kernel, once for each sub-protocol."""
    with Connection(gateway, kernel, protocol=request.param) as connection:
        yield connection


@pytest.fixture(scope="session")
def jupyter_env(shared_platform: Platform, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a stock Jupyter client that knows the kernel shim as the kernelspec "banyan"."""
    folder = tmp_path_factory.mktemp("jupyter")
    kernelspec = folder / "data" / "kernels" / "banyan"
    kernelspec.mkdir(parents=True)
    spec = {
        "argv": [str(binary()), "kernel", "-f", "{connection_file}"],
        "display_name": "Python 3 (Banyan)",
        "language": "python",
        "interrupt_mode": "message",
    }
    (kernelspec / "kernel.json").write_text(json.dumps(spec))
    return {
        **os.environ,
        "JUPYTER_PATH": str(folder / "data"),
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "JUPYTER_DATA_DIR": str(folder / "own"),
        "BANYAN_URL": shared_platform.url,
        "BANYAN_TOKEN": shared_platform.token,
    }
