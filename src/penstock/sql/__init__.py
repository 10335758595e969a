"""The SQL front end: scripts, the catalogue, and Catalyst's plans as frozen nodes."""

from penstock.sql.catalog import Catalog, TableDefinition
from penstock.sql.declaring import add_view, apply_script
from penstock.sql.explain import expression_text, order_text, plan_tree
from penstock.sql.floating_sums import floating_sums
from penstock.sql.functions import declare_function, register_functions
from penstock.sql.pending import bound, declare_view, missing_for
from penstock.sql.python_nodes import FunctionNames
from penstock.sql.script import CreateTable, CreateView, Drop, Statement, parse_script
from penstock.sql.session import PlanningSession, Tables
from penstock.sql.stored import catalog_from_json, catalog_to_json, relation_rows
from penstock.sql.views import PendingView, ViewDefinition, import_view

__all__ = [
    "Catalog",
    "CreateTable",
    "CreateView",
    "Drop",
    "FunctionNames",
    "PendingView",
    "PlanningSession",
    "Statement",
    "TableDefinition",
    "Tables",
    "ViewDefinition",
    "add_view",
    "apply_script",
    "bound",
    "catalog_from_json",
    "catalog_to_json",
    "declare_function",
    "declare_view",
    "expression_text",
    "floating_sums",
    "import_view",
    "missing_for",
    "order_text",
    "parse_script",
    "plan_tree",
    "register_functions",
    "relation_rows",
]
