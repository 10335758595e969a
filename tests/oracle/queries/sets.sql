-- DISTINCT, UNION ALL, UNION.

-- name: distinct_column
SELECT DISTINCT region FROM customers

-- name: distinct_rows
SELECT DISTINCT kind, k, ok FROM events

-- name: distinct_wild_types
SELECT DISTINCT b, i8, f64, d9, s, d FROM typed

-- name: distinct_nested
SELECT DISTINCT st, arr FROM typed

-- name: distinct_of_join
SELECT DISTINCT c.region, o.status FROM customers c JOIN orders o ON o.customer = c.id

-- name: distinct_expression
SELECT DISTINCT k % 3 AS m, x > 0 AS p FROM events

-- name: union_all_same_table
SELECT id, status FROM orders WHERE status = 'new' UNION ALL SELECT id, status FROM orders WHERE amount > 1

-- name: union_all_different_tables
SELECT id, name FROM customers UNION ALL SELECT k, label FROM events UNION ALL SELECT customer, note FROM orders

-- name: union_all_types_widened
SELECT i8 AS v FROM typed UNION ALL SELECT i64 FROM tame UNION ALL SELECT d9 FROM tame

-- name: union_distinct
SELECT kind AS w FROM events UNION SELECT product FROM lines UNION SELECT region FROM customers

-- name: aggregate_over_union
SELECT w, count(*) AS n FROM (SELECT k AS w FROM events UNION ALL SELECT tier FROM customers) GROUP BY w

-- name: union_of_aggregates
SELECT 'orders' AS what, count(*) AS n FROM orders UNION ALL SELECT 'events', count(*) FROM events

-- name: join_of_distincts
SELECT a.k, b.customer FROM (SELECT DISTINCT k FROM events) a JOIN (SELECT DISTINCT customer FROM orders) b ON a.k = b.customer
