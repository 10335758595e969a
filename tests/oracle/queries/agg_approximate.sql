-- Estimates of Spark's sketches, which are the same number to the last digit.

-- name: approx_count_groups
SELECT kind, approx_count_distinct(k) AS a, approx_count_distinct(label) AS b, approx_count_distinct(x) AS c, count(*) AS n FROM events GROUP BY kind

-- name: approx_count_globally
SELECT approx_count_distinct(i8) AS a, approx_count_distinct(i16) AS b, approx_count_distinct(i32) AS c, approx_count_distinct(i64) AS d,
  approx_count_distinct(f32) AS e, approx_count_distinct(f64) AS f, approx_count_distinct(d9) AS g, approx_count_distinct(d38) AS h,
  approx_count_distinct(s) AS i, approx_count_distinct(bin) AS j, approx_count_distinct(d) AS k, approx_count_distinct(ts) AS l,
  approx_count_distinct(tn) AS m, approx_count_distinct(b) AS n, approx_count_distinct(arr) AS o, approx_count_distinct(st) AS p,
  approx_count_distinct(span) AS q, approx_count_distinct(months) AS r FROM typed

-- name: approx_count_precision
SELECT g, approx_count_distinct(h, 0.39) AS a, approx_count_distinct(h, 0.1) AS b, approx_count_distinct(i64, 0.2) AS c, approx_count_distinct(i64, 0.01) AS d
FROM tame GROUP BY g

-- name: approx_count_of_many
SELECT kind, approx_count_distinct(k * 1000 + n.id, 0.39) AS a, approx_count_distinct(k * 1000 + n.id, 0.2) AS b,
  approx_count_distinct(k * 1000 + n.id, 0.1) AS c, approx_count_distinct(k * 1000 + n.id) AS d
FROM events CROSS JOIN range(400) n GROUP BY kind

-- name: approx_count_filter
SELECT status, approx_count_distinct(customer) FILTER (WHERE amount > 0) AS a, approx_count_distinct(DISTINCT customer) AS b FROM orders GROUP BY status

-- name: approx_count_window
SELECT id, approx_count_distinct(customer) OVER (PARTITION BY status ORDER BY id) AS a,
  approx_count_distinct(customer) OVER (ORDER BY id ROWS BETWEEN 2 PRECEDING AND 2 FOLLOWING) AS b FROM orders
