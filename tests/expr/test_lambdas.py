"""Functions that take a lambda function, which is evaluated once for the elements of all rows."""

from __future__ import annotations

import functools

import numpy as np
import pyarrow as pa
import pytest

from penstock.errors import EvaluationError
from penstock.expr import evaluate
from penstock.expr.functions.comparing import sort_lists
from tests.expr.checker import Checker


def test_elements_are_changed_and_kept(checker: Checker) -> None:
    checker.check(
        """
        transform(array(i4,k,i4b),x->x is null); transform(array(n,f8),x->x+n);
        transform(split(s,','),(x,i)->concat(x,i)); transform(if(b,array(k,i1),null),x->x*2);
        transform(array(1,2,3),x->x*k); transform(sequence(1,3),x->x+k); transform(array(s,s2),x->upper(x));
        transform(array(ts),x->date_trunc('month',x)); transform(array(),x->1);
        filter(array(i4,k,i4b),x->x>k); filter(array(i4,k,i4b),(x,i)->i%2=0); filter(split(s,''),x->x<>'a');
        filter(transform(array(k,i1),x->struct(x as v,i4 as w)),z->z.v>0); array_compact(array(i4,k,null));
        array_compact(array(array(k),if(b,array(1),null)));
        zip_with(array(k,i4),split(s,','),(a,b)->concat(a,':',b));
        zip_with(if(b,array(1),null),array(k,i1),(x,y)->x+y)
        """
    )


def test_conditions_on_elements_know_three_truth_values(checker: Checker) -> None:
    checker.check(
        """
        exists(array(i4,k),x->x>k); exists(split(s,','),x->x='y'); exists(array(f8,f8b),x->x=x);
        forall(array(i4,k),x->x>0); forall(split(s,','),x->length(x)<3); exists(if(b,array(k),null),x->x>0)
        """
    )


def test_a_decided_condition_asks_no_further(checker: Checker) -> None:
    checker.check(
        """
        exists(array(1+coalesce(abs(k),0),0),x->1/x>0); exists(array(k,1,k,0),x->1/nullif(x,k)>0 or x=1);
        forall(array(-1-coalesce(abs(k),0),0),x->1/x>0)
        """
    )


def test_arrays_are_folded(checker: Checker) -> None:
    checker.check(
        """
        aggregate(array(k,i1,i2),0L,(a,x)->a+coalesce(x,0)); aggregate(split(s,''),'',(a,x)->concat(x,a));
        aggregate(array(n,f8),cast(0 as double),(a,x)->a+x,a->a*2);
        aggregate(if(b,split(s,','),null),0,(a,x)->a+length(x));
        reduce(array(k,i1),struct(0L as c,0L as t),(a,x)->struct(a.c+1,a.t+x),a->a.t/a.c);
        aggregate(array(dec,dec2),cast(0 as decimal(38,2)),(a,x)->cast(a+x as decimal(38,2)))
        """
    )


def test_maps_are_filtered_changed_and_joined(checker: Checker) -> None:
    checker.check(
        """
        map_filter(map('a',i4,'b',k),(x,y)->y>0); map_filter(map(1,s,2,s2),(x,y)->y>'b' and x>k);
        transform_values(map('a',i4,'b',k),(x,y)->concat(x,y)); transform_keys(map(1,i4,2,k),(x,y)->x+1);
        transform_keys(map('a',i4,'b',k),(x,y)->concat(x,coalesce(s,'-')));
        map_zip_with(map('a',i4,'b',k),map('b',s,'c',s2),(k1,x,y)->concat_ws('/',k1,x,y));
        map_zip_with(if(b,map(1,k),null),map(1,i4),(z,x,y)->x=y)
        """
    )


def test_functions_inside_of_functions_see_the_outer_variables(checker: Checker) -> None:
    checker.check(
        """
        transform(array(array(k,1),array(i4)),x->transform(x,y->y=k));
        transform(array(array(k,1),array(i1)),(x,i)->aggregate(x,0L,(a,y)->a+y+i+k));
        filter(array(s,s2),x->exists(split(s,''),y->x like concat('%',replace(y,'\\\\','')))) ;
        transform(array(k,i1),x->size(filter(array(k,i1,1),y->y<x)))
        """
    )


