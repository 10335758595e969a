-- DISTINCT aggregates, alone, several, and mixed with plain ones; with FILTER.

-- name: agg_count_distinct
SELECT status, count(DISTINCT customer) AS n FROM orders GROUP BY status

-- name: agg_count_distinct_globally
SELECT count(DISTINCT customer) AS n FROM orders

-- name: agg_count_distinct_pairs
SELECT region, count(DISTINCT tier, active) AS n FROM customers GROUP BY region

-- name: agg_distinct_mixed
SELECT status, count(DISTINCT customer) AS d, count(*) AS n, sum(amount) AS s, sum(DISTINCT amount) AS sd, avg(DISTINCT amount) AS ad
FROM orders GROUP BY status

-- name: agg_distinct_of_two_columns
SELECT kind, count(DISTINCT k) AS a, count(DISTINCT label) AS b, max(x) AS m, count(*) AS n FROM events GROUP BY kind

-- name: agg_distinct_with_filter
SELECT kind, count(DISTINCT k) FILTER (WHERE ok) AS a, count(DISTINCT label) AS b, sum(k) FILTER (WHERE NOT ok) AS c
FROM events GROUP BY kind

-- name: agg_distinct_of_doubles
SELECT g, count(DISTINCT f64) AS a, count(DISTINCT f32) AS b, sum(DISTINCT f64) AS c FROM tame GROUP BY g

-- name: agg_distinct_globally_mixed
SELECT count(DISTINCT region) AS a, count(DISTINCT tier) AS b, sum(tier) AS c, min(name) AS d FROM customers

-- name: agg_distinct_statistics
SELECT product, stddev(DISTINCT qty) AS a, var_pop(DISTINCT qty) AS b, bit_xor(DISTINCT qty) AS c FROM lines GROUP BY product

-- name: agg_distinct_extremes
SELECT region, max(DISTINCT tier) AS a, min(DISTINCT credit) AS b FROM customers GROUP BY region

-- name: agg_distinct_expression
SELECT status, count(DISTINCT upper(note)) AS a, count(DISTINCT year(placed)) AS b FROM orders GROUP BY status

-- name: agg_distinct_over_join
SELECT c.region, count(DISTINCT o.status) AS a, count(DISTINCT c.id) AS b, count(*) AS n
FROM customers c JOIN orders o ON o.customer = c.id GROUP BY c.region

-- name: agg_distinct_having
SELECT customer, count(DISTINCT status) AS n FROM orders GROUP BY customer HAVING count(DISTINCT status) > 1

-- name: agg_distinct_with_list_and_percentile
SELECT kind, count(DISTINCT k) AS a, count(DISTINCT label) AS b, percentile(k, 0.5) AS c, size(collect_list(k)) AS d
FROM events GROUP BY kind

-- name: agg_select_distinct_over_groups
SELECT DISTINCT n FROM (SELECT customer, count(*) AS n FROM orders GROUP BY customer)
