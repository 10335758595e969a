"""The catalogue in the manifest.

The JSON holds what a person wrote (schemas, keys, query texts), the settings under which it was planned,
and each view's fingerprint. Reading it plans every view again and stops if a view is now planned
differently, because the state on disk belongs to the old plan: nothing is computed on state it does not
fit. A view made by a DataFrame function is stored by name and fingerprint only: code is not data, so it
must be declared again, and its plan must be the same. Python functions that a query calls are stored by
name, for the same reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql.types import StructType

from penstock.errors import PipelineError
from penstock.sql.catalog import Catalog, Relation, TableDefinition, register
from penstock.sql.functions import require_functions
from penstock.sql.session import PlanningSession
from penstock.sql.views import DataFrameFunction, Query, ViewDefinition, import_view

__all__ = ["FORMAT", "catalog_from_json", "catalog_to_json"]

FORMAT = 1


def catalog_to_json(catalog: Catalog, settings: Mapping[str, str]) -> dict[str, Any]:
    """The stored form of a catalogue planned under ``settings``."""
    return {
        "format": FORMAT,
        "settings": dict(settings),
        "relations": [_to_json(relation) for relation in catalog.relations],
        "dropped": dict(catalog.dropped),
    }


def catalog_from_json(
    planning: PlanningSession,
    body: Mapping[str, Any],
    functions: Mapping[str, DataFrameFunction] | None = None,
) -> Catalog:
    """The catalogue of a stored form, planned again in ``planning`` (which must have its settings)."""
    if body["format"] != FORMAT:
        raise PipelineError(f"the stored catalogue has format {body['format']}; this version reads {FORMAT}")
    if planning.settings != body["settings"]:
        raise PipelineError("the planning session does not have the settings stored with the catalogue")
    planning.clear()
    catalog = Catalog(dropped=tuple(body.get("dropped", {}).items()))
    for item in body["relations"]:
        relation = _from_json(planning, item, functions or {})
        register(planning, relation)
        catalog = catalog.with_relation(relation)
    return catalog


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
        }
    return {
        "kind": "view",
        **common,
        "materialized": relation.materialized,
        "keeps_rows": relation.keeps_rows,
        "query": relation.query,
        "columns": list(relation.columns),
        "fingerprint": relation.fingerprint,
        "functions": list(relation.functions),
    }


def _from_json(
    planning: PlanningSession, item: Mapping[str, Any], functions: Mapping[str, DataFrameFunction]
) -> Relation:
    if item["kind"] == "table":
        return TableDefinition(
            item["name"],
            StructType.fromJson(item["schema"]),
            tuple(item["primary_key"]),
            tuple(sorted(item["properties"].items())),
            item["comment"],
            item.get("incarnation", 0),
        )
    if item["query"] is not None:
        require_functions(planning, item["name"], item.get("functions", ()))
    view = import_view(
        planning,
        item["name"],
        _query(item, functions),
        materialized=item["materialized"],
        keeps_rows=item.get("keeps_rows", True),
        columns=tuple(item["columns"]),
        comment=item["comment"],
    )
    _check_fingerprint(view, item["fingerprint"])
    return view


def _query(item: Mapping[str, Any], functions: Mapping[str, DataFrameFunction]) -> Query:
    if item["query"] is not None:
        return str(item["query"])
    function = functions.get(item["name"])
    if function is None:
        raise PipelineError(
            f"view {item['name']} was made by a DataFrame function, which is not stored; "
            "declare it again with the same function before the pipeline is opened"
        )
    return function


def _check_fingerprint(view: ViewDefinition, stored: str) -> None:
    if view.fingerprint == stored:
        return
    if view.query is None:
        reason = "the function declared now gives another plan than the one the pipeline was built with"
    elif view.functions:
        reason = (
            f"{', '.join(view.functions)} as declared now, or this version of Spark or Penstock, gives "
            "another plan than the one the pipeline was built with"
        )
    else:
        reason = (
            "this version of Spark or Penstock plans the query differently than the stored state was built"
        )
    raise PipelineError(f"view {view.name}: {reason}; drop the view and create it again")
