"""With ANSI mode off: what failed gives NULL or wraps around, in every family of functions.

(The mode travels with each expression: the same session may have both.)
"""

from __future__ import annotations

from tests.expr.checker import Checker


def test_numbers_wrap_around(checker: Checker) -> None:
    checker.check(
        """
        i4+i4b; i8*i8b; i1-i1b; -i4; abs(i8); i4/k; i4%k; i8 div k; pmod(i4,k); dec*dec2; big+big2; n/k;
        cast(i8 as int); cast(f8 as int); cast(f8 as bigint); cast(num as int); cast(num as decimal(10,2));
        cast(dec as tinyint); round(i4,-1); conv(num,10,16); hash(i4+i4b)
        """,
        ansi=False,
    )


def test_bad_texts_and_positions_are_null(checker: Checker) -> None:
    checker.check(
        """
        cast(tim as date); cast(tim as timestamp); cast(num as double); cast(s as boolean); to_date(tim);
        to_timestamp(tim,'yyyy-MM-dd'); unix_timestamp(tim); make_date(2024,k,30); next_day(d,s);
        make_timestamp(2024,k,30,k,k,small); array(i4,i4b)[k]; element_at(array(i4,k),3);
        element_at(map('a',k),s); elt(k,s,s2); size(if(b,array(k),null)); cardinality(if(b,map(1,k),null));
        get(array(k),i4); split(s,',')[k]; parse_url('http://a/b','HOST')
        """,
        ansi=False,
    )


def test_lambdas_and_collections(checker: Checker) -> None:
    checker.check(
        """
        transform(array(i4,k),x->x+i4b); filter(array(i4,k),x->10/x>1); exists(array(k,0),x->1/x>0);
        forall(array(k,0),x->1/x>0); aggregate(array(i4,i4b),0,(a,x)->a+x); sort_array(array(i4+1,k));
        transform(array(num,s),x->cast(x as int)); map_filter(map('a',i4),(x,y)->y/k>0);
        array_max(array(i4*2,k));
        zip_with(array(i4),array(i4b),(x,y)->x*y); from_json(js,'a INT'); to_json(struct(i4+i4b as x));
        array_contains(array(i4),i8); concat(k,s); greatest(k,f8); coalesce(k,n); if(b,k,n); k in (1,'2')
        """,
        ansi=False,
    )


def test_an_interval_that_does_not_fit_an_integer_is_an_error_in_this_mode_too(checker: Checker) -> None:
    values = "INTERVAL '1000 00:00:00' DAY TO SECOND AS dt"
    checker.check_error("cast(dt as tinyint)", values, "CAST_OVERFLOW", ansi=False)
    checker.check("try_cast(dt as tinyint); try_cast(ym as smallint); cast(ym as int)", ansi=False)
