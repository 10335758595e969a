-- Inner joins: conditions of all kinds, several tables, tables with themselves.

-- name: join_on_key
SELECT o.id, c.name, o.amount FROM orders o JOIN customers c ON o.customer = c.id

-- name: join_using
SELECT kind, k, g, h FROM events JOIN (SELECT g AS k, g, h FROM tame) USING (k)

-- name: join_keyless_multiplies
SELECT e.kind, t.i32 FROM events e JOIN tame t ON e.k = t.g

-- name: join_with_residual
SELECT o.id, l.line FROM orders o JOIN lines l ON o.id = l.order_id AND l.qty > o.customer

-- name: join_residual_both_sides
SELECT o.id, c.id AS cid FROM orders o JOIN customers c ON o.customer = c.id AND o.placed >= c.since AND o.amount <> c.credit

-- name: join_two_keys
SELECT a.order_id, a.line, e.kind FROM lines a JOIN events e ON a.line = e.k AND a.qty = e.k

-- name: join_null_safe
SELECT e.kind, c.tier FROM events e JOIN customers c ON e.k <=> c.tier

-- name: join_mixed_safe_and_plain
SELECT a.h, b.h AS h2 FROM tame a JOIN tame b ON a.g = b.g AND a.i8 <=> b.i16

-- name: join_on_expression
SELECT o.id, c.id AS cid FROM orders o JOIN customers c ON o.customer + 1 = c.id * 1

-- name: join_of_different_types
SELECT e.kind, o.id FROM events e JOIN orders o ON e.k = o.customer

-- name: join_on_string
SELECT t.s, e.label, e.k FROM typed t JOIN events e ON t.s = e.label

-- name: join_on_date
SELECT o.id, c.id AS cid FROM orders o JOIN customers c ON o.placed = c.since

-- name: join_on_decimal
SELECT a.g, b.g AS g2 FROM tame a JOIN tame b ON a.d9 = b.d9

-- name: join_on_double
SELECT e.k, t.g FROM events e JOIN tame t ON e.x = t.f64

-- name: join_self
SELECT a.id, b.id AS other FROM customers a JOIN customers b ON a.region = b.region AND a.id < b.id

-- name: join_three
SELECT c.name, o.status, l.product, l.qty
FROM customers c JOIN orders o ON o.customer = c.id JOIN lines l ON l.order_id = o.id

-- name: join_four
SELECT c.region, o.id, l.line, e.kind
FROM customers c, orders o, lines l, events e
WHERE o.customer = c.id AND l.order_id = o.id AND e.k = l.line

-- name: join_three_on_one_key
SELECT e.kind, t.h, c.name FROM events e JOIN tame t ON e.k = t.g JOIN customers c ON c.tier = t.g

-- name: join_then_filter
SELECT o.id, c.region FROM orders o JOIN customers c ON o.customer = c.id WHERE c.active AND o.status <> 'back'

-- name: join_filtered_inputs
SELECT a.id, b.line FROM (SELECT * FROM orders WHERE status = 'paid') a
JOIN (SELECT * FROM lines WHERE qty > 0) b ON a.id = b.order_id

-- name: join_cross
SELECT c.region, p.product
FROM (SELECT DISTINCT region FROM customers) c CROSS JOIN (SELECT DISTINCT product FROM lines) p

-- name: join_on_inequality_only
SELECT a.id, b.id AS other FROM (SELECT id, tier FROM customers WHERE active) a
JOIN (SELECT id, tier FROM customers WHERE NOT active) b ON a.tier < b.tier

-- name: join_carries_nested
SELECT t.arr, t.st, t.mp, e.kind FROM typed t JOIN events e ON t.i32 = e.k
