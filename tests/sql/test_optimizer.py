"""What each rule of the optimiser does (``optimizer.txt``), and that all of them reach everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from penstock.sql import import_view, plan_tree
from penstock.sql.optimizer import RULES, optimised
from penstock.sql.plan import Plan, Project
from penstock.sql.planning.stream import column

from .conftest import Shop

_RULES = {rule.__name__: rule for rule in RULES}


class Case(NamedTuple):
    """One block of the file."""

    rule: str
    query: str
    chosen: tuple[int, ...]
    before: str
    after: str


def cases() -> list[Case]:
    text = (Path(__file__).parent / "optimizer.txt").read_text()
    blocks = "\n".join(line for line in text.splitlines() if not line.startswith("#")).split("\n\n")
    found = []
    for block in (block.strip("\n") for block in blocks if block.strip()):
        head, after = block.split("\n=>\n")
        rule, query, *before = head.split("\n")
        chosen: tuple[int, ...] = ()
        if before[0].startswith("choose: "):
            chosen = tuple(map(int, before.pop(0).removeprefix("choose: ").split()))
        found.append(Case(rule, query.rstrip(";"), chosen, "\n".join(before), after))
    return found


def planned(shop: Shop, case: Case) -> Plan:
    plan = import_view(shop.planning, "v", case.query).plan
    if not case.chosen:
        return plan
    schema = tuple(plan.schema[i] for i in case.chosen)
    return Project(schema, plan, tuple(column(i, plan.schema[i]) for i in case.chosen))


@pytest.mark.parametrize("case", cases(), ids=lambda case: f"{case.rule}: {case.query}")
def test_a_rule_turns_one_plan_into_another(shop: Shop, case: Case) -> None:
    plan = planned(shop, case)
    assert plan_tree(plan) == case.before
    assert plan_tree(optimised(plan, [_RULES[case.rule]])) == case.after


def test_every_rule_has_a_case_in_which_it_applies_and_one_in_which_not() -> None:
    for rule in _RULES:
        assert {case.before == case.after for case in cases() if case.rule == rule} == {True, False}, rule


@pytest.mark.parametrize("case", cases(), ids=lambda case: f"{case.rule}: {case.query}")
def test_nothing_is_left_to_do_after_all_rules(shop: Shop, case: Case) -> None:
    once = optimised(planned(shop, case))
    assert optimised(once) == once
    assert once.schema == planned(shop, case).schema


def test_rules_reach_every_node_of_a_plan(shop: Shop) -> None:
    query = """
        SELECT o.id FROM (SELECT id, customer FROM orders WHERE amount > 10) o
        JOIN (SELECT k FROM events WHERE n > 1) e ON o.customer = e.k
        UNION ALL SELECT id FROM orders WHERE rate > 0.5
    """
    tree = plan_tree(optimised(import_view(shop.planning, "v", query).plan))
    assert "Project [#0 id, #1 customer, #2 amount]\n" in tree.replace("  ", "")
    assert "Project [#0 k, #4 n]\n" in tree.replace("  ", "")
    assert "Project [#0 id, #5 rate]\n" in tree.replace("  ", "")
