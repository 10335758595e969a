"""The circuit's optimiser: rewrites that make a plan cheaper to keep up to date, beyond what Catalyst does.

Catalyst optimises for computing a result once. Its plans arrive here with predicates pushed down and
constants folded; what remains only matters when changes flow through operators that copy rows and keep state.

:data:`RULES` are pure functions from a plan node to an equivalent plan, or to the node itself if they do not
apply. They are tried on every node from the leaves up, in this order, until nothing changes any more, because
one rule may enable another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any

from penstock.sql.optimizer.compute_before_filter import compute_before_filter
from penstock.sql.optimizer.drop_idle_project import drop_idle_project
from penstock.sql.optimizer.merge_projects import merge_projects
from penstock.sql.optimizer.number_within_limit import number_within_limit
from penstock.sql.optimizer.select_before_filter import select_before_filter
from penstock.sql.plan import Plan

__all__ = ["RULES", "Rule", "optimised"]

Rule = Callable[[Plan], Plan]

RULES: tuple[Rule, ...] = (
    number_within_limit,
    compute_before_filter,
    select_before_filter,
    merge_projects,
    drop_idle_project,
)


def optimised(plan: Plan, rules: Sequence[Rule] = RULES) -> Plan:
    """The plan after all rules."""
    while (changed := _once(plan, rules)) != plan:
        plan = changed
    return plan


def _once(plan: Plan, rules: Sequence[Rule]) -> Plan:
    plan = _with_children(plan, lambda child: _once(child, rules))
    for rule in rules:
        plan = rule(plan)
    return plan


def _with_children(plan: Plan, change: Callable[[Plan], Plan]) -> Plan:
    changed: dict[str, Any] = {}
    for field in fields(plan):
        value = getattr(plan, field.name)
        if isinstance(value, Plan):
            changed[field.name] = change(value)
        elif isinstance(value, tuple) and value and isinstance(value[0], Plan):
            changed[field.name] = tuple(map(change, value))
    return replace(plan, **changed) if changed else plan
