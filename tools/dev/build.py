"""Configures and builds the tree with CMake and ninja, one build folder for each preset."""

import os
import subprocess
from pathlib import Path

from dev import ui
from dev.paths import BUILD, LOGS, ROOT

PRESETS = ("release", "debug", "asan", "tsan", "gcc", "fuzz")


def configure(preset: str) -> Path:
    """Configures the preset where that is needed, and returns its build folder."""
    folder = BUILD / preset
    if not (folder / "build.ninja").exists():
        command = ["cmake", "--preset", preset]
        ui.run(f"Configuring {preset}", command, LOGS / f"configure-{preset}.log", cwd=ROOT)
    return folder


def build(preset: str, *targets: str) -> Path:
    """Builds targets (all when none is named) and returns the build folder."""
    folder = configure(preset)
    # With paths relative to the root, another clone on this machine finds in the cache what this clone compiled.
    shared = {"CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1"}
    command: list[str | Path] = ["ninja", "-C", folder, "-j", str(jobs()), *targets]
    ui.run(f"Building {preset}", command, LOGS / f"build-{preset}.log", env=shared)
    return folder


def has_target(preset: str, target: str) -> bool:
    """Whether the build files of the tree declare the target."""
    query = ["ninja", "-C", str(configure(preset)), "-t", "query", target]
    return subprocess.run(query, capture_output=True, check=False).returncode == 0


def jobs() -> int:
    """One compiler job for each core, but fewer where memory is short: the largest source takes about 1 GB."""
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return max(1, min(os.cpu_count() or 1, int(memory_gb // 1.5)))
