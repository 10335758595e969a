-- Views on views, and plans that several views share.

-- name: v_orders_named
SELECT o.id, o.customer, c.region, o.amount, o.status FROM orders o JOIN customers c ON o.customer = c.id

-- name: v_region_totals
SELECT region, count(*) AS n, sum(amount) AS total FROM v_orders_named GROUP BY region

-- name: v_big_regions
SELECT region, total FROM v_region_totals WHERE n > 1

-- name: v_totals_joined
SELECT d.id, d.amount, t.total FROM v_orders_named d JOIN v_region_totals t ON d.region = t.region

-- name: v_distinct_on_view
SELECT DISTINCT status, region FROM v_orders_named

-- name: v_union_on_views
SELECT region FROM v_big_regions UNION ALL SELECT region FROM v_distinct_on_view

-- name: v_same_plan_once
SELECT o.id, o.customer, c.region, o.amount, o.status FROM orders o JOIN customers c ON o.customer = c.id

-- name: v_same_plan_again
SELECT region, count(*) AS n, sum(amount) AS total FROM v_same_plan_once GROUP BY region

-- name: v_copy
SELECT * FROM v_region_totals

-- name: v_self_join_of_view
SELECT a.region, b.region AS other, a.n + b.n AS both
FROM v_region_totals a JOIN v_region_totals b ON a.n = b.n AND a.region < b.region

-- name: v_global_over_view
SELECT count(*) AS regions, sum(n) AS orders, max(total) AS best FROM v_region_totals
