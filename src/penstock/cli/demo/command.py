"""``penstock demo``: a small shop, some hundred steps of its life, then a check of every view."""

from __future__ import annotations

import shutil
import sys
import time
from decimal import Decimal
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.console import err, out, shown_path
from penstock.cli.demo.display import Journal, Move, display_for
from penstock.cli.options import Mode, ModeOption, WorkersOption
from penstock.cli.starting import Starting
from penstock.cli.state import verdicts
from penstock.errors import PipelineError

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock import Pipeline, Run, StepReport
    from penstock.cli.demo.shop import Changes

__all__ = ["demo"]

_WATCHED = "revenue_by_city"


def demo(
    storage: Annotated[
        Path, typer.Option("--storage", "-s", help="Where state is kept; a second run goes on from it.")
    ] = Path("penstock-demo"),
    steps: Annotated[int, typer.Option("--steps", "-n", min=1, help="How many steps to make.")] = 200,
    orders: Annotated[
        int, typer.Option("--orders", min=1, help="How many orders to open the shop with.")
    ] = 4000,
    workers: WorkersOption = 2,
    mode: ModeOption = Mode.RESIDENT,
    seed: Annotated[int, typer.Option("--seed", help="Another seed, another life of the shop.")] = 7,
    sql: Annotated[bool, typer.Option("--sql", help="Print the shop's SQL script and stop.")] = False,
) -> None:
    """Run a small shop: tables, views, random changes, and a check of every view against Spark.

    Each step inserts, updates and deletes a few dozen rows (new orders, orders that move on, new prices,
    people who move house) and brings five views up to date. At the end Spark computes all views from scratch,
    and the two answers are compared row by row.
    """
    script = files("penstock.cli.demo").joinpath("shop.sql").read_text(encoding="utf-8")
    if sql:
        out.print(script, markup=False, soft_wrap=True, end="")
        return
    with Starting("shop", workers) as start:
        from penstock import Pipeline  # a second of imports, while Spark starts; --help does not wait for it

        pipe = Pipeline("shop", storage=storage, workers=workers, mode=mode.value, spark=start.spark())
        start.phase("views")
        pipe.sql(script)
        start.phase("workers")
        running = pipe.run()
    with running as run:
        _live(pipe, run, steps, orders, seed)
        right = _verify(run)
    _farewell(storage)
    if not right:
        raise PipelineError("a view differs from Spark's answer; this is a bug in Penstock, please report it")


def _live(pipe: Pipeline, run: Run, steps: int, orders: int, seed: int) -> None:
    """Open the shop, or find it as the last run left it, and let it live for a number of steps."""
    from penstock.cli.demo.shop import KEYS, Shop

    shop = Shop({name: run.read(name) for name in KEYS}, seed)
    before = run.status().step
    out.print(f"[bold]penstock demo[/]: {len(pipe.tables)} tables, {len(pipe.views)} views")
    if shop.rows:
        out.print(f"Going on from step {before}, with {shop.rows:,} rows in the tables.")
    else:
        opening = shop.open(orders)
        _, time_ms = _step(run, opening)
        out.print(f"New shop: {opening.rows:,} rows loaded in one step of {time_ms:,.0f} ms.")
        before += 1
    journal = Journal(steps, list(pipe.views), _WATCHED)
    with display_for(out, journal) as display:
        for number in range(before + 1, before + steps + 1):
            changes = shop.step(number)
            report, time_ms = _step(run, changes)
            moves = _moves(run.changes(_WATCHED, since=report.step - 1))
            journal.record(changes.rows, report.changed_rows, time_ms, moves, shop.rows)
            display.step()


def _step(run: Run, changes: Changes) -> tuple[StepReport, float]:
    """Push a step's changes and make the step; how long both took together, in milliseconds."""
    start = time.perf_counter()
    for table, rows in changes.upserts.items():
        run.upsert(table, rows)
    for table, keys in changes.deletes.items():
        run.delete(table, keys)
    report = run.step()
    return report, (time.perf_counter() - start) * 1000


def _moves(changes: pa.Table) -> list[Move]:
    """Changed rows of the watched view, the old row of a city paired with the new one."""
    before: dict[str, Decimal] = {}
    after: dict[str, Decimal] = {}
    for row in changes.to_pylist():
        (after if row["_weight"] > 0 else before)[row["city"]] = row["revenue"]
    return [Move(city, before.get(city), after.get(city)) for city in before | after]


def _verify(run: Run) -> bool:
    """Compare every view with Spark's batch answer, and print how that went."""
    with err.status("Asking Spark for all views from scratch …"):
        start = time.perf_counter()
        reports = run.verify()
        time_s = time.perf_counter() - start
    out.print(f"\nEvery view against Spark's own answer, computed from scratch in {time_s:.1f} s:")
    out.print(verdicts(reports))
    return all(reports)


def _program() -> str:
    """What to type for this program: its name if the shell finds it, else the way to it."""
    called = Path(sys.argv[0])
    return shown_path(called) if called.name == "penstock" and not shutil.which("penstock") else "penstock"


def _farewell(storage: Path) -> None:
    folder, penstock = shown_path(storage), _program()
    out.print(f"\nThe state is in [bold]{folder}[/]. What to try next:")
    for command, meaning in (
        (f"demo --storage {folder}", "once more: goes on from here"),
        (f"status {folder}", "what the folder holds"),
        (f"verify {folder}", "check all views again"),
        ("demo --sql > shop.sql", "the script, to change and run"),
        ("explain shop.sql --graph shop.svg", "the circuit, as a picture"),
    ):
        out.print(f"  [cyan]{penstock} {command:<34}[/] {meaning}", soft_wrap=True)
