"""The ``penstock`` command: its subcommands, and one way to report errors.

Whatever Penstock raises on purpose is printed as one message and ends with exit code 1; a traceback is for
bugs, and for ``--debug``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperGroup

from penstock import __version__
from penstock.cli.check import check
from penstock.cli.console import err, out, print_error
from penstock.cli.convert import convert
from penstock.cli.demo.command import demo
from penstock.cli.explain import explain
from penstock.cli.inspect import inspect
from penstock.cli.profile import profile
from penstock.cli.recover import recover
from penstock.cli.run import run
from penstock.cli.state import status, verify
from penstock.cli.versions import restore, versions
from penstock.errors import CorruptionError, EnvironmentProblem, EvaluationError, PenstockError

__all__ = ["app"]

_HINTS: dict[type[PenstockError], str] = {
    CorruptionError: "Nothing was changed. Keep the folder as it is; older versions: penstock versions.",
    EnvironmentProblem: "",
    EvaluationError: "The step did not happen; everything before it is untouched.",
}


def _examples(*lines: tuple[str, str]) -> str:
    """The end of a help page: example commands, and what they do."""
    return "**Examples**\n\n" + "\n".join(f"- `{command}`: {meaning}" for command, meaning in lines)


class _Verbs(TyperGroup):
    """Reports expected errors for all subcommands."""

    def invoke(self, ctx: Any) -> Any:
        """Run the subcommand; turn Penstock's own errors into a message and an exit code."""
        try:
            return super().invoke(ctx)
        except PenstockError as error:
            if ctx.params.get("debug"):
                raise
            hints = (hint for kind, hint in _HINTS.items() if isinstance(error, kind))
            print_error(error, next(hints, ""))
            raise typer.Exit(1) from error
        except KeyboardInterrupt:
            err.print("\n[yellow]Stopped.[/] What was committed is kept; run it again to go on.")
            raise typer.Exit(130) from None


app = typer.Typer(
    name="penstock",
    cls=_Verbs,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_examples(
        ("penstock demo", "a small shop, kept up to date and checked against Spark; start here"),
        ("penstock run shop.sql -i orders=orders.csv --show revenue", "views of your own"),
        ("penstock explain shop.sql --graph shop.svg", "the circuit behind them, as a picture"),
        ("penstock --debug run shop.sql", "the whole traceback, should something go wrong"),
    ),
)


def _show_version(wanted: bool) -> None:
    if wanted:
        out.print(f"penstock {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    debug: bool = typer.Option(False, "--debug", help="Show the full traceback of an error."),
    version: bool = typer.Option(
        False, "--version", callback=_show_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    """Penstock keeps SQL views on Apache Spark up to date, with work proportional to what changed."""


_COMMANDS: tuple[tuple[Callable[..., None], str], ...] = (
    (
        run,
        _examples(
            ("penstock run shop.sql -i orders=monday.csv --show revenue", "load rows, look at a view"),
            ("penstock run shop.sql -i orders=tuesday.parquet --changes revenue", "more rows; what changed"),
            (
                "penstock run shop.sql -d orders=cancelled.csv -o revenue=revenue.parquet",
                "delete; write",
            ),
        ),
    ),
    (
        demo,
        _examples(
            ("penstock demo", "200 steps; run it again to go on"),
            ("penstock demo --steps 50 --workers 1 --mode staged", "shorter, as one Spark job per step"),
            ("penstock demo --sql > shop.sql", "the script, to change and run yourself"),
        ),
    ),
    (
        explain,
        _examples(
            ("penstock explain shop.sql", "plans and operators of all views, as text"),
            ("penstock explain shop.sql --view revenue", "of one view"),
            ("penstock explain shop.sql --graph shop.svg", "the circuit as a picture"),
            ("penstock explain shop.sql --view revenue --graph revenue.svg", "the part behind one view"),
            ("penstock explain shop.sql --mermaid", "the circuit as text that Markdown pages can draw"),
        ),
    ),
    (
        verify,
        _examples(
            ("penstock verify penstock-demo", "all views of the demo"),
            ("penstock verify shop-state revenue regulars", "two views"),
        ),
    ),
    (
        status,
        _examples(
            ("penstock status penstock-demo", "what the demo has left behind"),
            ("penstock status --watch shop-state", "a pipeline that runs elsewhere, once a second"),
        ),
    ),
    (
        check,
        _examples(
            ("penstock check shop-state", "every file of the folder; exit code 0 if all are sound"),
            ("penstock check shop-state --json", "the same for other programs"),
        ),
    ),
    (
        inspect,
        _examples(
            ("penstock inspect shop-state", "versions, arrangements, batches and segments, as a tree"),
            (
                "penstock inspect shop-state --graph spines.svg",
                "the batches of all arrangements as a picture",
            ),
            ("penstock inspect shop-state --rows 3f2a", "the first rows of an arrangement's batches"),
            ("penstock inspect shop-state --json", "everything, for other programs"),
        ),
    ),
    (
        versions,
        _examples(
            ("penstock versions shop-state", "which states can be read again or restored"),
            ("penstock versions shop-state --json", "the same for other programs"),
        ),
    ),
    (
        restore,
        _examples(
            ("penstock restore shop-state --version 41", "show what would be lost, ask, and go back"),
            ("penstock restore shop-state --version 41 --yes", "without asking"),
        ),
    ),
    (
        convert,
        _examples(
            ("penstock convert shop-state", "rewrite what an earlier release wrote in an older format")
        ),
    ),
    (
        recover,
        _examples(
            ("penstock recover shop-state", "why the folder cannot be opened, and what that would cost"),
            ("penstock recover shop-state --accept-loss", "go on without the steps that are lost"),
            ("penstock recover shop-state --skip-input old.parquet", "without a file that is gone"),
        ),
    ),
    (
        profile,
        _examples(
            ("penstock profile penstock-demo", "where the time of the demo's steps went"),
            ("penstock profile shop-state --svg profile.svg", "the same as a picture"),
        ),
    ),
)
for _command, _epilog in _COMMANDS:
    app.command(epilog=_epilog)(_command)
