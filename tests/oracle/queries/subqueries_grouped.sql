-- Subqueries beside and inside GROUP BY: IN and EXISTS in the SELECT list, scalar subqueries as grouping columns.

-- name: grouped_in
SELECT k, k IN (SELECT tier FROM customers) AS known, count(*) AS n FROM events GROUP BY k

-- name: grouped_in_alone
SELECT k IN (SELECT tier FROM customers) AS known, count(*) AS n FROM events GROUP BY k

-- name: grouped_not_in
SELECT k, k NOT IN (SELECT tier FROM customers) AS strange, count(*) AS n FROM events GROUP BY k

-- name: grouped_exists
SELECT customer, EXISTS (SELECT 1 FROM customers c WHERE c.id = o.customer AND c.active) AS active, sum(amount) AS total
FROM orders o GROUP BY customer

-- name: grouped_not_exists_by_inequality
SELECT k, NOT EXISTS (SELECT 1 FROM customers c WHERE c.tier > e.k) AS top, count(*) AS n FROM events e GROUP BY k

-- name: grouped_in_of_computed_key
SELECT (k + 1) IN (SELECT tier FROM customers) AS known, count(*) AS n FROM events GROUP BY k + 1

-- name: grouped_in_of_two_columns
SELECT kind, k, (kind, k) IN (SELECT 'open', tier FROM customers) AS a, k IN (SELECT qty FROM lines) AS b, count(*) AS n
FROM events GROUP BY kind, k

-- name: grouped_in_or_aggregate
SELECT k, k IN (SELECT tier FROM customers) OR count(*) > 2 AS a FROM events GROUP BY k

-- name: grouped_in_with_rollup
SELECT kind, k, k IN (SELECT tier FROM customers) AS known, count(*) AS n FROM events GROUP BY k, kind WITH ROLLUP

-- name: grouped_in_beside_distinct
SELECT k, k IN (SELECT tier FROM customers) AS known, count(DISTINCT kind) AS a, count(DISTINCT label) AS b, count(*) AS n
FROM events GROUP BY k

-- name: grouped_in_with_having
SELECT k, k IN (SELECT tier FROM customers) AS known FROM events GROUP BY k HAVING count(*) > 1 AND k NOT IN (SELECT qty FROM lines WHERE qty > 2)

-- name: grouped_by_scalar
SELECT k, count(*) AS n FROM events GROUP BY k, (SELECT max(tier) FROM customers)

-- name: grouped_by_scalar_shown
SELECT k, (SELECT max(tier) FROM customers) AS m, count(*) AS n FROM events GROUP BY k, (SELECT max(tier) FROM customers)

-- name: grouped_by_scalar_alias
SELECT k, (SELECT max(tier) FROM customers) AS m, count(*) AS n FROM events GROUP BY k, m

-- name: grouped_by_scalar_alone
SELECT count(*) AS n FROM events WHERE k > 2 GROUP BY (SELECT max(tier) FROM customers)

-- name: grouped_by_scalar_distinct
SELECT (SELECT max(tier) FROM customers WHERE active) AS m FROM events WHERE k > 1 GROUP BY 1

-- name: grouped_by_scalar_with_arithmetic
SELECT k, (SELECT max(tier) FROM customers) + count(*) + k AS n FROM events GROUP BY k, (SELECT max(tier) FROM customers)

-- name: grouped_by_scalar_beside_distinct
SELECT k, (SELECT max(tier) FROM customers) AS m, count(DISTINCT kind) AS a, count(DISTINCT label) AS b
FROM events GROUP BY k, (SELECT max(tier) FROM customers)
