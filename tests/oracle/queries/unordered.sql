-- Queries that leave their answer open. Spark is asked for the answer that docs/row-order.md states.

-- name: open_first_last
SELECT kind, first(k) AS a, last(k) AS b, any_value(k) AS c, first(k, true) AS d, last(k, true) AS e FROM events GROUP BY kind
-- spark
SELECT kind, min_by(k, struct(k)) AS a, max_by(k, struct(k)) AS b, min_by(k, struct(k)) AS c, min(k) AS d, max(k) AS e FROM events GROUP BY kind

-- name: open_first_of_one_row
SELECT status, first(amount) AS a, first(note) AS b, last(placed) AS c, count(*) AS n FROM orders GROUP BY status
-- spark
SELECT status, min(struct(amount, note, placed)).amount AS a, min(struct(amount, note, placed)).note AS b,
  max(struct(amount, note, placed)).placed AS c, count(*) AS n FROM orders GROUP BY status

-- name: open_first_ignoring_nulls
SELECT status, first(note, true) AS a, last(amount, true) AS b FROM orders GROUP BY status
-- spark
SELECT status, min_by(note, struct(note, amount)) FILTER (WHERE note IS NOT NULL) AS a,
  max_by(amount, struct(note, amount)) FILTER (WHERE amount IS NOT NULL) AS b FROM orders GROUP BY status

-- name: open_first_filter
SELECT region, first(tier) FILTER (WHERE active) AS a, any_value(name) FILTER (WHERE credit > 0) AS b FROM customers GROUP BY region
-- spark
SELECT region, min_by(tier, struct(tier, name)) FILTER (WHERE active) AS a,
  min_by(name, struct(tier, name)) FILTER (WHERE credit > 0) AS b FROM customers GROUP BY region

-- name: open_first_globally
SELECT first(k) AS a, last(x) AS b, first(st.y) AS c FROM events CROSS JOIN typed
-- spark
SELECT min(r).k AS a, max(r).x AS b, min(r).y AS c FROM (SELECT struct(k, x, st.y AS y) AS r FROM events CROSS JOIN typed)

-- name: open_first_of_floats
SELECT g, first(f64) AS a, last(f64) AS b, first(array(f32)) AS c, last(struct(f64, i32)) AS d FROM tame GROUP BY g
-- spark
SELECT g, min(r).f64 AS a, max(r).f64 AS b, min(r).arr AS c, max(r).st AS d FROM
  (SELECT g, struct(f64, array(f32) AS arr, struct(f64, i32) AS st) AS r FROM tame) GROUP BY g

-- name: open_first_beside_the_same
SELECT id, any_value(region) AS r, first(o) AS o FROM (SELECT c.id, c.region, o.id AS o FROM customers c JOIN orders o ON o.customer = c.tier) GROUP BY id
-- spark
SELECT id, max(region) AS r, min_by(o, struct(o)) AS o FROM (SELECT c.id, c.region, o.id AS o FROM customers c JOIN orders o ON o.customer = c.tier) GROUP BY id

-- name: open_collect_list
SELECT kind, collect_list(k) AS a FROM events GROUP BY kind
-- spark
SELECT kind, sort_array(collect_list(k)) AS a FROM events GROUP BY kind

-- name: open_collect_lists_belong_together
SELECT status, collect_list(coalesce(note, '')) AS a, array_agg(coalesce(amount, 0)) AS b, first(id) AS c FROM orders GROUP BY status
-- spark
SELECT status, transform(l, r -> r.n) AS a, transform(l, r -> r.m) AS b, l[0].id AS c FROM
  (SELECT status, sort_array(collect_list(struct(coalesce(note, '') AS n, coalesce(amount, 0) AS m, id))) AS l FROM orders GROUP BY status)

-- name: open_collect_lists_without_nulls
SELECT kind, collect_list(label) AS a, collect_list(k) AS b FROM events GROUP BY kind
-- spark
SELECT kind, filter(transform(l, r -> r.label), v -> v IS NOT NULL) AS a, filter(transform(l, r -> r.k), v -> v IS NOT NULL) AS b FROM
  (SELECT kind, sort_array(collect_list(struct(label, k))) AS l FROM events GROUP BY kind)

