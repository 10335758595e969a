"""Structs, arrays and maps, and literals of them."""

from __future__ import annotations

import pytest

from tests.expr.checker import Checker


def test_building_and_reaching_in(checker: Checker) -> None:
    checker.check(
        """
        named_struct('x',i4,'y',s).y; array(i4,i4b)[0]; get(array(i4,i4b),k); array(i4,i4b);
        struct(i4,s,f8); try_element_at(array(i4,i4b,7),nullif(k,0)); element_at(array(i4,i4b),-1);
        map('a',i4,'b',i4b)['a']; element_at(map('a',i4),s); map_keys(map('a',i4,'b',i4b));
        map_values(map('a',i4,'b',i4b)); map('a',i4); struct(array(i4,k) as a).a[1];
        if(b,struct(i4),null).i4; elt(1,s,s2)
        """
    )


def test_searching_and_counting(checker: Checker) -> None:
    checker.check(
        """
        array_contains(array(i4,i4b),1); array_contains(array(s,s2),'a');
        array_contains(array(f8,f8b),double('nan')); array_position(array(i4,i4b),1);
        size(split(s,',')); size(if(b,array(1),null)); cardinality(map('a',i4))
        """
    )


def test_nested_and_binary_literals_survive_the_import(checker: Checker) -> None:
    checker.check(
        """
        array(1,2,null)[1]; array('a','b'); array_contains(array(1,2,3),k); map('a',1.5,'b',2.5)[s];
        struct(1 as x,'y' as y); bin||X'00ff'; array(date'2024-02-29',null);
        element_at(array(X'41',bin),1)
        """
    )


@pytest.mark.parametrize(
    ("expression", "values", "condition"),
    [
        ("array(i4,i4b)[k]", "1 AS i4, 2 AS i4b, 2 AS k", "INVALID_ARRAY_INDEX"),
        ("element_at(array(i4,i4b),k)", "1 AS i4, 2 AS i4b, 0 AS k", "INVALID_INDEX_OF_ZERO"),
        ("element_at(array(i4,i4b),k)", "1 AS i4, 2 AS i4b, -3 AS k", "INVALID_ARRAY_INDEX_IN_ELEMENT_AT"),
        ("elt(k,s,s2)", "3 AS k, 'a' AS s, 'b' AS s2", "INVALID_ARRAY_INDEX"),
        ("map(s,1,s2,2)", "'a' AS s, 'a' AS s2", "DUPLICATED_MAP_KEY"),
        ("map(s,1)", "CAST(NULL AS STRING) AS s", "NULL_MAP_KEY"),
        ("if(b,1,raise_error(s))", "false AS b, 'no' AS s", "USER_RAISED_EXCEPTION"),
        ("assert_true(b)", "false AS b", "USER_RAISED_EXCEPTION"),
    ],
)
def test_the_error_is_the_one_of_spark(
    checker: Checker, expression: str, values: str, condition: str
) -> None:
    checker.check_error(expression, values, condition)
