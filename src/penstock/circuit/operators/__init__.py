"""The operators, one file each. Importing this package fills the registry."""

from penstock.circuit.operators.aggregate import Aggregate
from penstock.circuit.operators.append_arrange import AppendArrange
from penstock.circuit.operators.append_table import AppendTable
from penstock.circuit.operators.append_top_k import AppendTopK
from penstock.circuit.operators.append_view import AppendView
from penstock.circuit.operators.arrange import Arrange
from penstock.circuit.operators.conditional_semi_join import ConditionalSemiJoin
from penstock.circuit.operators.distinct import Distinct
from penstock.circuit.operators.filter import Filter
from penstock.circuit.operators.flat_map import FlatMap, Replicate
from penstock.circuit.operators.index import Index
from penstock.circuit.operators.join import Join
from penstock.circuit.operators.lookup_join import LookupJoin
from penstock.circuit.operators.partial_aggregate import PartialAggregate
from penstock.circuit.operators.partial_distinct import PartialDistinct
from penstock.circuit.operators.partial_sessions import Extreme, PartialSessions
from penstock.circuit.operators.partial_top_k import PartialTopK
from penstock.circuit.operators.passing_table import PassingTable
from penstock.circuit.operators.passing_view import PassingView
from penstock.circuit.operators.project import Project
from penstock.circuit.operators.scatter import Copy, Scatter
from penstock.circuit.operators.semi_join import SemiJoin, Wanted
from penstock.circuit.operators.sessions import Sessions
from penstock.circuit.operators.single_row import SingleRow
from penstock.circuit.operators.static_table import StaticTable
from penstock.circuit.operators.table import Table
from penstock.circuit.operators.top_k import TopK
from penstock.circuit.operators.union import Union
from penstock.circuit.operators.values import Values
from penstock.circuit.operators.view import View
from penstock.circuit.operators.window import Window

__all__ = [
    "Aggregate",
    "AppendArrange",
    "AppendTable",
    "AppendTopK",
    "AppendView",
    "Arrange",
    "ConditionalSemiJoin",
    "Copy",
    "Distinct",
    "Extreme",
    "Filter",
    "FlatMap",
    "Index",
    "Join",
    "LookupJoin",
    "PartialAggregate",
    "PartialDistinct",
    "PartialSessions",
    "PartialTopK",
    "PassingTable",
    "PassingView",
    "Project",
    "Replicate",
    "Scatter",
    "SemiJoin",
    "Sessions",
    "SingleRow",
    "StaticTable",
    "Table",
    "TopK",
    "Union",
    "Values",
    "View",
    "Wanted",
    "Window",
]
