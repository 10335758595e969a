"""Spark's classes are archived once per Java and Spark, by one process, and never at the price of a start."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pyspark.find_spark_home import _find_spark_home

from penstock.spark.class_archive import archive_options
from penstock.spark.session import require_java
from penstock.storage.block_cache import cache_folder

_START = """
from penstock.spark import find_or_make_session
spark, _ = find_or_make_session("archive", 1, brief=True)
given = spark._jvm.java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments()
print("shared" if any("SharedArchiveFile" in option for option in given) else "own")
print(spark.range(3).count())
"""


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path, Path]:
    """A cache folder, a Java and a Spark that are empty shells."""
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))
    java, home = tmp_path / "jdk" / "bin" / "java", tmp_path / "spark"
    for file in (java, home / "jars" / "spark-core.jar"):
        file.parent.mkdir(parents=True)
        file.touch()
    return tmp_path / "cache", java, home


def _archive(options: str) -> Path:
    return Path(options.split()[0].partition("=")[2])


def test_the_first_makes_it_others_do_not_wait_and_later_ones_use_it(places: tuple[Path, Path, Path]) -> None:
    cache, java, home = places
    first = archive_options(java, home)
    assert first.startswith(f"-XX:ArchiveClassesAtExit={cache}")
    assert archive_options(java, home) == "", "one process makes it"
    _archive(first).write_bytes(b"\xa8\xba\x0b\xf0 classes")
    assert archive_options(java, home).startswith(f"-XX:SharedArchiveFile={_archive(first)} ")


def test_one_that_was_cut_off_is_made_again(places: tuple[Path, Path, Path]) -> None:
    _, java, home = places
    archive = _archive(archive_options(java, home))
    archive.write_bytes(bytes(100))
    os.utime(archive.with_suffix(".making"), (time.time() - 3600,) * 2)
    assert archive_options(java, home).startswith("-XX:ArchiveClassesAtExit=")


def test_another_spark_has_its_own(places: tuple[Path, Path, Path]) -> None:
    _, java, home = places
    first = archive_options(java, home)
    (home / "jars" / "spark-sql.jar").touch()
    assert _archive(archive_options(java, home)) != _archive(first)


def test_it_can_be_turned_off_and_does_without_a_folder(
    places: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, java, home = places
    cache.write_text("a file where the folder should be")
    assert archive_options(java, home) == ""
    monkeypatch.setenv("PENSTOCK_CACHE", "off")
    assert cache_folder() is None and archive_options(java, home) == ""


def test_a_second_start_maps_the_classes_of_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path))

    def start() -> list[str]:
        run = subprocess.run([sys.executable, "-c", _START], capture_output=True, text=True, check=True)
        return run.stdout.splitlines()

    assert start() == ["own", "3"]
    deadline = time.monotonic() + 300
    while not archive_options(require_java(), Path(_find_spark_home())).startswith("-XX:SharedArchiveFile"):
        assert time.monotonic() < deadline, "the JVM writes the archive after the program has ended"
        time.sleep(0.5)
    assert start() == ["shared", "3"]
