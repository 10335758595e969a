"""LIKE and regular expressions."""

from __future__ import annotations

import pytest

from penstock.errors import UnsupportedQuery
from tests.expr.checker import Checker


def test_like_with_wildcards_escapes_and_lists(checker: Checker) -> None:
    checker.check(
        r"""
        s like 'a%'; s like '%b%'; s like 'a%c'; s like '_b_'; s like '%\\%%';
        s like 'a!%b!_c' escape '!'; s like 'a%b_c'; s ilike 'A%'; s ilike '_B%C';
        s like all('a%','%c'); s like any('a%','_','%x_'); s not like all('a%','_');
        s not like any ('a%','_b%'); s like any ('_a%', null); s like replace(s2,'\\','');
        s not like all('_%', null); lower(s) like lower(replace(s2,'\\','x'))||'%'
        """
    )


def test_like_refuses_a_lost_escape_character(checker: Checker) -> None:
    checker.check_error(r"s like s2", r"'x' AS s, 'a\\b' AS s2", "INVALID_FORMAT.ESC_IN_THE_MIDDLE")


def test_rlike_means_what_java_means(checker: Checker) -> None:
    checker.check(
        r"""
        s rlike 'a'; s rlike '^a.*c$'; s rlike '[^a-z]'; s rlike '\\d+'; s rlike '(?i)abc';
        s rlike '(a|b)+$'; s rlike '^$'; s rlike 'a.b'; s rlike '\\bx\\b'; s rlike '(.)\\1';
        s rlike '^(?!a)'; s rlike '\\w+@?'; s rlike '[\\s,]'; s rlike '\\p{Upper}'; s rlike '\\Qa%\\E';
        s rlike '^\\W'; s rlike 'a{2,}'; s rlike '[.]'; s rlike '^(?:ab)++'; s rlike '\\x61b';
        regexp_like(s,'b'); s rlike '\\p{L}{2}'; s rlike '^\\p{Lu}'; s rlike '[\\p{L}\\p{N}]+$';
        s rlike '\\P{L}'; s rlike '[\\W_]'; s rlike '^[^\\S ]'; s rlike '[^\\D5]';
        s rlike 'x(?i:ab)|^(?i:ABC)$';
        regexp_replace(s,'[^\\p{L} ]','#'); regexp_extract(s,'\\pL+',0); regexp_count(s,'\\p{IsLl}')
        """
    )


def test_replacing_extracting_and_splitting(checker: Checker) -> None:
    checker.check(
        r"""
        regexp_replace(s,'[ab]+','<$0>'); regexp_replace(s,'(a)(b)?','$2$1');
        regexp_replace(s,'\\s+','_'); regexp_replace(s,'a','z',2); regexp_replace(s,'$','!');
        regexp_replace(s,'[aeiou]','\\$'); regexp_extract(s,'([a-z]+)([0-9]?)',1);
        regexp_extract(s,'(b)|(c)',2); regexp_extract(s,'(?<x>[a-z])',1);
        regexp_extract(s,'(a|b)+(.)',2); regexp_extract(s,'[(]?([a-z])',1); regexp_extract(s,'([a-c]*)',0);
        regexp_extract(s,'(?<x>a)(b)',2); regexp_extract(s,'(a|ab)(c|bcd)?',1); regexp_extract(s,'(b?)$',0);
        regexp_extract(s,'(&|^)[a-z]*=?([^&]*)',2); regexp_extract(s,'(?:^|[^a-z])([a-z]+)(.?)',1);
        regexp_extract_all(s,'([a-z])([a-z])',2); regexp_count(s,'a'); regexp_instr(s,'b');
        regexp_substr(s,'b.'); split(s,','); split(s,''); split(s,'[ab]'); split(s,'a',2);
        split(s,'[a-c]+',3); split(s,'\\.'); split(s,'(?=b)'); size(split(s,'a'))
        """
    )


def test_one_part_of_a_text(checker: Checker) -> None:
    checker.check(
        r"""
        split(s,'b')[0]; split(s,',')[0]; split(s||'//'||s2,'//')[1]; split(s||'a b'||s2,'a b')[1];
        split_part(s,'b',1); split_part(s,'b',2); split_part(s,'b',9); split_part(s,'b',-1);
        split_part(s,'ab',2); split_part(s,'',1); split_part(s,s2,1); split(s||',x',',',2)[1];
        split('a,b,,'||s,',')[1]; split('a,b,,'||s,',')[3]; split('a,b,,'||s,',')[2];
        struct(split(s||'--'||s2||'--','--')[0], split(s||'--'||s2||'--','--')[1]);
        struct(split(s2||'/'||s,'/')[1], split(s2||'/'||s,'/')[0], split(s2||'+-'||s,'-')[0]);
        element_at(split(s||'1x1y','1'),2); element_at(split(s||'1x1y','1'),-1); split(null||s,',')[0]
        """
    )
    checker.check("split(s,'b')[1]; split(s,'b')[5]; split(s,',')[-1]", ansi=False)


def test_what_stands_behind_a_text(checker: Checker) -> None:
    checker.check(
        r"""
        regexp_extract(s,'a([^b]*)',1); regexp_extract(s,'ab([^c]*)',1); regexp_extract(s,'(,|^)a([^,]*)',2);
        regexp_extract(s||'&a='||s2||'&b=1','(&|^)a=([^&]*)',2); regexp_extract(s2||s,'(^|b)b([^a]*)',2);
        regexp_extract('a='||s||'&a=2','(&|^)a=([^&]*)',2); regexp_extract('xa=1&'||s,'(^|&)a=([^&]*)',2);
        regexp_extract(s||'aab'||s2,'aa([^a]*)',1); regexp_extract(repeat(s||',',3),', ?([^,]*)',1);
        regexp_extract(repeat('-',k)||s||'&under_score=1'||s2||'&','(&|^)under_score=([^&]*)',2);
        regexp_extract(s||'under_score=under_score='||s2,'under_score=([^=]*)',1);
        regexp_extract(s||'&a=1','(&|^)a=([^&]*)',1); regexp_extract(s||'&a=1','(&|^)a=([^&]*)',0);
        regexp_extract(s,'aé([^b]*)',1); regexp_extract(null||s,'a([^b]*)',1); regexp_extract(s,'x([^x]*)',1)
        """
    )


def test_a_part_that_is_not_there_is_an_error(checker: Checker) -> None:
    checker.check_error("split(s,',')[2]", "'a,b' AS s", "INVALID_ARRAY_INDEX")


def test_plain_text_is_found_wherever_it_stands(checker: Checker) -> None:
    checker.check(
        r"""
        contains(s,'b'); contains(s,'bc'); contains(s,'abc'); contains(s,''); contains(s,s2);
        contains(s,null); s like '%ab%'; contains(s||'aab','aab'); contains(repeat(s,3),'cab');
        contains(s,'é'); contains('abc',s)
        """
    )


@pytest.mark.parametrize("pattern", ["[a-z&&[^b]]", r"\\p{IsLatin}", "a(?i)b", "[a[b]]"])
def test_a_pattern_whose_meaning_would_change_is_refused(checker: Checker, pattern: str) -> None:
    with pytest.raises(UnsupportedQuery, match="regular expression"):
        checker.plan([f"s rlike '{pattern}'"])


def test_a_group_that_is_not_there_is_an_error(checker: Checker) -> None:
    checker.check_error("regexp_extract(s,'(a)',3)", "'a' AS s", "INVALID_PARAMETER_VALUE.REGEX_GROUP_INDEX")
