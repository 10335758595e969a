"""``penstock explain``: how a script is executed, as text or as a diagram."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.console import err, out, shown_path
from penstock.cli.files import known_name
from penstock.cli.options import ScriptArgument, read_script
from penstock.cli.starting import Starting
from penstock.errors import PenstockError

__all__ = ["explain"]


def explain(
    script: ScriptArgument,
    views: Annotated[
        list[str] | None,
        typer.Option(
            "--view", "-v", metavar="NAME", help="This view only; may be given more than once. Default: all."
        ),
    ] = None,
    graph: Annotated[
        Path | None,
        typer.Option("--graph", "-g", metavar="FILE.svg", help="Draw the circuit into an SVG file."),
    ] = None,
    mermaid: Annotated[bool, typer.Option("--mermaid", help="Print the circuit as Mermaid text.")] = False,
) -> None:
    """Show how the views of a script are kept up to date.

    The text lists every view's plan. The diagram shows the circuit of the pipeline, or of the selected views:
    levels from left to right, the fragments that run in each, and what is exchanged between workers from one
    level to the next. Nothing is run and nothing is stored.
    """
    with tempfile.TemporaryDirectory(prefix="penstock-") as scratch:
        with Starting(script.stem, workers=1, brief=True, summary=False) as start:
            from penstock import Pipeline  # a second of imports, while Spark starts

            pipe = Pipeline(script.stem, storage=scratch, workers=1, spark=start.spark())
            start.phase("views")
            pipe.sql(read_script(script))
        chosen = [known_name("--view", name, pipe.views) for name in views or ()]
        if graph is None and not mermaid:
            for view in chosen or (None,):
                out.print(pipe.explain(view), markup=False, soft_wrap=True)
            return
        from penstock.cli.graph import to_mermaid, to_svg
        from penstock.cli.graph.adapter import from_program

        for name in chosen:
            if not pipe.views[name].materialized:
                raise PenstockError(
                    f"{name} has no circuit of its own, because it is not materialized: it becomes part of "
                    "the views that read it. Draw one of those, or write CREATE MATERIALIZED VIEW"
                )
        columns = {name: relation.schema.names for name, relation in (pipe.tables | pipe.views).items()}
        title = f"{script.stem}: {', '.join(chosen)}" if chosen else script.stem
        model = from_program(pipe.program(), title, columns, chosen or None)
        if mermaid:
            out.print(to_mermaid(model), markup=False, soft_wrap=True, end="")
        if graph is not None:
            graph.write_text(to_svg(model), encoding="utf-8")
            err.print(f"Circuit drawn in {shown_path(graph)}")
