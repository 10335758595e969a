"""Three truth values, and which rows a branch is evaluated on."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import types as t

from penstock.errors import EvaluationError
from penstock.expr import Call, Column, Literal, evaluate
from tests.expr.checker import Checker


def test_and_or_not_follow_kleene(checker: Checker) -> None:
    checker.check(
        """
        b and b2; b or b2; not b; not(b and b2) or b; b is true; b is not false; b = null
        """
    )


def test_null_and_nan_are_found(checker: Checker) -> None:
    checker.check(
        """
        isnull(i4); s is not null; isnan(f8); isnan(f4); nanvl(f8,f8b); nanvl(f8,1); coalesce(i4,i4b);
        coalesce(s,s2,'x'); coalesce(dec,mid,0); nvl(d,d2); nullif(i4,i4b); nullif(f8,f8b);
        nvl2(b,i4,i4b); zeroifnull(i4); nullifzero(k); ifnull(ts,ts2)
        """
    )


def test_the_first_condition_that_holds_decides(checker: Checker) -> None:
    checker.check(
        """
        case when b then i4 when b2 then i4b else 7 end; case when b then s when b2 then s2 end;
        case i4 when 1 then 'a' when 2 then 'b' else s end; if(b,f8,f8b); if(b,dec,null); if(b,null,ts);
        case when b then struct(i4 as p,s as q) else struct(i4b as p,s2 as q) end; decode(i4,1,'a',2,s,'c');
        if(b,split(s,','),array(s2)); case when b then dec when b2 then mid else big end
        """
    )


def test_texts_are_chosen_by_texts(checker: Checker) -> None:
    checker.check(
        """
        case s when 'a' then '0' when 'abc' then s2 when '' then null else s||s2 end;
        case lower(s) when 'a' then '' when 'a' then 'second' end;
        case s when s2 then 'x' when 'a' then s end; case s when 'a' then s2 when null then 'y' else 'z' end;
        case when s='a' then 'x' when s2='a' then 'y' end;
        case s||'-twelve' when 'a-twelve' then 1 when 'a-twelfe' then 2 when '-twelve' then 3 end;
        case when b then s when b2 then null else s2 end; if(b,'x',s); if(s='a',s2,null);
        case s when 'a' then cast('x' as binary) else cast(s2 as binary) end;
        s in ('a','abc',''); s in ('a',null); s||'-twelve' in ('a-twelve','b-twelve');
        s not in ('a','\u00e4'); cast(s as binary) in (X'61', X'')
        """
    )


def test_a_branch_that_may_raise_sees_only_its_rows(checker: Checker) -> None:
    checker.check(
        """
        case when n=0 then null else 1/n end; case when n<>0 and 1/n>0.1 then 'x' else 'y' end;
        n<>0 and 10/n>1; n=0 or 10/n>1; if(k=0,null,100 div k); coalesce(nullif(k,0),7/nullif(k,0));
        case when k>0 then cast(left('12345',k) as int) when k=0 then 0 else -k end;
        if(b, cast(if(b,'1','x') as int), 0);
        case when num rlike '^[0-9]{1,5}$' then cast(num as int) end;
        coalesce(try_cast(num as int), cast('17' as int)); n=0 or (k<>0 and 1/k>0 or 1/n>0)
        """
    )


def test_a_row_that_reaches_a_failing_branch_fails() -> None:
    column = Column(t.IntegerType(), True, 0, "a")
    zero = Literal(t.IntegerType(), False, 0)
    quotient = Call(t.LongType(), True, "IntegralDivide", (column, column), (("mode", "ANSI"),))
    guarded = Call(
        t.LongType(),
        True,
        "If",
        (Call(t.BooleanType(), True, "EqualTo", (column, zero)), Literal(t.LongType(), True, None), quotient),
    )
    values = [pa.array([3, 0, None], pa.int32())]
    assert evaluate(guarded, values, 3).to_pylist() == [1, None, None]
    with pytest.raises(EvaluationError, match=r"DIVIDE_BY_ZERO.*IntegralDivide\(0, 0\)"):
        evaluate(quotient, values, 3)
