"""Where figures were measured: the machine, what ran on it, and how busy it was."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

__all__ = ["commit", "load_average", "machine", "versions"]

_PACKAGES = ("pyspark", "pyarrow", "numpy", "numba")


def machine() -> dict[str, Any]:
    """Processor, cores and memory."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": f"{platform.system()} {platform.release()}",
    }


def _cpu_model() -> str:
    about = Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*:\s*(.+)$", about.read_text(), re.MULTILINE) if about.exists() else None
    return found.group(1).strip() if found else platform.processor() or platform.machine()


def versions() -> dict[str, str]:
    """Of Python, Java and the packages that do the work."""
    return {
        "python": platform.python_version(),
        "java": _java(),
        **{package: version(package) for package in _PACKAGES},
    }


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    if java is None:
        return "none"
    said = subprocess.run([java, "-version"], capture_output=True, text=True).stderr
    found = re.search(r'version "([^"]+)"', said)
    return found.group(1) if found else "unknown"


def load_average() -> float:
    """Of the last minute: how many processes wanted to run, this benchmark's own included."""
    return round(os.getloadavg()[0], 2)


def commit() -> str:
    """The commit that was measured; "+ changes" if files differ from it."""
    here = Path(__file__).parent.parent
    name = _git(here, "rev-parse", "--short", "HEAD")
    if not name:
        return "unknown"
    changed = _git(here, "status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs/benchmarks")
    return f"{name} + changes" if changed else name


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, cwd=folder)
    return done.stdout.strip()
