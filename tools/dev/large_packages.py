"""The tests of handles on clusters with ray, pyspark and dask together. These packages are too large for ./dev test,
which installs dask alone."""

import os
import shutil
from pathlib import Path

from dev import counts, provision, ui
from dev.counts import Tally
from dev.paths import BUILD, LOGS, ROOT

_ENVIRONMENT = BUILD / "clusters"
_REPORTS = BUILD / "results" / "clusters"
# Each entry runs in a pytest of its own, because both folders have a conftest.py.
_TESTS = {"package": "python/tests/clusters", "platform": "tests/e2e/test_moving_ray.py"}


def unavailable() -> str:
    """Why this machine cannot run these tests; empty when it can."""
    if os.geteuid() != 0:
        return "clusters get a network of their own, which needs root"
    if not shutil.which("java"):
        return "pyspark needs Java: apt-get install default-jre-headless"
    return ""


def run() -> Tally:
    if reason := unavailable():
        return counts.skipped("clusters", reason)
    python = provision.venv(_ENVIRONMENT, "requirements-clusters")
    return sum((_pytest(name, python, tests) for name, tests in _TESTS.items()), Tally())


def _pytest(name: str, python: Path, tests: str) -> Tally:
    """Runs the tests in a network namespace of their own, because ray listens on all addresses of its machine."""
    report = _REPORTS / f"{name}.xml"
    report.parent.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)
    pytest = f"{python} -m pytest -q -rs -p no:cacheprovider --junit-xml={report} {tests}"
    command = ["unshare", "--net", "sh", "-c", f"ip link set lo up && exec {pytest}"]
    settings = {"BANYAN_TEST_NETWORK": "own", "PYTHONPATH": str(ROOT / "tools")}
    log = LOGS / f"clusters-{name}.log"
    status = ui.run(f"clusters: {tests}", command, log, cwd=ROOT, env=settings, check=False)
    tally = counts.junit(report) if report.exists() else Tally()
    return counts.settle(f"clusters {name}", status, tally, log)
