-- GROUPING SETS, ROLLUP, CUBE, grouping() and grouping_id().

-- name: agg_rollup
SELECT region, tier, count(*) AS n, sum(credit) AS s FROM customers GROUP BY ROLLUP (region, tier)

-- name: agg_cube
SELECT region, active, tier, count(*) AS n FROM customers GROUP BY CUBE (region, active, tier)

-- name: agg_grouping_sets
SELECT status, customer, count(*) AS n, max(amount) AS m FROM orders GROUP BY GROUPING SETS ((status, customer), (status), ())

-- name: agg_grouping_functions
SELECT region, tier, grouping(region) AS gr, grouping(tier) AS gt, grouping_id() AS id, grouping_id(region, tier) AS id2, count(*) AS n
FROM customers GROUP BY CUBE (region, tier)

-- name: agg_rollup_having
SELECT region, tier, count(*) AS n FROM customers GROUP BY ROLLUP (region, tier) HAVING count(*) > 2 AND grouping(tier) = 0

-- name: agg_rollup_of_expressions
SELECT upper(kind) AS u, k % 2 AS parity, count(*) AS n, sum(k) AS s FROM events GROUP BY ROLLUP (upper(kind), k % 2)

-- name: agg_rollup_distinct
SELECT region, tier, count(DISTINCT active) AS a, sum(DISTINCT credit) AS b, count(*) AS n FROM customers GROUP BY ROLLUP (region, tier)

-- name: agg_rollup_over_join
SELECT c.region, o.status, sum(o.amount) AS s, count(DISTINCT c.id) AS n
FROM customers c JOIN orders o ON o.customer = c.id GROUP BY ROLLUP (c.region, o.status)

-- name: agg_grouping_sets_with_plain_key
SELECT status, customer, placed, count(*) AS n FROM orders GROUP BY status, GROUPING SETS ((customer), (placed))

-- name: agg_two_rollups
SELECT region, tier, active, count(*) AS n FROM customers GROUP BY ROLLUP (region), ROLLUP (tier, active)

-- name: agg_cube_median
SELECT product, qty, median(price) AS m, max(line) AS l FROM lines GROUP BY CUBE (product, qty)

-- name: agg_pivot
SELECT * FROM (SELECT region, tier, credit FROM customers) PIVOT (sum(credit) FOR tier IN (0, 1, 2))

-- name: agg_pivot_several
SELECT * FROM (SELECT customer, status, amount, id FROM orders)
PIVOT (sum(amount) AS s, count(id) AS n FOR status IN ('new' AS fresh, 'paid', 'sent'))

-- name: agg_pivot_by_two
SELECT * FROM (SELECT kind, k, ok, label FROM events) PIVOT (count(label) FOR (k, ok) IN ((1, true) AS a, (2, false) AS b))

-- name: agg_pivot_dates
SELECT * FROM (SELECT status, placed, amount FROM orders) PIVOT (max(amount) AS m FOR placed IN (DATE'2024-01-01' AS a, DATE'2024-02-29' AS b))
