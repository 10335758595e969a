-- INTERSECT ALL and EXCEPT ALL: as often as on both sides, and as often as on the left but not on the right.

-- name: all_intersect
SELECT kind, k FROM events INTERSECT ALL SELECT h, g FROM tame

-- name: all_intersect_same_table
SELECT kind FROM events WHERE k > 1 INTERSECT ALL SELECT kind FROM events WHERE ok

-- name: all_except
SELECT kind FROM events EXCEPT ALL SELECT kind FROM events WHERE ok

-- name: all_except_with_nulls
SELECT k, ok FROM events EXCEPT ALL SELECT g, false FROM tame

-- name: all_except_of_keys
SELECT customer FROM orders EXCEPT ALL SELECT id FROM customers

-- name: all_intersect_of_keys
SELECT customer FROM orders INTERSECT ALL SELECT id FROM customers

-- name: all_except_chained
SELECT status FROM orders EXCEPT ALL SELECT status FROM orders WHERE amount > 5 EXCEPT ALL SELECT 'new'

-- name: all_doubles
SELECT x FROM events INTERSECT ALL SELECT f64 FROM tame

-- name: all_counted
SELECT status, count(*) AS n FROM (SELECT status FROM orders EXCEPT ALL SELECT status FROM orders WHERE placed IS NULL) GROUP BY status
