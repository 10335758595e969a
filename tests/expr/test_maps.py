"""Maps: made, put together, taken apart."""

from __future__ import annotations

import pytest

from penstock.expr import evaluate
from tests.expr.checker import Checker


def test_making_maps(checker: Checker) -> None:
    checker.check(
        """
        map('a',i4,'b',i4b); map(-0.0D,k); map(1,s,2,s2); map_from_arrays(array('x','y'),array(k,i4));
        map_from_arrays(if(b,array(1),null),array(s)); map_from_arrays(array(-0.0D,1D),array(k,1));
        map_from_entries(array(struct('a' as x,k as y),struct('b' as x,i4 as y)));
        map_from_entries(array(struct(-0.0D,k))); map_from_entries(array(if(b,struct(1,k),null)));
        map_concat(map('a',k),map('b',i4)); map_concat(map(1,s),if(b,map(2,s2),null));
        map_concat(map(-0.0D,k),map(1D,k)); map_concat(map(1,k)); str_to_map('x=1&y=2','&','=');
        str_to_map(s,'!','='); str_to_map(concat('a:1,b:2',coalesce(s,'')),'%',':');
        str_to_map(concat('p',s,'#q'),'#'); case when b then map('a',k) else map('b',i4) end
        """
    )


def test_taking_maps_apart(checker: Checker) -> None:
    checker.check(
        """
        map_keys(map('a',i4,'b',i4b)); map_values(map('a',i4,'b',i4b)); map_entries(map('a',i4,'b',k));
        map_entries(if(b,map(1,s),null)); map_contains_key(map('a',k,'b',i4),s); size(map(1,k,2,k));
        map('a',k)[s]; element_at(map(1,s,2,s2),k); try_element_at(map(1,s),k)
        """
    )


@pytest.mark.parametrize(
    ("expression", "values", "condition"),
    [
        ("map_from_arrays(array(k),array(k,k))", "1 AS k", "_LEGACY_ERROR_TEMP_2128"),
        ("map_from_arrays(array(k,k),array(k,k))", "1 AS k", "DUPLICATED_MAP_KEY"),
        ("map_from_entries(array(struct(k,1)))", "CAST(NULL AS INT) AS k", "NULL_MAP_KEY"),
        ("map_concat(map(k,1),map(k,2))", "1 AS k", "DUPLICATED_MAP_KEY"),
        ("str_to_map(s,',',':')", "'a,a' AS s", "DUPLICATED_MAP_KEY"),
    ],
)
def test_the_error_is_the_one_of_spark(
    checker: Checker, expression: str, values: str, condition: str
) -> None:
    checker.check_error(expression, values, condition)


def test_the_last_key_wins_if_the_session_says_so(checker: Checker) -> None:
    with checker.setting("spark.sql.mapKeyDedupPolicy", "LAST_WIN"):
        checker.check(
            """
            map(coalesce(s,''),1,'a',k,'b',i4); map_concat(map('a',k),map('b',i4,'a',i4b));
            map_from_arrays(array(1,1,2),array(k,i4,i4b)); str_to_map('a:1,b:2,a:3'); str_to_map(s,'','=');
            transform_keys(map(1,i4,2,k),(x,y)->7); map_from_entries(array(struct(1,k),struct(1,k)))
            """
        )
    ((expr,),) = checker.plan(["map(1,k)"])
    assert "last_key_wins" not in dict(expr.options)
    assert len(evaluate(expr, checker.columns(), len(checker.samples))) == len(checker.samples)
