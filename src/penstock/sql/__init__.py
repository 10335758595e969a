"""The SQL front end: scripts, the catalogue, and Catalyst's plans as frozen nodes."""

from penstock.sql.catalog import Catalog, TableDefinition, add_view, apply_script
from penstock.sql.explain import expression_text, order_text, plan_tree
from penstock.sql.functions import declare_function, register_functions
from penstock.sql.python_nodes import one_function_each
from penstock.sql.script import CreateTable, CreateView, Drop, Statement, parse_script
from penstock.sql.session import PlanningSession, Tables
from penstock.sql.stored import catalog_from_json, catalog_to_json
from penstock.sql.views import ViewDefinition, import_view

__all__ = [
    "Catalog",
    "CreateTable",
    "CreateView",
    "Drop",
    "PlanningSession",
    "Statement",
    "TableDefinition",
    "Tables",
    "ViewDefinition",
    "add_view",
    "apply_script",
    "catalog_from_json",
    "catalog_to_json",
    "declare_function",
    "expression_text",
    "import_view",
    "one_function_each",
    "order_text",
    "parse_script",
    "plan_tree",
    "register_functions",
]