def test_sorting_by_value(checker: Checker) -> None:
    checker.check(
        """
        array_sort(array(i4,k,i4b)); array_sort(split(s,'')); array_sort(array(f8,f8b,n,-0.0D));
        array_sort(array(s,s2)); array_sort(array(d,d2)); array_sort(array(dec,dec2));
        array_sort(array(struct(k as a,s as b),struct(i4 as a,s2 as b))); sort_array(array(i4,k,i4b));
        sort_array(array(i4,k,i4b),false); sort_array(array(f8,f8b,n)); sort_array(array(s,s2),false);
        sort_array(if(b,split(s,','),null)); sort_array(array(b,b2)); sort_array(array(array(k),array(i4,k)));
        sort_array(array(bin,bin2)); sort_array(array(f8,f8b,-0.0D,0D),false)
        """
    )


def test_sorting_by_a_function(checker: Checker) -> None:
    """Also by one that describes no order: NULL compares as equal to everything."""
    falling = "(a,b)->case when a<b then 1 when a>b then -1 else 0 end"
    checker.check(
        [
            f"array_sort(split(s,''),{falling})",
            f"array_sort(array(k,i4,i1,null,i2,3),{falling})",
            f"array_sort(transform(sequence(1,25),x->nullif((x*7+k)%11,3)),{falling})",
            f"array_sort(transform(sequence(1,40),x->(x*7+k)%11),{falling})",
            "array_sort(array(s,s2,'m','é','aa'),(a,b)->coalesce(length(a)-length(b),0))",
            f"transform(array(k,i1),x->array_sort(array(x,k,3),{falling}))",
        ]
    )


@pytest.mark.parametrize("longest", [2, 31, 32, 100])
def test_lists_are_sorted_by_any_comparison(longest: int) -> None:
    rng = np.random.default_rng(longest)
    lengths = rng.integers(0, longest + 1, 50)
    keys = rng.integers(0, 10, int(lengths.sum()))
    order = sort_lists(lengths, lambda lists, left, right: keys[left] - keys[right])
    wanted = []
    for start, stop in zip(np.cumsum(lengths) - lengths, np.cumsum(lengths), strict=True):
        compare = functools.cmp_to_key(lambda a, b: int(keys[a]) - int(keys[b]))
        wanted += sorted(range(start, stop), key=compare)
    assert order.tolist() == wanted


def test_a_comparison_must_not_give_null(checker: Checker) -> None:
    ((expr,),) = checker.plan(["array_sort(array(k,1),(a,b)->a-b)"])
    columns = [column.slice(0, 1) for column in checker.columns()]
    columns[checker.samples.column_names.index("k")] = pa.array([None], pa.int32())
    with pytest.raises(EvaluationError, match="COMPARATOR_RETURNS_NULL"):
        evaluate(expr, columns, 1)


@pytest.mark.parametrize(
    ("expression", "values", "condition"),
    [
        ("transform(array(k),x->1/x)", "0 AS k", "DIVIDE_BY_ZERO"),
        ("exists(array(k),x->1/x>0)", "0 AS k", "DIVIDE_BY_ZERO"),
        ("aggregate(array(i4,1),0,(a,x)->a+x)", "2147483647 AS i4", "ARITHMETIC_OVERFLOW"),
        ("transform_keys(map(1,k,2,k),(a,b)->1)", "1 AS k", "DUPLICATED_MAP_KEY"),
        ("transform_keys(map(1,k),(a,b)->b)", "CAST(NULL AS INT) AS k", "NULL_MAP_KEY"),
    ],
)
def test_the_error_is_the_one_of_spark(
    checker: Checker, expression: str, values: str, condition: str
) -> None:
    checker.check_error(expression, values, condition)


def test_equal_functions_import_as_equal_expressions(checker: Checker) -> None:
    first, second = checker.plan(["transform(array(k),x->x+i4)", "transform(array(k),y->y+i4)"])[0]
    assert first == second and hash(first) == hash(second)
    assert str(first) == "array_transform(create_array(k), x -> x + i4)"
