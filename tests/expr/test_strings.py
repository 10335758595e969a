"""Strings, counted in characters."""

from __future__ import annotations

from tests.expr.checker import Checker


def test_case_and_length(checker: Checker) -> None:
    checker.check(
        """
        upper(s); lower(s); initcap(s); length(s); length(bin); octet_length(s); bit_length(s);
        octet_length(bin); char_length(s); reverse(s); reverse(split(s,',')); ascii(s); chr(i8);
        soundex(s); levenshtein(s,s2)
        """
    )


def test_positions_count_from_one_and_from_the_end(checker: Checker) -> None:
    checker.check(
        """
        substring(s,2,3); substring(s,0,2); substring(s,-2); substring(s,-5,3); substring(s,-3,2);
        substring(s,2); substring(s,k); substring(s,k,2); substring(s,k,i1); substring(bin,2,3);
        substring(bin,k,2); left(s,2); right(s,2); left(s,k); right(s,k);
        overlay(s placing '__' from 2); overlay(s placing '__' from k for 1);
        overlay(s placing s2 from 3 for k)
        """
    )


def test_joining_and_padding(checker: Checker) -> None:
    checker.check(
        """
        s||s2; concat(s,'-',s2,cast(k as string)); concat(bin,bin2); concat_ws('-',s,s2);
        concat_ws(s,s2,'x'); concat_ws(',',split(s,','),s2); concat_ws('--',s);
        array_join(split(s,','),'|'); array_join(array(s,s2),'+'); lpad(s,5,'xy'); rpad(s,5,'xy');
        lpad(s,3); rpad(s,k,'é'); lpad(s,k,s2); lpad(s,5,''); lpad(bin,5,X'01'); repeat(s,3);
        repeat(s,k); space(k)
        """
    )


def test_trimming_and_replacing(checker: Checker) -> None:
    checker.check(
        """
        trim(s); ltrim(s); rtrim(s); trim(both 'xaz ' from s); trim(leading s2 from s);
        trim(trailing 'c' from s); btrim(s,'a'); replace(s,'a','bb'); replace(s,'a'); replace(s,s2,'_');
        replace(s,''); translate(s,'abé','x日'); translate(s,s2,'xyz')
        """
    )


def test_searching(checker: Checker) -> None:
    checker.check(
        """
        startswith(s,'a'); startswith(s,s2); endswith(s,'c'); contains(s,s2); contains(s,'b');
        instr(s,'b'); instr(s,''); instr(s,s2); instr(s,'本'); locate('a',s); locate('a',s,2);
        locate('a',s,k); locate(s2,s); position('x' in s); substring_index(s,'a',1);
        substring_index(s,'a',-1); substring_index(s,'.',2); substring_index(s,'.',-2);
        substring_index(s,'ab',k); substring_index(s,'aa',k); find_in_set(s,'a,b,abc');
        split_part(s,',',2); split_part(s,'.',-1)
        """
    )


def test_digests_and_bases(checker: Checker) -> None:
    checker.check(
        """
        md5(s); sha1(s); sha2(s,256); sha2(s,0); sha2(s,224); sha2(s,7); crc32(s); hex(i8); hex(s);
        hex(bin); unhex(s); bin(i8); conv(s,16,10); conv(s,36,2); conv(cast(i4 as string),10,16);
        conv(cast(i4 as string),10,-16); base64(bin); unbase64(base64(bin)); encode(s,'utf-8');
        decode(encode(s,'UTF-16BE'),'UTF-16BE')
        """
    )
