"""Are the views of a benchmark what batch Spark answers, after every step and in every configuration?

Speed counts only with right answers, so every benchmark of queries has a ``--check``. All views live in one
pipeline per configuration, and the answers of batch Spark are computed once per step for all of them: the
cost is one batch run of every query per step, plus one pipeline run per configuration. A view that Penstock
refuses is left out of the pipelines and counted as a difference.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import cast

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import penstock as ps
from bench.report import Result
from penstock.oracle import Config, Model, Query, Report, Step, difference
from penstock.oracle.batch import BatchSpark
from penstock.oracle.drive import Mode, open_pipeline, script
from penstock.oracle.harness import Case, Difference, observe
from penstock.pipeline.tables import TableSchema
from penstock.spark import find_or_make_session

__all__ = ["Subject", "add_check_arguments", "check", "check_as_asked", "session"]

Answers = Sequence[Mapping[str, pa.Table]]
_MESSAGE_CHARS = 600  # enough for a refusal; Java's stack traces are pages


@dataclass(frozen=True)
class Subject:
    """What is checked. The first of ``steps`` fills the tables."""

    name: str
    what: str
    tables: Sequence[TableSchema]
    queries: Sequence[Query]
    steps: Sequence[Step]
    notes: Sequence[str] = ()

    def only(self, pattern: str) -> Subject:
        """The same with the queries whose name matches."""
        chosen = [query for query in self.queries if re.search(pattern, query.name)]
        if not chosen:
            raise SystemExit(f"no query of {self.name} has a name that matches {pattern!r}")
        return Subject(self.name, self.what, self.tables, chosen, self.steps, self.notes)


def add_check_arguments(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    """The options that all checks share. Where a check is not ``required`` the alternative is to measure."""
    parser.add_argument(
        "--check",
        action="store_true",
        required=required,
        help="compare every view with batch Spark after every step; exits 1 on any difference",
    )
    parser.add_argument("--steps", type=int, default=20, help="steps after the first load (default 20)")
    parser.add_argument("--workers", default="1,3", help="numbers of workers, as in 1,3 (the default)")
    parser.add_argument("--modes", default="resident,staged", help="resident, staged or both (the default)")
    parser.add_argument("--only", default="", metavar="PATTERN", help="only queries whose name matches")
    parser.add_argument("--seed", type=int, default=1, help="seed of the changes (default 1)")


def session(arguments: argparse.Namespace) -> SparkSession:
    """A Spark session with slots for all the workers asked for."""
    return find_or_make_session("bench", max(_workers(arguments)))[0]


def check_as_asked(spark: SparkSession, subject: Subject, arguments: argparse.Namespace) -> Result:
    """Check a subject in the configurations of the command line."""
    modes = [cast(Mode, mode) for mode in arguments.modes.split(",")]
    configurations = [Config(count, mode) for mode in modes for count in _workers(arguments)]
    return check(spark, subject.only(arguments.only), configurations)


def _workers(arguments: argparse.Namespace) -> list[int]:
    return [int(number) for number in arguments.workers.split(",")]


def check(spark: SparkSession, subject: Subject, configurations: Sequence[Config]) -> Result:
    """Run a subject through every configuration. The figure is how many views were ever not equal."""
    accepted, refused = _sift(spark, subject)
    answers = _answers(spark, subject)
    outcomes = {}
    for config in configurations:
        outcomes[str(config)] = _outcomes(spark, subject, accepted, config, answers)
    rows = []
    for query in subject.queries:
        results = {
            config: refused.get(query.name, found.get(query.name, "equal"))
            for config, found in outcomes.items()
        }
        rows.append(_row(query.name, answers, results))
    notes = [f"{name} {problem}" for name, problem in refused.items()]
    notes += [f"{name} ({c}) {text}" for c, found in outcomes.items() for name, text in found.items()]
    wrong = sum(row[config] != "equal" for row in rows for config in outcomes)
    return Result(
        f"{subject.name}-check",
        subject.what,
        wrong,
        0,
        " differences",
        rows,
        notes=[*subject.notes, *notes],
    )


def _row(name: str, answers: Answers, results: Mapping[str, str]) -> dict[str, object]:
    """One line of the table. A view whose answer never changed proves little, so both counts are shown."""
    changed = sum(difference(now[name], before[name]) is not None for before, now in pairwise(answers))
    short = {config: text.split(":")[0] for config, text in results.items()}
    return {"view": name, "rows": len(answers[-1][name]), "changed in steps": changed, **short}


def _sift(spark: SparkSession, subject: Subject) -> tuple[list[Query], dict[str, str]]:
    """The queries that Penstock takes, and for the others why it does not."""
    accepted, refused = [], {}
    with tempfile.TemporaryDirectory(prefix="penstock-check-") as storage:
        pipe = ps.Pipeline(subject.name, storage=storage, spark=spark)
        try:
            pipe.sql(script(subject.tables, subject.queries))
        except Exception:  # some view is refused, or there is a mistake in planning: which, is found below
            pipe.sql(script(subject.tables, []))
        else:
            return list(subject.queries), {}
        for query in subject.queries:
            try:
                pipe.sql(script([], [query]))
            except Exception as problem:  # as above
                refused[query.name] = f"refused: {type(problem).__name__}: {problem}"[:_MESSAGE_CHARS]
            else:
                accepted.append(query)
    return accepted, refused


def _answers(spark: SparkSession, subject: Subject) -> list[dict[str, pa.Table]]:
    batch, model = BatchSpark(spark, subject.tables, subject.queries), Model(subject.tables)
    answers = []
    started = time.monotonic()
    for number, step in enumerate(subject.steps):
        model.apply(step)
        answers.append(batch.answers(model.all_contents()))
        for name, answer in answers[-1].items():
            if isinstance(answer, PySparkException):
                raise SystemExit(f"Spark itself fails on {name} at step {number}: {answer}")
        _progress(f"batch Spark: step {number} of {len(subject.steps) - 1}", started)
    return answers


def _outcomes(
    spark: SparkSession, subject: Subject, accepted: Sequence[Query], config: Config, answers: Answers
) -> dict[str, str]:
    """For every view that was not equal throughout: what happened."""
    started = time.monotonic()
    report = Report(len(accepted), len(subject.steps))
    case = Case(subject.tables, accepted, subject.steps, config)
    try:
        with open_pipeline(spark, subject.tables, accepted, config) as driver:
            observe(driver, case, answers, report)
    except Exception as problem:  # a pipeline that does not open or close concerns all of its views
        detail = f"{type(problem).__name__}: {problem}"
        report.differences.append(Difference("", config, -1, "raised an error", detail))
    found: dict[str, str] = {}
    for wrong in report.differences:
        failed = wrong.what == "raised an error"
        text = f"step {wrong.step} {'failed' if failed else 'differs'}: {wrong.detail}"[:_MESSAGE_CHARS]
        if failed:  # then no view went any further
            found = {**dict.fromkeys((query.name for query in accepted), text), **found}
        if wrong.query:
            found[wrong.query] = text
    _progress(f"{config}: {report.comparisons} comparisons, {len(found)} views not equal", started)
    return found


def _progress(text: str, started: float) -> None:
    print(f"  {text} ({time.monotonic() - started:.0f} s)", flush=True)
