"""The places of the tree that several tools need."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ROOT / "tools" / "packages"
BUILD = ROOT / "build"
COMPAT = BUILD / "compat"
S3_SERVER = BUILD / "s3-server"
LOGS = BUILD / "logs"
STATE = ROOT / ".banyan"
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / "bin" / "python"
COMPANION = ROOT / "jupyter" / "server"
NODE_TESTS = ROOT / "tests" / "node"
LAB_EXTENSION = ROOT / "jupyter" / "lab"
DEBIAN_PYTHON = Path("/usr/bin/python3")
CHROMIUM = Path("/usr/bin/chromium")
LOGOS = ROOT / "share" / "logo"
SIMULATOR = BUILD / "release" / "src" / "sim" / "banyan_sim"


def binary(preset: str = "release") -> Path:
    """The banyan program of a build."""
    return BUILD / preset / "src" / "cli" / "banyan"