-- name: open_collect_set
SELECT kind, collect_set(k) AS a, collect_list(DISTINCT label) AS b FROM events GROUP BY kind
-- spark
SELECT kind, sort_array(collect_set(k)) AS a, sort_array(collect_list(DISTINCT label)) AS b FROM events GROUP BY kind

-- name: open_listagg
SELECT region, listagg(name, ',') AS a, count(*) AS n FROM customers GROUP BY region
-- spark
SELECT region, listagg(name, ',') WITHIN GROUP (ORDER BY name) AS a, count(*) AS n FROM customers GROUP BY region

-- name: open_listagg_beside_list
SELECT region, listagg(name, ',') AS a, collect_list(id) AS b FROM customers GROUP BY region
-- spark
SELECT region, listagg(name, ',') WITHIN GROUP (ORDER BY name, id) AS a, transform(sort_array(collect_list(struct(name, id))), r -> r.id) AS b FROM customers GROUP BY region

-- name: open_mode
SELECT region, mode(tier) AS a, mode(since) AS b FROM customers GROUP BY region
-- spark
SELECT region, mode(tier, true) AS a, mode() WITHIN GROUP (ORDER BY since) AS b FROM customers GROUP BY region

-- name: open_min_by
SELECT status, min_by(note, amount) AS a, max_by(id, placed) AS b, max_by(id, placed, 2) AS c FROM orders GROUP BY status
-- spark
SELECT status, min_by(note, struct(amount, note)) FILTER (WHERE amount IS NOT NULL) AS a,
  max_by(id, struct(placed, id)) FILTER (WHERE placed IS NOT NULL) AS b,
  max_by(id, struct(placed, -CAST(id AS DECIMAL(20))), 2) FILTER (WHERE placed IS NOT NULL) AS c FROM orders GROUP BY status

-- name: open_limit
SELECT kind, k FROM events LIMIT 5
-- spark
SELECT kind, k FROM events ORDER BY kind, k LIMIT 5

-- name: open_limit_offset
SELECT k, kind FROM events LIMIT 4 OFFSET 2
-- spark
SELECT k, kind FROM events ORDER BY k, kind LIMIT 4 OFFSET 2

-- name: open_offset
SELECT name, id FROM customers WHERE active OFFSET 2
-- spark
SELECT name, id FROM customers WHERE active ORDER BY name, id OFFSET 2

-- name: open_limit_over_outer_join
SELECT o.note, c.name FROM orders o LEFT JOIN customers c ON o.customer = c.id LIMIT 4
-- spark
SELECT o.note, c.name FROM orders o LEFT JOIN customers c ON o.customer = c.id ORDER BY 1, 2 LIMIT 4

-- name: open_limit_over_union
SELECT k FROM events UNION ALL SELECT tier FROM customers LIMIT 3
-- spark
SELECT k FROM events UNION ALL SELECT tier FROM customers ORDER BY k LIMIT 3

-- name: open_limit_with_ties
SELECT tier, name FROM customers ORDER BY tier DESC LIMIT 4
-- spark
SELECT tier, name FROM customers ORDER BY tier DESC, name LIMIT 4

-- name: open_limit_correlated
SELECT id, (SELECT note FROM orders o WHERE o.customer = c.id LIMIT 1) AS n FROM customers c
-- spark
SELECT id, (SELECT min_by(note, struct(note)) FROM orders o WHERE o.customer = c.id) AS n FROM customers c

-- name: open_rows_frame
SELECT k, kind, sum(k) OVER (PARTITION BY kind ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM events
-- spark
SELECT k, kind, sum(k) OVER (PARTITION BY kind ORDER BY k ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM events

-- name: open_first_value
SELECT k, kind, first_value(k) OVER (PARTITION BY kind) AS f, last_value(k) OVER (PARTITION BY kind) AS l FROM events
-- spark
SELECT k, kind, min_by(k, struct(k)) OVER (PARTITION BY kind) AS f, max_by(k, struct(k)) OVER (PARTITION BY kind) AS l FROM events

-- name: open_row_number
SELECT tier, id, row_number() OVER (ORDER BY tier) AS r FROM customers
-- spark
SELECT tier, id, row_number() OVER (ORDER BY tier, id) AS r FROM customers

-- name: open_lag
SELECT id, status, lag(id) OVER (ORDER BY status) AS p FROM orders
-- spark
SELECT id, status, lag(id) OVER (ORDER BY status, id) AS p FROM orders
