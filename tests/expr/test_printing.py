"""Numbers and texts in printed forms: format_string, format_number, addresses, masks, checks of texts."""

from __future__ import annotations

import pytest

from penstock.errors import UnsupportedQuery
from tests.expr.checker import Checker


def test_format_string_prints_what_java_prints(checker: Checker) -> None:
    checker.check(
        """
        format_string('%s-%s',s,k); format_string('%5d|%-7d|%05d',k,k,k);
        format_string('%,d %+d %(d',i4,i4,i4);
        format_string('%.2f',f8); format_string('%10.3f|%-10.1f|%010.2f',n,n,n); format_string('%,.2f',f8);
        format_string('%e %.3E',f8,f8); format_string('%x %X %o',i4,i8,i1); format_string('%.0f',n);
        format_string('%s %s %s %s',b,f8,f4,dec); format_string('%b %B',b,s); format_string('%S',s);
        format_string('%10s|%-10s|%.2s',s,s,s); format_string('%2$s %1$s %s',s,k); printf('%d items',k);
        format_string('%s%%%n',k); format_string('%c',abs(k)+64); format_string('%s %s',d,ts);
        format_string('%s',null); format_string('%d',i8); format_string('x'); format_string('%08.3f',f4);
        format_string('%(,.2f',n); format_string('%s %<s',k)
        """
    )


@pytest.mark.parametrize(
    ("text", "argument"),
    [("%d", "s"), ("%f", "dec"), ("%c", "s"), ("%g", "f8"), ("%s %s", "s"), ("%tY", "ts")],
)
def test_a_conversion_without_meaning_is_refused(checker: Checker, text: str, argument: str) -> None:
    with pytest.raises(UnsupportedQuery, match="format_string"):
        checker.plan([f"format_string('{text}',{argument})"])


def test_format_number_groups_and_rounds(checker: Checker) -> None:
    checker.check(
        """
        format_number(f8,2); format_number(f8,0); format_number(n,3); format_number(f4,4);
        format_number(dec,1); format_number(big,5); format_number(i4,2); format_number(i8,0);
        format_number(k,k); format_number(whole,2); format_number(f8,'#,##0.00'); format_number(n,'');
        format_number(dec,'0000.0#'); format_number(i4,'#'); format_number(n,'#.##');
        format_number(f8,'$#,###.0'); format_number(tiny,10)
        """
    )


def test_patterns_of_digits(checker: Checker) -> None:
    checker.check(
        """
        try_to_number(num,'S9999999999.99'); try_to_number(num,'999'); try_to_number(num,'000');
        to_number(to_char(abs(k)+1,'999'),'999'); to_char(dec,'S9,999,999.99'); to_char(k,'999MI');
        to_char(n,'9.99'); to_char(i4,'$99,999PR'); to_char(mid,'0000.0000'); to_varchar(k,'99')
        """
    )
    formats = ["$9,999.99S", "MI$9G999D99", "000.00", "9,099", "S09", "$0,000.00PR", "9,9,9"]
    checker.check([f"to_char(dec,'{form}')" for form in formats])
    checker.check(
        [f"try_to_number(to_char(mid,'{form}'),'{form}')" for form in formats]
        + [f"try_to_number(num,'{form}')" for form in formats]
    )


def test_floats_print_as_in_java(checker: Checker) -> None:
    checker.check("cast(f8 as string); cast(f4 as string); cast(f8b as string)")
    checker.check(
        "cast(f8 as decimal(38,0)); cast(f8 as decimal(30,8)); cast(f4 as decimal(20,2))", ansi=False
    )


def test_nested_values_print_with_their_parts(checker: Checker) -> None:
    checker.check(
        """
        cast(array(k,i4) as string); cast(array(s,s2) as string); cast(struct(k,s,f8) as string);
        cast(map(1,s) as string); cast(array(struct(d,ts)) as string); cast(map('a',array(k)) as string);
        cast(if(b,array(dec),null) as string); cast(split(s,'') as string); cast(array() as string);
        cast(struct(array(k),map(1,b)) as string); cast(map(k is null,i4) as map<string,bigint>)
        """
    )


