"""./dev doctor: what this machine has and lacks, with advice."""

import json
import os
import platform
import re
import shutil
import socket
import subprocess
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from dev import provision, ui
from dev.paths import CHROMIUM, DEBIAN_PYTHON, PACKAGES, ROOT, VENV_PYTHON

_DISK_GB_MIN = 10
_MEMORY_GB_MIN = 4
_MARKS = {"ok": "green", "note": "yellow", "lacks": "red"}


@dataclass(frozen=True)
class Finding:
    """`state`: ok; note (something works differently); lacks (something does not work until it is there)."""

    what: str
    state: str
    found: str
    advice: str = ""


def _output(*argv: str) -> str | None:
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return (done.stdout or done.stderr).strip() if done.returncode == 0 else None


def _system() -> Finding:
    release = Path("/etc/os-release")
    fields = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', release.read_text(), re.M)) if release.exists() else {}
    name = f"{fields.get('PRETTY_NAME', platform.platform())}, kernel {platform.release()}"
    if fields.get("ID") == "debian" and fields.get("VERSION_ID") == "12":
        return Finding("system", "ok", name)
    return Finding("system", "note", name, "tested on Debian 12 only")


def _processor() -> Finding:
    return Finding("processor", "ok", f"{os.cpu_count()} cores, {platform.machine()}")


def _memory() -> Finding:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    if total < _MEMORY_GB_MIN:
        return Finding("memory", "note", f"{total:.1f} GiB", f"a build wants {_MEMORY_GB_MIN} GiB")
    return Finding("memory", "ok", f"{total:.1f} GiB")


def _disk() -> Finding:
    free = shutil.disk_usage(ROOT).free / 2**30
    if free < _DISK_GB_MIN:
        return Finding("disk", "lacks", f"{free:.1f} GiB free", f"a build with sanitizers wants {_DISK_GB_MIN} GiB")
    return Finding("disk", "ok", f"{free:.1f} GiB free")


def _packages(name: str, what: str, command: str) -> Finding:
    if not shutil.which("dpkg-query"):
        return Finding(what, "lacks", "no dpkg", "install the equivalents of tools/packages/ yourself")
    missing = provision.missing_packages(provision.read_packages(PACKAGES / f"{name}.txt"))
    if missing:
        return Finding(what, "lacks", f"{len(missing)} missing: {' '.join(missing[:4])}…", f"{command} installs them")
    return Finding(what, "ok", "all installed")


def _program(what: str, *argv: str, advice: str, needed: bool = True) -> Finding:
    text = _output(*argv)
    if text is None:
        return Finding(what, "lacks" if needed else "note", "none", advice)
    return Finding(what, "ok", text.splitlines()[0])


def _python() -> Finding:
    text = _output(str(DEBIAN_PYTHON), "--version")
    if text is None or not text.startswith("Python 3.11"):
        return Finding("python", "lacks", text or "none", "the workers want Debian's /usr/bin/python3, 3.11")
    venv = "with .venv" if VENV_PYTHON.exists() else "no .venv yet"
    return Finding("python", "ok", f"{text}, {venv}")


def _cgroups() -> Finding:
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    v2 = next((m[1] for m in mounts if m[2] == "cgroup2"), None)
    controllers = set()
    if v2 and (Path(v2) / "cgroup.controllers").exists():
        controllers = set((Path(v2) / "cgroup.controllers").read_text().split())
    wanted = {"memory", "cpu", "pids"}
    if v2 and wanted <= controllers:
        if os.access(v2, os.W_OK):
            return Finding("cgroups", "ok", f"v2 at {v2}, writable")
        return Finding(
            "cgroups", "note", f"v2 at {v2}, read-only", "workers run without limits unless a subtree is delegated"
        )
    v1 = {m[1]: set(m[3].split(",")) & wanted for m in mounts if m[2] == "cgroup"}
    writable = set().union(*(names for path, names in v1.items() if os.access(path, os.W_OK)))
    if wanted <= writable:
        return Finding("cgroups", "ok", "v1, memory, cpu and pids writable")
    have = ", ".join(sorted(writable)) or "none"
    return Finding("cgroups", "note", f"writable controllers: {have}", "workers run without the other limits")


def _user_namespaces() -> Finding:
    if _output("unshare", "--user", "--map-root-user", "true") is not None:
        return Finding("user namespaces", "ok", "allowed")
    return Finding("user namespaces", "note", "refused", "workers run without a sandbox; root needs none of this")


def _bubblewrap() -> Finding:
    text = _output("bwrap", "--version")
    if text is None:
        return Finding("bubblewrap", "note", "none", "workers run without a sandbox; ./dev up installs it")
    if _output("bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "true") is None:
        return Finding("bubblewrap", "note", f"{text}, cannot start here", "workers run without a sandbox")
    return Finding("bubblewrap", "ok", text)


def _ports() -> Finding:
    taken = []
    for port in (8888, 8890):
        with socket.socket() as probe:
            probe.settimeout(0.2)
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                taken.append(str(port))
    if taken:
        return Finding("ports", "note", f"{' and '.join(taken)} taken", "./dev up takes the next that is free")
    return Finding("ports", "ok", "8888 and 8890 are free")


def _gpus() -> Finding:
    text = _output("nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader")
    if not text:
        return Finding("GPUs", "note", "none", "everything runs without one; GPU tests are skipped")
    return Finding("GPUs", "ok", "; ".join(text.splitlines()))


PROBES: tuple[Callable[[], Finding], ...] = (
    _system,
    _processor,
    _memory,
    _disk,
    lambda: _packages("apt", "packages", "./dev up"),
    lambda: _packages("apt-test", "test packages", "./dev test"),
    lambda: _program("compiler", "clang++-19", "--version", advice="./dev up installs clang-19"),
    lambda: _program("second compiler", "g++-12", "--version", advice="only for the preset gcc", needed=False),
    lambda: _program("ccache", "ccache", "--version", advice="builds are slow without it", needed=False),
    _python,
    lambda: _program("node", "node", "--version", advice="./dev test installs it", needed=False),
    lambda: _program("chromium", str(CHROMIUM), "--version", advice="./dev test installs it", needed=False),
    _cgroups,
    _user_namespaces,
    _bubblewrap,
    _ports,
    _gpus,
)


def main(*, as_json: bool) -> int:
    findings = [probe() for probe in PROBES]
    if as_json:
        print(json.dumps({"findings": [asdict(finding) for finding in findings]}))
    else:
        rows = [["", "what", "found", "advice"]]
        rows += [[finding.state, finding.what, finding.found, finding.advice] for finding in findings]
        ui.table(rows, _MARKS.get)
    return 1 if any(finding.state == "lacks" for finding in findings) else 0
