-- ORDER BY … LIMIT and OFFSET, at the top and nested. Orders are total, so that Spark's answer is the only one.

-- name: top_three
SELECT id, amount FROM orders ORDER BY amount DESC, id LIMIT 3

-- name: top_by_dropped_column
SELECT id FROM orders ORDER BY amount, id LIMIT 4

-- name: top_nulls_last
SELECT id, name, tier FROM customers ORDER BY tier ASC NULLS LAST, name DESC NULLS FIRST, id LIMIT 5

-- name: top_by_expression
SELECT id, amount * 2 AS double_amount FROM orders ORDER BY abs(amount) DESC NULLS LAST, id DESC LIMIT 3

-- name: top_with_offset
SELECT id, status FROM orders ORDER BY status, id LIMIT 3 OFFSET 2

-- name: top_offset_only
SELECT id, status FROM orders ORDER BY status DESC, id OFFSET 3

-- name: top_of_groups
SELECT region, count(*) AS n FROM customers GROUP BY region ORDER BY n DESC, region LIMIT 2

-- name: top_of_groups_by_hidden_aggregate
SELECT customer FROM orders GROUP BY customer ORDER BY sum(amount) DESC NULLS LAST, customer LIMIT 3

-- name: top_distinct
SELECT DISTINCT status FROM orders ORDER BY status LIMIT 2

-- name: top_with_copies
SELECT kind, k FROM events ORDER BY kind, k LIMIT 6

-- name: top_of_doubles
SELECT x FROM events ORDER BY x DESC LIMIT 4

-- name: top_of_text
SELECT name FROM customers ORDER BY name NULLS LAST LIMIT 5

-- name: top_of_arrays
SELECT arr FROM typed ORDER BY arr DESC LIMIT 5

-- name: top_of_structs
SELECT st FROM typed ORDER BY st LIMIT 5

-- name: top_of_decimals_and_times
SELECT d38, ts FROM typed ORDER BY d38 DESC, ts LIMIT 5

-- name: top_nested_filtered
SELECT id FROM (SELECT id, amount FROM orders ORDER BY amount DESC, id LIMIT 5) WHERE amount > 1

-- name: top_nested_joined
SELECT t.id, c.region FROM (SELECT id, customer FROM orders ORDER BY id LIMIT 6) t JOIN customers c ON c.id = t.customer

-- name: top_nested_aggregated
SELECT count(*) AS n, sum(amount) AS s FROM (SELECT amount FROM orders ORDER BY amount DESC, id LIMIT 4)

-- name: top_of_a_top
SELECT id FROM (SELECT id, amount FROM orders ORDER BY amount, id LIMIT 6) ORDER BY id DESC LIMIT 2

-- name: top_of_a_union
SELECT id FROM (SELECT id FROM orders UNION ALL SELECT id FROM customers) ORDER BY id LIMIT 5

-- name: top_in_subquery
SELECT id, tier FROM customers WHERE id IN (SELECT customer FROM orders ORDER BY amount DESC, id LIMIT 3)

-- name: top_scalar
SELECT id FROM orders WHERE amount = (SELECT amount FROM orders ORDER BY amount DESC NULLS LAST, id LIMIT 1)

-- name: top_twice_in_a_union
(SELECT id FROM orders ORDER BY id LIMIT 2) UNION ALL (SELECT id FROM orders ORDER BY id DESC LIMIT 2)
