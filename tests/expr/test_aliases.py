"""Functions under their other names, and operators in their other spellings."""

from __future__ import annotations

from tests.expr.checker import Checker


def test_strings_under_other_names(checker: Checker) -> None:
    checker.check(
        """
        char(i8); character_length(s); char_length(bin); lcase(s); ucase(s); len(s); substr(s,2,3);
        sha(s); to_varchar(ts,'yyyy-MM'); to_char(ts,'HH:mm'); to_char(bin,'hex'); collation(s);
        s regexp 'a'; regexp_like(s,'b'); rlike(s,'c'); regexp(s,'a+'); like(s,'a%'); ilike(s,'A%');
        position('a',s); position('a',s,2); char(65)||s; printf('%s',s); len(bin)
        """
    )


def test_numbers_under_other_names(checker: Checker) -> None:
    checker.check(
        """
        ceiling(dec); mod(i4,7); negative(n); positive(n); i8>>>k; shiftright(i8,k); shiftleft(i8,k); e()+n;
        pi()*n; sign(f8); mod(n,3); pow(n,2); i4 == k; i4 != k; i4 <> k; !b; equal_null(i4,k); isnotnull(k);
        isnull(s); ifnull(k,1); nvl(s,'x'); nvl2(s,k,i4); nullif(k,1); zeroifnull(k); nullifzero(k);
        typeof(array(k)); try_mod(i4,k); ln(abs(n)+1); i4b div 7; dec % 7; bround(n); n between 0 and 2
        """
    )


def test_casts_written_as_functions(checker: Checker) -> None:
    checker.check(
        """
        bigint(i4); int(i1); smallint(i1); tinyint(b); float(k); double(dec); string(d); binary(s);
        boolean(k); date(ts); timestamp(d); decimal(k); string(array(k)); schema_of_csv('1,abc')
        """
    )


def test_times_under_other_names(checker: Checker) -> None:
    checker.check(
        """
        date_diff(d,d2); date_diff(day,ts,ts2); datediff(d,d2); date_part('year',d); datepart('month',ts);
        dateadd(day,k,ts); dateadd(d,k); date_add(month,k,ts); dayofmonth(d); timestampdiff(month,ts,ts2);
        make_timestamp_ltz(2024,2,29,12,30,abs(small)); make_timestamp_ntz(2024,2,29,12,30,abs(small));
        try_make_timestamp(2024,k,k,k,k,abs(small)); try_make_timestamp_ltz(2024,k,k,k,k,abs(small));
        try_make_timestamp_ntz(2024,k,k,k,k,abs(small));
        make_timestamp(2024,2,29,12,30,abs(small),'Asia/Tokyo');
        to_timestamp(date_format(ts,'yyyy-MM-dd HH:mm'),'yyyy-MM-dd HH:mm'); to_timestamp_ltz(d);
        to_timestamp_ntz(ntz); try_to_timestamp(tim); to_timestamp(ntz); try_to_date(tim);
        make_timestamp_ltz(2024,11,3,1,30,abs(small))
        """
    )
