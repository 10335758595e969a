-- Aggregates that read the first values in order: min, max, min_by, max_by; nested types; any_value.

-- name: agg_min_by_max_by
SELECT status, min_by(note, id) AS a, max_by(note, id) AS b, max_by(amount, id) AS c FROM orders GROUP BY status

-- name: agg_max_by_globally
SELECT max_by(name, id) AS a, min_by(region, id) AS b FROM customers

-- name: agg_max_by_with_filter
SELECT region, max_by(name, id) FILTER (WHERE active) AS a FROM customers GROUP BY region

-- name: agg_max_by_struct
SELECT product, max_by(price, struct(order_id, line)) AS a, min_by(qty, struct(order_id, line)) AS b FROM lines GROUP BY product

-- name: agg_max_by_several
SELECT region, max_by(name, id, 3) AS a, min_by(tier, id, 2) AS b FROM customers GROUP BY region

-- name: agg_min_max_structs
SELECT b, min(st) AS x, max(st) AS y FROM typed GROUP BY b

-- name: agg_min_max_arrays
SELECT b, min(arr) AS x, max(arr) AS y FROM typed GROUP BY b

-- name: agg_min_max_made_structs
SELECT status, max(struct(amount, id)) AS x, min(struct(placed, id, note)) AS y FROM orders GROUP BY status

-- name: agg_min_max_one_column
SELECT customer, min(amount) AS lo, max(amount) AS hi, max(amount) - min(amount) AS range FROM orders GROUP BY customer

-- name: agg_any_value_of_key
SELECT region, any_value(region) AS a, first(upper(region)) AS b, last(region) AS c, count(*) AS n FROM customers GROUP BY region

-- name: agg_any_value_by_primary_key
SELECT id, any_value(name) AS a, first(credit) AS b, last_value(since) AS c FROM customers GROUP BY id

-- name: agg_any_value_over_join
SELECT c.id, any_value(c.name) AS name, first(c.region) AS region, count(*) AS n, sum(o.amount) AS s
FROM customers c JOIN orders o ON o.customer = c.id GROUP BY c.id

-- name: agg_any_value_of_joined_key
SELECT o.id, any_value(c.name) AS name, first_value(o.note) AS note, count(*) AS n
FROM orders o JOIN customers c ON o.customer = c.id JOIN lines l ON l.order_id = o.id GROUP BY o.id

-- name: agg_extremes_of_groups
SELECT region, max(n) AS most, min(n) AS least FROM (
  SELECT c.region, c.id, count(*) AS n FROM customers c JOIN orders o ON o.customer = c.id GROUP BY c.region, c.id
) GROUP BY region

-- name: agg_min_of_expression
SELECT kind, min(k * 2 - 1) AS a, max(length(label)) AS b, min(upper(label)) AS c FROM events GROUP BY kind

-- name: agg_nested_doubles
SELECT g, max(struct(f64, i32)) AS a, min(array(f32, f32)) AS b, size(collect_set(struct(f64))) AS c FROM tame GROUP BY g
