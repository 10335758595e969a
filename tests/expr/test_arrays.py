"""Arrays: changing, sorting out, combining, comparing them."""

from __future__ import annotations

import pytest
from pyspark.sql import types as t

from penstock.errors import EvaluationError
from penstock.expr import Call, Literal, evaluate
from tests.expr.checker import Checker


def test_adding_and_leaving_out_elements(checker: Checker) -> None:
    checker.check(
        """
        array_append(array(i4,k),i4b); array_append(split(s,','),s2); array_append(if(b,array(1),null),k);
        array_prepend(array(i4,k),i4b); array_prepend(split(s,','),null);
        array_insert(array(i4,k),nullif(k,0),i4b); array_insert(split(s,','),-2,s2);
        array_insert(array(n,f8),5,f8b); array_remove(array(i4,k,i4b),k); array_remove(split(s,','),'');
        array_remove(array(f8,f8b),double('nan')); array_remove(array(-0.0D,n),0D); array_repeat(s,k);
        array_repeat(k,3); array_repeat(struct(k,s),2); slice(array(i4,k,i4b,1),nullif(k,0),2);
        slice(split(s,''),2,abs(k)); slice(split(s,''),-2,2); slice(if(b,array(1,2),null),1,1)
        """
    )


def test_putting_arrays_together(checker: Checker) -> None:
    checker.check(
        """
        flatten(array(array(k,i4),if(b,array(1),null))); flatten(array(split(s,','),split(s2,'')));
        concat(array(i4,k),array(i4b)); concat(split(s,','),split(s2,'b'),array('x'));
        concat(if(b,array(k),null),array(1)); array(k)||array(i4); reverse(array(i4,k,i4b));
        reverse(split(s,'')); reverse(bin); arrays_zip(array(i4,k),split(s,','));
        arrays_zip(array(k),if(b,array(1),null)); arrays_zip(array(k),array(s,s2),array(f8));
        array_join(array(s,s2),',','?'); array_join(split(s,''),s2,'-'); array_join(array(s,s2),',',s2);
        array_join(array(k,i4),'/')
        """
    )


def test_arrays_as_sets(checker: Checker) -> None:
    checker.check(
        """
        array_distinct(array(i4,k,i4b,k)); array_distinct(split(s,'')); array_distinct(array(-0.0D,n));
        array_distinct(array(f8,f8b,n,-0.0D,double('nan'))); array_distinct(array(dec,dec2,dec));
        array_distinct(array(struct(k,s),struct(k,s),struct(k,s))); array_distinct(array(b,b2));
        array_distinct(array(ts,ts2,ts)); array_distinct(array(bin,bin2,bin));
        array_distinct(array(array(k),array(i4),array(k))); array_union(array(i4,k),array(i4b,k));
        array_union(split(s,''),split(s2,'')); array_union(array(f8,-0.0D),array(f8b,0D));
        array_union(if(b,array(1),null),array(k)); array_union(array(s),array(s2,s));
        array_intersect(split(s,''),split(s2,'')); array_intersect(array(k,i4,null),array(i4b,k));
        array_intersect(array(f8,-0.0D),array(f8b,0D)); array_except(split(s,''),split(s2,''));
        array_except(array(k,i4,i4),array(i4b,1)); array_except(array(f8,n,-0.0D),array(f8b));
        array_except(array(d,d2),array(d)); array_except(array(array(k)),array(array(i4)));
        arrays_overlap(array(i4,k),array(i4b,k)); arrays_overlap(split(s,''),split(s2,''));
        arrays_overlap(array(k),array(i4b)); arrays_overlap(array(f8),array(f8b,n));
        arrays_overlap(filter(array(k),x->x>0),array(i4)); arrays_overlap(array(array(k)),array(array(i4)))
        """
    )


def test_largest_and_smallest_elements(checker: Checker) -> None:
    checker.check(
        """
        array_max(array(i4,k)); array_min(array(i4,k)); array_max(array(f8,f8b)); array_min(array(f8,f8b));
        array_max(split(s,',')); array_min(array(s,s2)); array_min(array(ts,ts2)); array_max(array(big,big2));
        array_max(array(-0.0D,0.0D,n)); array_max(array(struct(k as a,s as b),struct(i4 as a,s2 as b)))
        """
    )


