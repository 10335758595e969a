-- Text functions.

-- name: upper_lower_length
SELECT s, upper(s) AS u, lower(s) AS l, length(s) AS n, octet_length(s) AS o FROM typed

-- name: concatenation
SELECT concat(name, '/', region) AS c, name || '!' AS d, concat_ws('-', region, name) AS e FROM customers

-- name: substrings
SELECT substring(s, 2, 2) AS a, left(s, 1) AS b, right(s, 2) AS c, substr(s, -2) AS d FROM typed

-- name: trimming
SELECT trim(s) AS a, ltrim(s) AS b, rtrim(s) AS c FROM typed

-- name: replacing
SELECT replace(s, 'a', 'xyz') AS a, translate(s, 'ab', 'b') AS b, reverse(s) AS c FROM typed

-- name: padding_and_repeating
SELECT lpad(label, 5, '*') AS a, rpad(label, 3, '.') AS b, repeat(kind, 2) AS c FROM events

-- name: positions
SELECT instr(s, 'b') AS a, locate('a', s) AS b, position('b' IN s) AS c FROM typed

-- name: like_patterns
SELECT s, s LIKE 'a%' AS a, s LIKE '_b%' AS b, s LIKE '%\\%%' AS c, s NOT LIKE '%z\\_z%' AS d FROM typed

-- name: like_filter
SELECT id, note FROM orders WHERE note LIKE '%b%'

-- name: starts_ends_contains
SELECT startswith(s, 'a') AS a, endswith(s, 'b') AS b, contains(s, 'ab') AS c FROM typed

-- name: ascii_and_initcap
SELECT ascii(label) AS a, initcap(label) AS b, char_length(label) AS c FROM events
