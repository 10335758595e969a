"""hash and xxhash64 give Spark's numbers."""

from __future__ import annotations

import pytest

from penstock.errors import UnsupportedQuery
from tests.expr.checker import Checker


@pytest.mark.parametrize("function", ["hash", "xxhash64"])
def test_every_type_has_the_hash_of_spark(checker: Checker, function: str) -> None:
    columns = "b,i1,i2,i4,i8,f4,f8,s,bin,d,ts,ntz,dec,big,whole,small,tiny,mid,dt,ym"
    checker.check([f"{function}({column})" for column in columns.split(",")])


def test_hashes_of_several_and_of_nested_values(checker: Checker) -> None:
    checker.check(
        """
        hash(k,s,f8,null); hash(array(k,i4)); hash(struct(k,s)); hash(split(s,'')); hash(repeat(s,20));
        hash(array(struct(s,k)),big); hash(-0.0D,n); hash(if(b,array(k),null)); pmod(hash(s,k),16);
        xxhash64(k,s,f8,null); xxhash64(array(k,i4)); xxhash64(struct(k,s)); xxhash64(split(s,''));
        xxhash64(repeat(s,20)); xxhash64(if(b,struct(k,s),null),k)
        """
    )


def test_bitmaps(checker: Checker) -> None:
    checker.check("bitmap_bit_position(i8); bitmap_bucket_number(i8); bitmap_count(bin)")


def test_the_hash_of_a_map_is_refused(checker: Checker) -> None:
    allowed = checker.setting("spark.sql.legacy.allowHashOnMapType", "true")
    with allowed, pytest.raises(UnsupportedQuery, match="hash of a map"):
        checker.plan(["hash(map(k is null,1))"])