ADDRESSES = [
    "http://",
    "https://u:p@",
    "ftp:",
    "//",
    "mailto:",
    "",
    "http://h_x.com/",
    "http://[::1]:80/a",
    "HTTP://Example.COM:8080/%7Ea?q=1&k=v#f",
    "http://h.com?k=1&k2=",
    "http://1.2.3.4/x y",
    "http://a..b/",
    "http://-a.com",
    "http://h.com/é?x=é",
    "http://h:99999/",
    "http:///p",
    "file:/a/b",
    "a/b?c#d",
    "?q=1",
    "#f",
    "http://h.com?#",
    "http://u@h.com",
    "http://h.com:/",
    "http://a.b1",
    "http://1a.2b",
    "urn:a:b?c",
    "http://h.com/a[b]",
    "http://h.com?a[b]=c",
    "x:",
    "1:/a",
    "http://h.com/%zz",
]


def test_addresses_are_taken_apart_as_java_does(checker: Checker) -> None:
    listed = ",".join(f"'{address}'" for address in ADDRESSES)
    address = f"concat(array({listed})[pmod(i8,{len(ADDRESSES)})],if(b2,s,''))"
    parts = "HOST,PATH,QUERY,REF,PROTOCOL,FILE,AUTHORITY,USERINFO,host"
    checker.check([f"try_parse_url({address},'{part}')" for part in parts.split(",")])
    checker.check([f"try_parse_url({address},'QUERY','k')", f"try_parse_url({address},'HOST','k')"])
    checker.check("parse_url(concat('http://h/?a=',url_encode(s)),'QUERY','a'); try_parse_url(s,'PATH')")
    checker.check(
        "url_encode(s); url_decode(url_encode(s)); try_url_decode(s); try_url_decode(concat('%',s))"
    )


def test_texts_are_masked_and_checked(checker: Checker) -> None:
    checker.check(
        """
        mask(s); mask(s,'U','l','d','o'); mask(s,null,'l',null,'o'); mask(tim); quote(s); quote(num);
        luhn_check(num); luhn_check(s); jaro_winkler_similarity(s,s2); jaro_winkler_similarity(num,tim);
        hmac(concat('k',s),s2); hmac(concat(X'01',bin),bin2,'sha1'); hmac(concat('k',s),s2,'SHA-512');
        to_base32(bin); from_base32(to_base32(bin)); from_base32(s); is_valid_utf8(s); is_valid_utf8(bin);
        make_valid_utf8(bin); try_validate_utf8(bin); validate_utf8(s); make_valid_utf8(s);
        contains(bin,bin2); startswith(bin,bin2); endswith(bin,bin2); contains(bin,X'00');
        instr(s,'a',1,2); instr(s,s2,k,1); instr(s,'a',-1,1); instr(s,'b',k,2); instr(s,'',k,1)
        """
    )


def test_what_fails_is_null_in_try_functions(checker: Checker) -> None:
    checker.check(
        """
        try_add(d,k); try_add(ts,dt); try_subtract(ts,dt); try_multiply(dt,k); try_divide(dt,k);
        try_multiply(ym,i4); try_divide(ym,k); try_subtract(d,k); try_to_binary(s,'hex');
        try_to_binary(num,'base64'); try_to_binary(s); to_binary(hex(s),'hex'); unhex(s);
        to_binary(s,'utf-8'); try_to_binary(s,'utf-8'); unbase64(base64(bin)); try_add(dt,dt);
        bit_get(i4,abs(k)); getbit(i8,abs(k)); bit_get(i1,abs(k))
        """
    )


@pytest.mark.parametrize(
    ("expression", "values", "condition"),
    [
        ("to_binary(s,'hex')", "'zz' AS s", "CONVERSION_INVALID_INPUT"),
        ("to_binary(s,'base64')", "'a' AS s", "CONVERSION_INVALID_INPUT"),
        ("bit_get(i4,k)", "1 AS i4, 32 AS k", "INVALID_PARAMETER_VALUE.BIT_POSITION_RANGE"),
        ("url_decode(s)", "'%z' AS s", "CANNOT_DECODE_URL"),
        ("parse_url(s,'HOST')", "'a b' AS s", "INVALID_URL"),
        ("hmac(s,s2,s)", "'a' AS s, 'b' AS s2", "INVALID_PARAMETER_VALUE.HMAC_ALGORITHM"),
        ("validate_utf8(bin)", "x'ff' AS bin", "INVALID_UTF8_STRING"),
        ("to_number(s,'999')", "'a' AS s", "INVALID_FORMAT.MISMATCH_INPUT"),
        ("instr(s,s2,1,k)", "'a' AS s, 'a' AS s2, 0 AS k", "INVALID_PARAMETER_VALUE.OCCURRENCE"),
    ],
)
def test_the_error_is_the_one_of_spark(
    checker: Checker, expression: str, values: str, condition: str
) -> None:
    checker.check_error(expression, values, condition)
