"""How views are computed, as text."""

from __future__ import annotations

from penstock.circuit.program import Program
from penstock.errors import PipelineError, choice_text
from penstock.sql import Catalog, ViewDefinition, plan_tree

__all__ = ["explain_text"]


def explain_text(catalog: Catalog, program: Program, view: str | None) -> str:
    """The plan of a view and its operators level by level; without a name, of all views."""
    if view is None:
        wanted = [v for v in catalog.views.values() if v.materialized]
    else:
        found = catalog.find(view)
        if not isinstance(found, ViewDefinition):
            raise PipelineError(f"there is no view {view}; {choice_text(view, catalog.views)}")
        wanted = [found]
    parts = [f"view {v.name}\n{_indented(plan_tree(v.plan))}{_notes(v)}" for v in wanted]
    names = {v.name for v in wanted if v.materialized}
    return "\n\n".join([*parts, _operators(program, names)]) + "\n"


def _notes(view: ViewDefinition) -> str:
    return "".join(f"\n  note: {note}" for note in view.notes)


def _operators(program: Program, views: set[str]) -> str:
    circuit = program.circuit
    nodes = set().union(*(circuit.ancestors(circuit.views[name]) for name in views)) if views else set()
    lines = []
    for level in range(program.levels):
        rows = []
        for fragment in program.fragments_at(level):
            for node_id in fragment.nodes:
                if node_id in nodes:
                    rows.append(_line(program, node_id, fragment.id))
        if rows:
            lines += [f"level {level}", *rows]
    return "\n".join(lines)


def _line(program: Program, node_id: int, fragment: int) -> str:
    node = program.circuit.nodes[node_id]
    info = node.operator.info
    inputs = ", ".join(
        f"{'⇄' if exchanged else ''}#{source}"
        for source, exchanged in zip(node.inputs, node.exchanged, strict=True)
    )
    text = f"  fragment {fragment:<3} #{node_id:<3} {info.name}"
    described = node.operator.describe()
    text += f" {described}" if described else ""
    text += f"  ← {inputs}" if inputs else ""
    text += f"  [{info.incremental.value}"
    text += f"; keeps {info.state}]" if info.state else "]"
    shared = program.circuit.views_of(node_id)
    return text + (f"  shared by {', '.join(shared)}" if len(shared) > 1 and info.state else "")


def _indented(text: str) -> str:
    return "\n".join("  " + line for line in text.splitlines())
