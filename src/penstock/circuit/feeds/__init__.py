"""Feeds: the state of an aggregate per group, one kind per file.

An aggregate has one or more *feeds*. A feed is one input of the operator with one arrangement, and the
functions that are computed from it:

* :class:`SumsFeed`: totals of the linear functions. A step reads one entry per touched group. The first feed
  is always one of these, and its weight is the number of rows of the group. DISTINCT functions have
  a separate one, which receives the distinct rows: over those they are linear.
* :class:`OrderedFeed`: values in order, for a function of the first one. A step reads a few values of each
  touched group, more only where the first ones were deleted.
* :class:`GroupFeed`: values by group, for functions of all of them. A step reads the touched groups.
"""

from penstock.circuit.feeds.base import Answers, Feed
from penstock.circuit.feeds.groups import GroupFeed, Order
from penstock.circuit.feeds.ordered import OrderedFeed
from penstock.circuit.feeds.sums import SumsFeed, totals_of

__all__ = ["Answers", "Feed", "GroupFeed", "Order", "OrderedFeed", "SumsFeed", "totals_of"]
