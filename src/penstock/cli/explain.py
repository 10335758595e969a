"""``penstock explain``: what a script becomes, as text or as a picture."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.console import err, out, shown_path
from penstock.cli.files import known_name
from penstock.cli.options import ScriptArgument, read_script
from penstock.cli.starting import starting_spark

__all__ = ["explain"]


def explain(
    script: ScriptArgument,
    view: Annotated[
        str | None, typer.Argument(metavar="VIEW", help="Explain this view only. Default: all of them.")
    ] = None,
    graph: Annotated[
        Path | None,
        typer.Option("--graph", "-g", metavar="FILE.svg", help="Draw the circuit into an SVG file."),
    ] = None,
    mermaid: Annotated[bool, typer.Option("--mermaid", help="Print the circuit as Mermaid text.")] = False,
) -> None:
    """Show how the views of a script are kept up to date.

    The text form lists every view's plan. The picture shows the circuit of the whole pipeline: levels from
    left to right, the fragments that run in each, and what is exchanged between workers from one to the next.
    Nothing is run and nothing is stored.
    """
    from penstock import Pipeline  # Spark takes a second to import; --help should not wait for it

    with tempfile.TemporaryDirectory(prefix="penstock-") as scratch:
        with starting_spark():
            pipe = Pipeline(script.stem, storage=scratch, workers=1)
            pipe.sql(read_script(script))
        if view is not None:
            view = known_name("explain", view, pipe.views)
        if graph is None and not mermaid:
            out.print(pipe.explain(view), markup=False, soft_wrap=True)
            return
        from penstock.cli.graph import from_program, to_mermaid, to_svg

        columns = {name: relation.schema.names for name, relation in (pipe.tables | pipe.views).items()}
        model = from_program(pipe.program(), script.stem, columns)
        if mermaid:
            out.print(to_mermaid(model), markup=False, soft_wrap=True, end="")
        if graph is not None:
            graph.write_text(to_svg(model), encoding="utf-8")
            err.print(f"Circuit drawn in {shown_path(graph)}")
