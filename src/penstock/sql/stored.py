"""The catalogue in the manifest.

The JSON holds what a person wrote (schemas, keys, query texts), the settings under which it was planned, and
each view's fingerprint. Reading it plans every view again. A view whose plan has changed is not run, because
the state on disk belongs to the old plan.

Code is not stored: of a view made by a DataFrame function the plan is stored as text, to be compared and
shown, and of Python functions that a query calls their names. :mod:`penstock.sql.pending` plans such views
when the functions are declared again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql.types import StructType

from penstock.errors import PipelineError
from penstock.sql.catalog import Catalog, Relation, TableDefinition, register
from penstock.sql.column_list import ViewColumn
from penstock.sql.pending import bound
from penstock.sql.session import PlanningSession
from penstock.sql.views import PendingView

__all__ = ["FORMAT", "catalog_from_json", "catalog_to_json", "relation_rows"]

FORMAT = 1


def catalog_to_json(catalog: Catalog, settings: Mapping[str, str]) -> dict[str, Any]:
    """The stored form of a catalogue planned under ``settings``."""
    return {
        "format": FORMAT,
        "settings": dict(settings),
        "relations": [_to_json(relation) for relation in catalog.relations],
        "dropped": dict(catalog.dropped),
    }


def catalog_from_json(planning: PlanningSession, body: Mapping[str, Any]) -> Catalog:
    """The catalogue of a stored form, planned again in ``planning`` (which must have its settings). Views
    that need functions which are not declared yet are pending."""
    if body["format"] != FORMAT:
        raise PipelineError(f"the stored catalogue has format {body['format']}; this version reads {FORMAT}")
    if not body["settings"].items() <= planning.settings.items():
        raise PipelineError("the planning session does not have the settings stored with the catalogue")
    planning.clear()
    catalog = Catalog(dropped=tuple(body.get("dropped", {}).items()))
    for item in body["relations"]:
        relation = _from_json(item, [known.name for known in catalog.relations])
        register(planning, relation)
        catalog = catalog.with_relation(relation)
    return bound(planning, catalog)


def _to_json(relation: Relation) -> dict[str, Any]:
    common = {
        "name": relation.name,
        "comment": relation.comment,
        "schema": relation.schema.jsonValue(),
    }
    if isinstance(relation, TableDefinition):
        return {
            "kind": "table",
            **common,
            "primary_key": list(relation.primary_key),
            "properties": dict(relation.properties),
            "incarnation": relation.incarnation,
            "keeps_lengths": relation.keeps_lengths,
        }
    return {
        "kind": "view",
        **common,
        "materialized": relation.materialized,
        "keeps_rows": relation.keeps_rows,
        "query": relation.query,
        "columns": [_column_to_json(column) for column in relation.columns],
        "uses": list(relation.uses),
        "fingerprint": relation.fingerprint,
        "plan_text": relation.plan_text if relation.query is None else "",
        "functions": list(relation.functions),
    }


def _from_json(item: Mapping[str, Any], before: Sequence[str]) -> TableDefinition | PendingView:
    """A table, or a view that is yet to be planned. Older versions did not store what a view uses: then it
    may be anything that stands ``before`` it."""
    if item["kind"] == "table":
        return TableDefinition(
            item["name"],
            StructType.fromJson(item["schema"]),
            tuple(item["primary_key"]),
            tuple(sorted(item["properties"].items())),
            item["comment"],
            item.get("incarnation", 0),
            item.get("keeps_lengths", False),
        )
    return PendingView(
        item["name"],
        StructType.fromJson(item["schema"]),
        item["materialized"],
        item["query"],
        tuple(item.get("uses", before)),
        item["fingerprint"],
        tuple(map(_column_from_json, item["columns"])),
        item["comment"],
        tuple(item.get("functions", ())),
        item.get("keeps_rows", True),
        item.get("plan_text", ""),
    )


def _column_to_json(column: ViewColumn) -> str | dict[str, Any]:
    """A name, or an object where there is more to say. A declared type was that of the query."""
    return {"name": column.name, "comment": column.comment} if column.comment else column.name


def _column_from_json(item: str | Mapping[str, Any]) -> ViewColumn:
    return ViewColumn(item) if isinstance(item, str) else ViewColumn(item["name"], item["comment"])


def relation_rows(body: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    """Name, kind, key and columns of all relations of a stored catalogue, for people."""
    rows = []
    for item in body["relations"]:
        stored = item["kind"] == "table" or item["materialized"]
        kind = item["kind"] if stored else "view, not stored"
        columns = ", ".join(field["name"] for field in item["schema"]["fields"])
        rows.append((item["name"], kind, ", ".join(item.get("primary_key", ())), columns))
    return rows
