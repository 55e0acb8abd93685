"""Packages that are too large for ./dev test, and the tests that need them: handles on clusters with ray, pyspark and
dask together (it installs dask alone), and what a session keeps of torch."""

import os
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

from dev import counts, provision, ui
from dev.counts import Tally
from dev.paths import BUILD, LOGS, ROOT

# What each entry gives to a pytest of its own. Each of the folders has a conftest.py, and there can be but one.
_CLUSTERS = {"package": ["python/tests/clusters"], "platform": ["tests/e2e/test_moving_ray.py"]}
_TORCH = {
    "package": ["python/tests/test_kinds.py", "python/tests/test_runs_again.py", "-k", "torch"],
    "platform": ["tests/e2e/state", "-k", "torch"],
}


def clusters_unavailable() -> str:
    """Why this machine cannot run the tests of clusters; empty when it can."""
    if os.geteuid() != 0:
        return "clusters get a network of their own, which needs root"
    if not shutil.which("java"):
        return "pyspark needs Java: apt-get install default-jre-headless"
    return ""


def clusters() -> Tally:
    """Runs them in a network namespace of their own, because ray listens on all addresses of its machine."""
    if reason := clusters_unavailable():
        return counts.skipped("clusters", reason)
    python = provision.venv(BUILD / "clusters", "requirements-clusters")
    tally = Tally()
    for name, tests in _CLUSTERS.items():
        pytest = shlex.join(str(word) for word in _pytest(python, f"clusters-{name}", tests))
        command = ["unshare", "--net", "sh", "-c", f"ip link set lo up && exec {pytest}"]
        tally += _run(f"clusters-{name}", command, {"BANYAN_TEST_NETWORK": "own"})
    return tally


def python_with_torch() -> Path:
    """An interpreter that has what tests and benches use, and torch and transformers besides."""
    return provision.venv(BUILD / "torch", "requirements", "requirements-test", "requirements-torch")


def torch() -> Tally:
    python = python_with_torch()
    suites = ((f"torch-{name}", tests) for name, tests in _TORCH.items())
    return sum((_run(name, _pytest(python, name, tests), {}) for name, tests in suites), Tally())


def _pytest(python: Path, name: str, tests: Sequence[str]) -> list[str | Path]:
    return [python, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", f"--junit-xml={_report(name)}", *tests]


def _report(name: str) -> Path:
    return BUILD / "results" / "large" / f"{name}.xml"


def _run(name: str, command: Sequence[str | Path], settings: dict[str, str]) -> Tally:
    report = _report(name)
    report.parent.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)
    log = LOGS / f"{name}.log"
    settings = {**settings, "PYTHONPATH": str(ROOT / "tools")}
    status = ui.run(name.replace("-", ": "), command, log, cwd=ROOT, env=settings, check=False)
    tally = counts.junit(report) if report.exists() else Tally()
    return counts.settle(name, status, tally, log)
