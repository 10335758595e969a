-- Left, right and full outer joins: with and without residual conditions, NULL keys, duplicates, chains.

-- name: left_on_key
SELECT o.id, o.customer, c.name FROM orders o LEFT JOIN customers c ON o.customer = c.id

-- name: left_keyless_sides
SELECT e.kind, e.k, t.h FROM events e LEFT JOIN tame t ON e.k = t.g

-- name: left_all_columns
SELECT * FROM (SELECT kind, k, ok FROM events) e LEFT JOIN (SELECT g, h, i8 FROM tame) t ON e.k = t.g

-- name: left_residual
SELECT o.id, l.line FROM orders o LEFT JOIN lines l ON o.id = l.order_id AND l.qty > o.customer

-- name: left_residual_keyless_sides
SELECT e.kind, e.k, t.i32 FROM events e LEFT JOIN tame t ON e.k = t.g AND e.x < t.f64

-- name: left_condition_on_left_only
SELECT o.id, c.name FROM orders o LEFT JOIN customers c ON o.customer = c.id AND o.status = 'new'

-- name: left_condition_on_right_only
SELECT o.id, c.name FROM orders o LEFT JOIN customers c ON o.customer = c.id AND c.active

-- name: left_without_equality
SELECT e.k, c.id FROM events e LEFT JOIN customers c ON e.k > c.tier AND c.active

-- name: left_condition_on_left_without_equality
SELECT e.k, c.region FROM events e LEFT JOIN (SELECT DISTINCT region FROM customers) c ON e.ok

-- name: left_null_safe
SELECT e.kind, e.k, c.id, c.tier FROM events e LEFT JOIN customers c ON e.k <=> c.tier

-- name: left_two_keys_one_null_safe
SELECT a.g, a.i8, b.h FROM tame a LEFT JOIN tame b ON a.g = b.i32 AND a.i8 <=> b.i16

-- name: left_antijoin_by_null_test
SELECT c.id FROM customers c LEFT JOIN orders o ON o.customer = c.id WHERE o.id IS NULL

-- name: left_then_filter_on_right
SELECT o.id, c.region FROM orders o LEFT JOIN customers c ON o.customer = c.id WHERE coalesce(c.region, 'none') <> 'north'

-- name: left_on_expression
SELECT o.id, c.id AS cid FROM orders o LEFT JOIN customers c ON o.customer % 5 = c.tier - 1

-- name: left_chain
SELECT c.id, o.id AS oid, l.line FROM customers c
LEFT JOIN orders o ON o.customer = c.id LEFT JOIN lines l ON l.order_id = o.id

-- name: left_of_aggregate
SELECT c.id, c.region, a.n, a.total FROM customers c
LEFT JOIN (SELECT customer, count(*) AS n, sum(amount) AS total FROM orders GROUP BY customer) a ON a.customer = c.id

-- name: left_then_aggregate
SELECT c.region, count(*) AS n, count(o.id) AS orders, sum(o.amount) AS total
FROM customers c LEFT JOIN orders o ON o.customer = c.id GROUP BY c.region

-- name: left_self
SELECT a.id, b.id AS other FROM customers a LEFT JOIN customers b ON a.tier = b.tier AND a.id < b.id

-- name: left_with_constant_side
SELECT e.kind, e.k, v.word FROM events e LEFT JOIN VALUES (1, 'one'), (2, 'two'), (2, 'deux') AS v(n, word) ON e.k = v.n

-- name: right_on_key
SELECT o.id, c.id AS cid, c.name FROM orders o RIGHT JOIN customers c ON o.customer = c.id

-- name: right_all_columns
SELECT * FROM (SELECT kind, k FROM events) e RIGHT JOIN (SELECT g, h FROM tame) t ON e.k = t.g

-- name: right_residual
SELECT e.kind, t.g, t.h FROM events e RIGHT JOIN tame t ON e.k = t.g AND e.x < t.f64

-- name: full_on_key
SELECT o.id, o.customer, c.id AS cid FROM orders o FULL JOIN customers c ON o.customer = c.id

-- name: full_keyless_sides
SELECT e.kind, e.k, t.g, t.h FROM events e FULL JOIN tame t ON e.k = t.g

-- name: full_residual
SELECT o.id, c.id AS cid FROM orders o FULL JOIN customers c ON o.customer = c.id AND o.amount > c.credit

-- name: full_conditions_on_one_side
SELECT o.id, c.id AS cid FROM orders o FULL JOIN customers c ON o.customer = c.id AND o.status = 'new' AND c.active

-- name: full_null_safe
SELECT e.kind, e.k, c.id FROM events e FULL JOIN customers c ON e.k <=> c.tier

-- name: full_without_equality
SELECT a.id, b.order_id FROM (SELECT id, tier FROM customers WHERE active) a
FULL JOIN (SELECT order_id, qty FROM lines WHERE product = 'ink') b ON a.tier < b.qty

-- name: full_using
SELECT k, kind, h FROM events FULL JOIN (SELECT g AS k, h FROM tame) USING (k)

-- name: full_of_aggregates
SELECT a.k, a.n, b.n AS m FROM (SELECT k, count(*) AS n FROM events GROUP BY k) a
FULL JOIN (SELECT tier, count(*) AS n FROM customers GROUP BY tier) b ON a.k = b.tier

-- name: outer_division_in_condition
SELECT l.order_id, l.line, e.kind FROM lines l LEFT JOIN events e ON l.qty = e.k AND (e.k = 0 OR 10 / e.k > 1)

-- name: outer_carries_nested
SELECT e.kind, t.arr, t.st, t.mp FROM events e LEFT JOIN typed t ON t.i32 = e.k
