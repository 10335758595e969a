-- GROUP BY, global aggregates, HAVING; every numeric type.

-- name: count_star
SELECT region, count(*) AS n FROM customers GROUP BY region

-- name: count_column
SELECT region, count(credit) AS n, count(active) AS a, count(*) AS all_rows FROM customers GROUP BY region

-- name: sum_integers
SELECT g, sum(i8) AS a, sum(i16) AS b, sum(i32) AS c, sum(i64) AS d FROM tame GROUP BY g

-- name: sum_decimals
SELECT g, sum(d9) AS a, sum(d18) AS b, sum(d28) AS c FROM tame GROUP BY g

-- name: sum_doubles_with_nan_and_infinity
SELECT g, sum(f64) AS a, sum(f32) AS b FROM tame GROUP BY g

-- name: sum_finite_doubles
SELECT product, sum(price) AS total, sum(price * qty) AS weighted FROM lines GROUP BY product

-- name: sum_intervals
SELECT g, sum(span) AS a, sum(months) AS b FROM tame GROUP BY g

-- name: avg_integers
SELECT g, avg(i8) AS a, avg(i32) AS b, avg(i64) AS c FROM tame GROUP BY g

-- name: avg_decimals
SELECT g, avg(d9) AS a, avg(d18) AS b, avg(d28) AS c FROM tame GROUP BY g

-- name: avg_doubles
SELECT g, avg(f64) AS a, avg(f32) AS b FROM tame GROUP BY g

-- name: min_max_integers
SELECT b, min(i8) AS a, max(i16) AS c, min(i32) AS d, max(i64) AS e FROM typed GROUP BY b

-- name: min_max_doubles
SELECT b, min(f64) AS a, max(f64) AS c, min(f32) AS d, max(f32) AS e FROM typed GROUP BY b

-- name: min_max_decimals
SELECT b, min(d9) AS a, max(d38) AS c FROM typed GROUP BY b

-- name: min_max_text
SELECT b, min(s) AS a, max(s) AS c, min(bin) AS d, max(bin) AS e FROM typed GROUP BY b

-- name: min_max_times
SELECT b, min(d) AS a, max(ts) AS c, min(tn) AS e, max(span) AS f, min(months) AS g FROM typed GROUP BY b

-- name: min_max_booleans
SELECT kind, min(ok) AS a, max(ok) AS c FROM events GROUP BY kind

-- name: global_count
SELECT count(*) AS n FROM orders

-- name: global_many
SELECT count(*) AS n, sum(amount) AS s, avg(amount) AS a, min(placed) AS mn, max(note) AS mx FROM orders

-- name: global_of_nothing
SELECT count(*) AS n, sum(tier) AS s, max(name) AS m FROM customers WHERE id IS NULL

-- name: group_by_several
SELECT region, active, tier, count(*) AS n, sum(credit) AS s FROM customers GROUP BY region, active, tier

-- name: group_by_expression
SELECT k % 2 AS parity, upper(kind) AS u, count(*) AS n FROM events GROUP BY k % 2, upper(kind)

-- name: group_by_double
SELECT x, count(*) AS n FROM events GROUP BY x

-- name: group_by_wild_types
SELECT i64, d38, ts, count(*) AS n FROM typed GROUP BY i64, d38, ts

-- name: group_by_nested
SELECT st, arr, count(*) AS n FROM typed GROUP BY st, arr

-- name: group_by_case
SELECT CASE WHEN amount > 2 THEN 'big' WHEN amount IS NULL THEN 'none' ELSE 'small' END AS c, count(*) AS n
FROM orders GROUP BY 1

-- name: group_without_aggregate
SELECT region, tier FROM customers GROUP BY region, tier

-- name: aggregate_expression_of_aggregates
SELECT g, sum(i32) + count(*) AS a, max(i64) - min(i64) AS b, sum(d9) / count(*) AS c FROM tame GROUP BY g

-- name: aggregate_of_expression
SELECT customer, sum(CASE WHEN status = 'paid' THEN amount ELSE 0 END) AS paid, sum(if(status = 'new', 1, 0)) AS fresh
FROM orders GROUP BY customer

-- name: aggregate_filter_clause
SELECT kind, count(*) FILTER (WHERE ok) AS good, sum(k) FILTER (WHERE k > 0) AS pos FROM events GROUP BY kind

-- name: having_count
SELECT customer, count(*) AS n FROM orders GROUP BY customer HAVING count(*) > 2

-- name: having_other_aggregate
SELECT region, sum(credit) AS s FROM customers GROUP BY region HAVING max(tier) > 1 AND min(tier) IS NOT NULL

-- name: where_and_having
SELECT status, avg(amount) AS a FROM orders WHERE customer >= 0 GROUP BY status HAVING sum(amount) > 1

-- name: global_having
SELECT sum(qty) AS s FROM lines HAVING count(*) > 20

-- name: aggregate_over_join
SELECT c.region, count(*) AS n, sum(o.amount) AS s
FROM orders o JOIN customers c ON o.customer = c.id GROUP BY c.region

-- name: aggregate_over_three_way_join
SELECT c.region, l.product, sum(l.qty) AS q, max(o.at) AS latest
FROM customers c JOIN orders o ON o.customer = c.id JOIN lines l ON l.order_id = o.id
GROUP BY c.region, l.product

-- name: aggregate_of_aggregate
SELECT n, count(*) AS customers FROM (SELECT customer, count(*) AS n FROM orders GROUP BY customer) GROUP BY n

-- name: aggregate_joined_back
SELECT o.id, t.n FROM orders o
JOIN (SELECT customer, count(*) AS n FROM orders GROUP BY customer) t ON o.customer = t.customer
