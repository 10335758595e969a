-- Joins without an equality: ranges, bands, disequality, disjunctions, cross joins.

-- name: theta_range
SELECT e.k, c.tier FROM events e JOIN customers c ON e.k BETWEEN c.tier - 1 AND c.tier + 1

-- name: theta_band_of_dates
SELECT o.id, c.id AS cid FROM orders o JOIN customers c ON o.placed >= c.since AND o.placed < date_add(c.since, 30)

-- name: theta_not_equal
SELECT a.id, b.id AS other FROM customers a JOIN customers b ON a.region <> b.region WHERE a.active AND NOT b.active

-- name: theta_disjunction
SELECT o.id, c.id AS cid FROM orders o JOIN customers c ON o.customer = c.id OR o.customer = c.tier

-- name: theta_function_of_both
SELECT e.k, l.qty FROM events e JOIN lines l ON (e.k + l.qty) % 7 = 0 AND l.product = 'pen'

-- name: cross_with_condition_on_one
SELECT e.kind, r.region FROM events e CROSS JOIN (SELECT DISTINCT region FROM customers) r WHERE e.ok

-- name: cross_with_totals
SELECT o.id, o.amount, t.total, t.n FROM orders o CROSS JOIN (SELECT sum(amount) AS total, count(*) AS n FROM orders) t

-- name: cross_from_totals
SELECT t.n, e.kind FROM (SELECT count(*) AS n FROM orders) t CROSS JOIN events e

-- name: cross_with_values
SELECT e.k, v.f, e.k * v.f AS p FROM events e CROSS JOIN VALUES (1), (10) AS v(f)

-- name: cross_of_totals
SELECT a.n, b.m FROM (SELECT count(*) AS n FROM orders) a CROSS JOIN (SELECT max(k) AS m FROM events) b

-- name: theta_above_total
SELECT o.id FROM orders o JOIN (SELECT avg(amount) AS a FROM orders) t ON o.amount > t.a

-- name: five_tables
SELECT c.region, o.status, l.product, e.kind, t.h
FROM customers c JOIN orders o ON o.customer = c.id JOIN lines l ON l.order_id = o.id
JOIN events e ON e.k = l.line LEFT JOIN tame t ON t.g = e.k AND t.i32 > l.qty

-- name: seven_tables
SELECT c.id, count(*) AS n, count(l2.line) AS n2
FROM customers c JOIN orders o ON o.customer = c.id
LEFT JOIN lines l ON l.order_id = o.id LEFT JOIN lines l2 ON l2.order_id = l.order_id AND l2.line > l.line
LEFT JOIN events e ON e.k = c.tier LEFT JOIN customers d ON d.tier = c.tier AND d.id <> c.id
LEFT SEMI JOIN tame t ON t.g = c.tier
GROUP BY c.id
