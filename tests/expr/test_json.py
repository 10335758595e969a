"""JSON: looked into, read and written."""

from __future__ import annotations

import pytest

from penstock.errors import UnsupportedQuery
from tests.expr.checker import Checker

PATHS = """
    $ | $.a | $.a.b | $.a[0] | $.a[*] | $.a[*].b | $.a[0][*] | $.a[*][*] | $.* | $.a[*].b[*] | $['a'] |
    $.a[1].b | $[0] | $[*] | a | $. | $..a | $.a b | $. a | $[-1] | $.a[5] | $.b.c[0].d | $.A | $.a.x |
    $.a.* | $[0].a | $[*].a | $.a[0].b[*]
"""
SCHEMAS = [
    "a INT",
    "a TINYINT",
    "a SMALLINT",
    "a BIGINT",
    "a DOUBLE",
    "a FLOAT",
    "a STRING",
    "a BOOLEAN",
    "a DATE",
    "a TIMESTAMP",
    "a DECIMAL(10,2)",
    "a DECIMAL(38,18)",
    "a ARRAY<INT>",
    "a ARRAY<STRING>",
    "a ARRAY<DATE>",
    "a ARRAY<ARRAY<INT>>",
    "a STRUCT<b:INT,c:STRING>",
    "a ARRAY<STRUCT<b:INT,c:STRING>>",
    "a MAP<STRING,INT>",
    "a MAP<STRING,STRING>",
    "a INT, b INT",
    "a STRUCT<b:INT,c:STRING>, b INT",
    "ARRAY<INT>",
    "ARRAY<STRING>",
    "MAP<STRING,STRING>",
    "ARRAY<STRUCT<a:INT>>",
]


def test_paths_lead_where_spark_goes(checker: Checker) -> None:
    paths = [path.strip().replace("'", "\\'") for path in PATHS.split("|")]
    checker.check([f"get_json_object(js,'{path}')" for path in paths])
    checker.check("json_array_length(js); json_object_keys(js); get_json_object(s,'$')")


def test_texts_become_values_as_far_as_they_fit(checker: Checker) -> None:
    checker.check([f"from_json(js,'{schema}')" for schema in SCHEMAS])
    checker.check(
        """
        from_json(js,'a INT').a; from_json(js,schema_of_json('{"a":1}'));
        from_json(to_json(struct(k,s,f8,d)),'k INT, s STRING, f8 DOUBLE, d DATE')
        """
    )


def test_values_become_texts(checker: Checker) -> None:
    checker.check(
        """
        to_json(struct(k,s,f8,f4,b)); to_json(struct(d,ts,ntz)); to_json(struct(dec,big,tiny,whole,small));
        to_json(struct(bin,i8,i1)); to_json(array(k,i4)); to_json(map('a',k,'b',i4)); to_json(struct(js));
        to_json(map(coalesce(s,''),k)); to_json(array(struct(k,s),struct(k,s))); to_json(map(true,b));
        to_json(struct(array(s,s2) as x,map(1,d) as y)); to_json(struct(dt,ym)); to_json(map(1.5D,1));
        to_json(if(b,struct(k),null)); to_json(map(coalesce(d,date'2000-01-01'),1)); to_json(map(1.50,1));
        to_json(map(coalesce(ts,timestamp'2000-01-01 00:00:00'),1)); to_json(array(array(k),array(null)));
        to_json(struct(k,s),map('ignoreNullFields','false')); to_json(struct(struct(k) as z));
        to_json(from_json(js,'a STRING')); to_json(struct(f8b as `x"y`))
        """
    )


@pytest.mark.parametrize(
    "expression",
    [
        "from_json(js,'a INT',map('mode','FAILFAST'))",
        "from_json(js,'a BINARY')",
        "from_json(js,'a INT, _corrupt_record STRING')",
        "to_json(struct(ts),map('timestampFormat','yyyy'))",
        "to_json(map(array(1),k))",
    ],
)
def test_what_is_not_implemented_is_refused(checker: Checker, expression: str) -> None:
    with pytest.raises(UnsupportedQuery, match="json"):
        checker.plan([expression])
