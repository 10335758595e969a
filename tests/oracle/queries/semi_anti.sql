-- Semi and anti joins as such, INTERSECT and EXCEPT.

-- name: semi_on_key
SELECT o.id FROM orders o LEFT SEMI JOIN customers c ON o.customer = c.id

-- name: semi_keeps_duplicates
SELECT e.kind, e.k FROM events e LEFT SEMI JOIN tame t ON e.k = t.g

-- name: semi_residual
SELECT l.order_id, l.line FROM lines l LEFT SEMI JOIN orders o ON l.order_id = o.id AND l.qty > o.customer

-- name: semi_residual_duplicates
SELECT e.kind, e.k FROM events e LEFT SEMI JOIN tame t ON e.k = t.g AND e.x < t.f64

-- name: semi_without_equality
SELECT e.kind, e.k FROM events e LEFT SEMI JOIN customers c ON e.k < c.tier

-- name: semi_without_condition
SELECT e.kind, e.k FROM events e LEFT SEMI JOIN customers c

-- name: anti_on_key
SELECT o.id, o.customer FROM orders o LEFT ANTI JOIN customers c ON o.customer = c.id

-- name: anti_keeps_duplicates
SELECT e.kind, e.k FROM events e LEFT ANTI JOIN tame t ON e.k = t.g

-- name: anti_residual
SELECT l.order_id, l.line FROM lines l LEFT ANTI JOIN orders o ON l.order_id = o.id AND l.qty > o.customer

-- name: anti_condition_on_left
SELECT e.kind, e.k, e.ok FROM events e LEFT ANTI JOIN customers c ON e.k = c.tier AND e.ok

-- name: anti_condition_on_left_only
SELECT e.kind, e.k, e.ok FROM events e LEFT ANTI JOIN customers c ON e.ok

-- name: anti_without_condition
SELECT e.kind, e.k FROM events e LEFT ANTI JOIN (SELECT id FROM customers WHERE tier > 50) c

-- name: anti_null_safe
SELECT e.kind, e.k FROM events e LEFT ANTI JOIN customers c ON e.k <=> c.tier

-- name: semi_then_anti
SELECT c.id FROM customers c LEFT SEMI JOIN orders o ON o.customer = c.id LEFT ANTI JOIN events e ON e.k = c.tier

-- name: semi_then_aggregate
SELECT o.status, count(*) AS n FROM orders o LEFT SEMI JOIN lines l ON l.order_id = o.id GROUP BY o.status

-- name: intersect_distinct
SELECT k FROM events INTERSECT SELECT tier FROM customers

-- name: intersect_rows
SELECT k, x FROM events INTERSECT SELECT g, f64 FROM tame

-- name: except_distinct
SELECT k FROM events EXCEPT SELECT tier FROM customers

-- name: except_rows
SELECT kind, k FROM events EXCEPT SELECT region, tier FROM customers

-- name: set_operations_nested
(SELECT k FROM events UNION SELECT g FROM tame) EXCEPT (SELECT tier FROM customers INTERSECT SELECT qty FROM lines)
