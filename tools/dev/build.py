"""CMake and ninja, by preset."""

import os
import subprocess
from pathlib import Path

from dev import ui
from dev.paths import BUILD, LOGS, ROOT

PRESETS = ("release", "debug", "asan", "tsan", "gcc", "fuzz")


def configure(preset: str) -> Path:
    """The preset's build folder, configured."""
    folder = BUILD / preset
    if not (folder / "build.ninja").exists():
        command = ["cmake", "--preset", preset]
        ui.run(f"Configuring {preset}", command, LOGS / f"configure-{preset}.log", cwd=ROOT)
    return folder


def build(preset: str, *targets: str) -> Path:
    """Builds targets (all when none is named) and returns the build folder."""
    folder = configure(preset)
    # Another clone on this machine finds what this one compiled.
    shared = {"CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1"}
    command: list[str | Path] = ["ninja", "-C", folder, "-j", str(jobs()), *targets]
    ui.run(f"Building {preset}", command, LOGS / f"build-{preset}.log", env=shared)
    return folder


def has_target(preset: str, target: str) -> bool:
    """Whether the tree declares the target."""
    query = ["ninja", "-C", str(configure(preset)), "-t", "query", target]
    return subprocess.run(query, capture_output=True, check=False).returncode == 0


def jobs() -> int:
    """A job for each core, as long as memory lasts: the largest source takes about 1 GB."""
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return max(1, min(os.cpu_count() or 1, int(memory_gb // 1.5)))
