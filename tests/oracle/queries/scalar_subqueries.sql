-- Uncorrelated scalar subqueries wherever an expression may stand.

-- name: scalar_above_average
SELECT id FROM orders WHERE amount > (SELECT avg(amount) FROM orders)

-- name: scalar_equals_maximum
SELECT id, amount FROM orders WHERE amount = (SELECT max(amount) FROM orders)

-- name: scalar_best_group
WITH a AS (SELECT customer, sum(amount) AS s FROM orders GROUP BY customer)
SELECT customer, s FROM a WHERE s = (SELECT max(s) FROM a)

-- name: scalar_in_select
SELECT id, amount, (SELECT max(amount) FROM orders) AS most, (SELECT count(*) FROM events) AS n FROM orders

-- name: scalar_in_select_and_where
SELECT id, (SELECT max(qty) FROM lines) AS m FROM orders WHERE customer < (SELECT max(qty) FROM lines)

-- name: scalar_of_possibly_no_row
SELECT o.id, (SELECT name FROM customers WHERE id = 3) AS n FROM orders o

-- name: scalar_of_no_row_in_filter
SELECT e.k FROM events e WHERE coalesce((SELECT tier FROM customers WHERE id = 2), 1) >= e.k

-- name: scalar_two_in_filter
SELECT k FROM events WHERE k BETWEEN (SELECT min(tier) FROM customers) AND (SELECT max(tier) FROM customers)

-- name: scalar_nested
SELECT id FROM orders WHERE customer > (SELECT min(tier) FROM customers WHERE tier > (SELECT min(k) FROM events))

-- name: scalar_without_table
SELECT (SELECT count(*) FROM orders) AS a, (SELECT max(k) FROM events) AS b, (SELECT count(*) FROM orders) AS c

-- name: scalar_in_case
SELECT id, CASE WHEN amount > (SELECT avg(amount) FROM orders) THEN 'high' WHEN amount IS NULL THEN 'none' ELSE 'low' END AS band FROM orders

-- name: scalar_in_aggregate_function
SELECT region, sum(tier - (SELECT min(tier) FROM customers)) AS s FROM customers GROUP BY region

-- name: scalar_beside_aggregate_function
SELECT region, count(*) + (SELECT count(*) FROM orders) AS n FROM customers GROUP BY region

-- name: scalar_beside_global_aggregate
SELECT count(*) AS n, count(*) * 100 + (SELECT count(*) FROM orders) AS m FROM customers

-- name: scalar_in_group_by
SELECT k > (SELECT avg(k) FROM events) AS above, count(*) AS n FROM events GROUP BY k > (SELECT avg(k) FROM events)

-- name: scalar_in_having
SELECT region, count(*) AS n FROM customers GROUP BY region HAVING count(*) >= (SELECT count(*) / 4 FROM customers)

-- name: scalar_in_filter_clause
SELECT count(*) AS n, count(*) FILTER (WHERE k > (SELECT avg(tier) FROM customers)) AS m FROM events

-- name: scalar_in_inner_join_condition
SELECT o.id, c.id AS cid FROM orders o JOIN customers c ON o.customer = c.id AND o.amount > (SELECT avg(credit) FROM customers)

-- name: scalar_in_left_join_condition
SELECT o.id, c.id AS cid FROM orders o LEFT JOIN customers c ON o.customer = c.id AND o.amount > (SELECT avg(credit) FROM customers)

-- name: scalar_in_full_join_condition
SELECT o.id, c.id AS cid FROM orders o FULL JOIN customers c ON o.customer = c.id AND c.tier > (SELECT min(qty) FROM lines)

-- name: scalar_arithmetic
SELECT id, amount / (SELECT sum(amount) FROM orders WHERE amount > 0) AS share FROM orders WHERE amount > 0

-- name: scalar_struct
SELECT e.k, (SELECT named_struct('lo', min(qty), 'hi', max(qty)) FROM lines).hi AS hi FROM events e

-- name: scalar_in_union
SELECT k FROM events WHERE k < (SELECT max(tier) FROM customers) UNION ALL SELECT (SELECT max(tier) FROM customers)

-- name: scalar_global_with_having
SELECT e.k, (SELECT sum(qty) FROM lines HAVING count(*) > 2) AS s FROM events e