def test_sequences_of_numbers_and_times(checker: Checker) -> None:
    checker.check(
        """
        sequence(k,5+k); sequence(k,k+abs(k),1); sequence(5,k); sequence(k,-3-abs(k),-2); sequence(i1,i1);
        sequence(cast(k as bigint),cast(10 as bigint),cast(3 as bigint)); sequence(d,date_add(d,abs(k)));
        sequence(d,d+interval 6 months,interval 1 month); sequence(ts,ts+interval 5 days);
        sequence(ts,ts+interval 5 days,interval 1 day); sequence(ts,ts+interval 5 hours,interval 90 minutes);
        sequence(ntz,ntz+interval 1 year,interval 3 months);
        sequence(ts,ts-interval 1 year,-interval 2 months);
        sequence(d,d+interval 10 days,interval 3 days); sequence(ts,ts+interval 3 years,interval 1 year);
        sequence(ts,ts+interval 5 days,interval '1 18' day to hour); sequence(i8,i8,1L);
        sequence(d,d+interval 10 days,interval '1 18' day to hour)
        """
    )


def test_arrays_have_an_order(checker: Checker) -> None:
    checker.check(
        """
        array(k,i4)=array(i4,k); array(k,1)<array(i4,1); array(s)>=array(s2); array(f8)=array(f8b);
        split(s,'')<split(s2,''); struct(array(k),s)=struct(array(i4),s2);
        array(k) <=> if(b,array(i4),null); array(array(k))>array(array(i4)); array(k) in (array(1),array(i4));
        greatest(array(k),array(i4)); array(1)=array(1); struct(1,2)<struct(1,k);
        named_struct('a',1,'b',2) in (named_struct('a',1,'b',1),named_struct('a',1,'b',2));
        least(array(s),array(s2)); array(k)=array(1,2); array(1)<>array(k)
        """
    )


def test_searching_in_arrays_of_nested_values(checker: Checker) -> None:
    checker.check(
        """
        array(struct(k as a,s as b),struct(i4 as a,s2 as b)).b; array_contains(array(array(k)),array(i4));
        array_contains(array(struct(k as x)),struct(i4 as x)); array_size(array(k,1)); cardinality(array(k));
        array_position(array(array(k)),array(i4)); get(array(i4,k),1); element_at(array(array(k),array(1)),-1)
        """
    )


@pytest.mark.parametrize(
    ("expression", "values", "condition"),
    [
        ("array_insert(array(i4),k,1)", "0 AS k, 1 AS i4", "INVALID_INDEX_OF_ZERO"),
        ("slice(array(i4),k,1)", "0 AS k, 1 AS i4", "INVALID_PARAMETER_VALUE.START"),
        ("slice(array(i4),1,k)", "-1 AS k, 1 AS i4", "INVALID_PARAMETER_VALUE.LENGTH"),
    ],
)
def test_the_error_is_the_one_of_spark(
    checker: Checker, expression: str, values: str, condition: str
) -> None:
    checker.check_error(expression, values, condition)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("sequence(abs(k),-5,1)", "does not lead"),
        ("sequence(d,d2,interval 1 hour)", "less than a day"),
        ("array_repeat(k,2147483647)", "too many elements"),
    ],
)
def test_what_cannot_be_built_is_an_error(checker: Checker, expression: str, message: str) -> None:
    ((expr,),) = checker.plan([expression])
    with pytest.raises(EvaluationError, match=message):
        evaluate(expr, checker.columns(), len(checker.samples))


def test_constants_of_nested_types_are_compared() -> None:
    kind = t.StructType([t.StructField("a", t.IntegerType()), t.StructField("b", t.IntegerType())])
    one, two = Literal(kind, False, (1, 1)), Literal(kind, False, (1, 2))
    found = Call(t.BooleanType(), True, "In", (two, one, two))
    assert evaluate(found, [], 3).to_pylist() == [True] * 3
    lists = [Literal(t.ArrayType(t.IntegerType()), False, value) for value in ((1,), (1, None))]
    assert evaluate(Call(t.BooleanType(), True, "LessThan", tuple(lists)), [], 2).to_pylist() == [True] * 2
