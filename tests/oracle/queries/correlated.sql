-- Correlated scalar subqueries and lateral joins.

-- name: correlated_scalar_of_key
SELECT o.id, (SELECT c.name FROM customers c WHERE c.id = o.customer) AS name FROM orders o

-- name: correlated_scalar_in_filter
SELECT o.id FROM orders o WHERE 'north' = (SELECT c.region FROM customers c WHERE c.id = o.customer)

-- name: correlated_scalar_with_residual
SELECT o.id, (SELECT c.name FROM customers c WHERE c.id = o.customer AND c.tier < o.amount) AS name FROM orders o

-- name: correlated_count
SELECT c.id, (SELECT count(*) FROM orders o WHERE o.customer = c.id) AS n FROM customers c

-- name: correlated_sum
SELECT c.id, (SELECT sum(amount) FROM orders o WHERE o.customer = c.id AND o.status <> 'back') AS s FROM customers c

-- name: correlated_inequality
SELECT c.id, (SELECT max(o.amount) FROM orders o WHERE o.customer > c.tier) AS m FROM customers c

-- name: correlated_above_own_average
SELECT o.id FROM orders o WHERE o.amount > (SELECT avg(p.amount) FROM orders p WHERE p.customer = o.customer)

-- name: correlated_maximum_of_group
SELECT c.id, c.region, c.tier FROM customers c WHERE c.tier = (SELECT max(d.tier) FROM customers d WHERE d.region = c.region)

-- name: correlated_null_safe
SELECT e.kind, e.k FROM events e WHERE e.x = (SELECT max(f.x) FROM events f WHERE f.k <=> e.k)

-- name: correlated_in_having
SELECT c.region, count(*) AS n FROM customers c GROUP BY c.region
HAVING count(*) > (SELECT count(*) FROM events e WHERE e.kind = c.region)

-- name: correlated_count_in_filter
SELECT c.id FROM customers c WHERE (SELECT count(*) FROM orders o WHERE o.customer = c.id) = 0

-- name: correlated_two_levels
SELECT o.id, (SELECT sum(l.qty) FROM lines l WHERE l.order_id = o.id AND l.qty > (SELECT avg(qty) FROM lines)) AS s FROM orders o

-- name: correlated_or_in
SELECT c.id FROM customers c WHERE c.tier = (SELECT max(d.tier) FROM customers d WHERE d.region = c.region)
OR c.id IN (SELECT customer FROM orders)

-- name: lateral_rows
SELECT c.id, x.amount FROM customers c, LATERAL (SELECT o.amount FROM orders o WHERE o.customer = c.id) x

-- name: lateral_left
SELECT c.id, x.amount FROM customers c LEFT JOIN LATERAL (SELECT o.amount FROM orders o WHERE o.customer = c.id AND o.status = 'new') x

-- name: lateral_aggregate
SELECT c.id, x.n, x.total FROM customers c, LATERAL (SELECT count(*) AS n, sum(o.amount) AS total FROM orders o WHERE o.customer = c.id) x

-- name: lateral_inequality
SELECT c.id, x.s FROM customers c JOIN LATERAL
  (SELECT sum(o.amount) AS s FROM orders o WHERE o.customer = c.id AND o.placed > c.since) x ON x.s > 0

-- name: lateral_expression
SELECT e.kind, e.k, x.double, y.quadruple FROM events e, LATERAL (SELECT e.k * 2 AS double) x, LATERAL (SELECT x.double * 2 AS quadruple) y
