-- UNNEST: arrays as tables, one or several, with and without ordinality.

-- name: unnest_one
SELECT b, x FROM typed, LATERAL UNNEST(arr) AS u(x)

-- name: unnest_with_ordinality
SELECT i32, x, n FROM typed, LATERAL UNNEST(arr) WITH ORDINALITY AS u(x, n)

-- name: unnest_several
SELECT i8, u.* FROM typed, LATERAL UNNEST(arr, split(s, ','), array(i32, i8)) WITH ORDINALITY AS u(p, q, r, n)

-- name: unnest_left
SELECT s, p, q, n FROM typed LEFT JOIN LATERAL UNNEST(arr, array(i8, i16)) WITH ORDINALITY AS u(p, q, n) ON true

-- name: unnest_structs
SELECT i16, u.col.x AS x, u.col.y AS y FROM typed, LATERAL UNNEST(array(st, st)) AS u

-- name: unnest_constant
SELECT kind, n FROM events CROSS JOIN UNNEST(array(1, 2, NULL)) AS u(n)

-- name: unnest_then_aggregate
SELECT x, count(*) AS c, max(n) AS m FROM typed, LATERAL UNNEST(arr) WITH ORDINALITY AS u(x, n) GROUP BY x
