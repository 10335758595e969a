-- IN, NOT IN, EXISTS, NOT EXISTS: as conditions and as values, with NULLs on either side.

-- name: in_subquery
SELECT id FROM orders WHERE customer IN (SELECT id FROM customers WHERE active)

-- name: in_subquery_nullable
SELECT kind, k FROM events WHERE k IN (SELECT tier FROM customers)

-- name: in_two_columns
SELECT id FROM orders WHERE (id, customer) IN (SELECT order_id, line FROM lines)

-- name: in_subquery_of_aggregate
SELECT id FROM orders WHERE customer IN (SELECT k FROM events GROUP BY k HAVING count(*) > 1)

-- name: not_in_nullable
SELECT kind, k FROM events WHERE k NOT IN (SELECT tier FROM customers)

-- name: not_in_few
SELECT kind, k FROM events WHERE k NOT IN (SELECT tier FROM customers WHERE id < 3)

-- name: not_in_without_nulls
SELECT kind, k FROM events WHERE k NOT IN (SELECT tier FROM customers WHERE tier IS NOT NULL)

-- name: not_in_key
SELECT id FROM customers WHERE id NOT IN (SELECT customer FROM orders WHERE customer IS NOT NULL)

-- name: not_in_key_nullable
SELECT id FROM customers WHERE id NOT IN (SELECT customer FROM orders)

-- name: not_in_two_columns
SELECT kind, k FROM events WHERE (k, kind) NOT IN (SELECT tier, region FROM customers WHERE active)

-- name: not_in_correlated
SELECT e.kind, e.k FROM events e WHERE e.k NOT IN (SELECT t.i32 FROM tame t WHERE t.g = e.k)

-- name: not_in_correlated_inequality
SELECT c.id FROM customers c WHERE c.tier NOT IN (SELECT o.customer FROM orders o WHERE o.placed > c.since)

-- name: exists_correlated
SELECT c.id FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id)

-- name: exists_correlated_inequality
SELECT c.id FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id AND o.amount > c.credit)

-- name: not_exists_correlated
SELECT c.id FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id AND o.status = 'paid')

-- name: exists_uncorrelated
SELECT k FROM events WHERE EXISTS (SELECT 1 FROM customers WHERE tier > 90)

-- name: not_exists_uncorrelated
SELECT k FROM events WHERE NOT EXISTS (SELECT 1 FROM customers WHERE tier > 90)

-- name: exists_nested
SELECT c.id FROM customers c WHERE EXISTS
  (SELECT 1 FROM orders o WHERE o.customer = c.id AND EXISTS (SELECT 1 FROM lines l WHERE l.order_id = o.id))

-- name: exists_as_value
SELECT c.id, EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id) AS bought FROM customers c

-- name: exists_uncorrelated_as_value
SELECT k, EXISTS (SELECT 1 FROM customers WHERE active) AS any_active FROM events

-- name: in_as_value
SELECT kind, k, k IN (SELECT tier FROM customers) AS known FROM events

-- name: not_in_as_value
SELECT kind, k, k NOT IN (SELECT tier FROM customers WHERE id < 4) AS strange FROM events

-- name: in_or_condition
SELECT kind, k FROM events WHERE k IN (SELECT tier FROM customers) OR ok

-- name: not_in_or_condition
SELECT kind, k FROM events WHERE k NOT IN (SELECT qty FROM lines) OR ok

-- name: in_case
SELECT id, CASE WHEN id IN (SELECT customer FROM orders) THEN 1 WHEN id NOT IN (SELECT order_id FROM lines) THEN 2 ELSE 3 END AS c FROM customers

-- name: exists_or_exists
SELECT c.id FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id AND o.amount > c.credit)
OR EXISTS (SELECT 1 FROM events e WHERE e.k = c.tier)

-- name: exists_grouped_by
SELECT CASE WHEN EXISTS (SELECT 1 FROM lines l WHERE l.order_id = o.id) THEN 'with' ELSE 'without' END AS f, count(*) AS n
FROM orders o GROUP BY 1

-- name: in_in_join_condition
SELECT o.id, c.id AS cid FROM orders o LEFT JOIN customers c ON o.customer = c.id AND o.id IN (SELECT order_id FROM lines)

-- name: in_and_not_in
SELECT kind, k FROM events WHERE k IN (SELECT g FROM tame) AND k NOT IN (SELECT tier FROM customers WHERE tier IS NOT NULL)
