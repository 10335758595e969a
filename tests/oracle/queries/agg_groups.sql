-- Aggregates that look at all values of a group: lists, texts, percentiles, modes.

-- name: agg_listagg
SELECT region, listagg(name, ',') WITHIN GROUP (ORDER BY id) AS a, string_agg(name, '; ') WITHIN GROUP (ORDER BY id DESC) AS b
FROM customers GROUP BY region

-- name: agg_listagg_by_value
SELECT status, listagg(note) WITHIN GROUP (ORDER BY note) AS a, listagg(note, '|') WITHIN GROUP (ORDER BY note DESC) AS b
FROM orders GROUP BY status

-- name: agg_listagg_distinct
SELECT customer, listagg(DISTINCT status, ',') WITHIN GROUP (ORDER BY status) AS a FROM orders GROUP BY customer

-- name: agg_listagg_numbers
SELECT product, listagg(DISTINCT qty, ',') WITHIN GROUP (ORDER BY qty DESC) AS a FROM lines GROUP BY product

-- name: agg_listagg_with_nulls_in_order
SELECT region, listagg(name, ',') WITHIN GROUP (ORDER BY tier DESC NULLS FIRST, since NULLS LAST, id) AS a FROM customers GROUP BY region

-- name: agg_listagg_globally
SELECT listagg(name, '/') WITHIN GROUP (ORDER BY id) AS a FROM customers WHERE tier > 0

-- name: agg_listagg_filter
SELECT region, listagg(name, ',') WITHIN GROUP (ORDER BY id) FILTER (WHERE active) AS a FROM customers GROUP BY region

-- name: agg_collect_sizes
SELECT status, size(collect_list(customer)) AS a, size(collect_set(customer)) AS b, size(collect_list(DISTINCT note)) AS c, size(array_agg(id)) AS d
FROM orders GROUP BY status

-- name: agg_collect_one
SELECT id, collect_list(name) AS a, collect_set(region) AS b, array_agg(struct(tier, credit)) AS c FROM customers GROUP BY id

-- name: agg_collect_contains
SELECT region, array_contains(collect_set(tier), 1) AS a, array_contains(collect_list(active), true) AS b FROM customers GROUP BY region

-- name: agg_collect_globally
SELECT size(collect_list(i8)) AS a, size(collect_set(d9)) AS b FROM typed

-- name: agg_collect_respect_nulls
SELECT id, collect_list(note) RESPECT NULLS AS a FROM orders GROUP BY id

-- name: agg_percentile
SELECT product, percentile(qty, 0.25) AS a, percentile(price, 0.5) AS b, percentile(qty, array(0.1, 0.5, 0.95)) AS c FROM lines GROUP BY product

-- name: agg_percentile_frequency
SELECT product, percentile(price, 0.5, abs(qty)) AS a FROM lines GROUP BY product

-- name: agg_median
SELECT status, median(amount) AS a, median(customer) AS b, median(DISTINCT customer) AS c FROM orders GROUP BY status

-- name: agg_median_globally
SELECT median(qty) AS a, median(price) AS b FROM lines

-- name: agg_median_of_intervals
SELECT g, median(span) AS a, percentile(months, 0.3) AS b, percentile(span, array(0.3, 0.7)) AS c FROM tame GROUP BY g

-- name: agg_median_of_nan
SELECT g, median(f64) AS a, percentile(f32, 0.9) AS b FROM tame GROUP BY g

-- name: agg_percentile_cont
SELECT product, percentile_cont(0.4) WITHIN GROUP (ORDER BY price) AS a, percentile_cont(0.4) WITHIN GROUP (ORDER BY price DESC) AS b,
  percentile_cont(array(0.2, 0.8)) WITHIN GROUP (ORDER BY qty DESC) AS c
FROM lines GROUP BY product

-- name: agg_percentile_disc
SELECT product, percentile_disc(0.4) WITHIN GROUP (ORDER BY price) AS a, percentile_disc(0.4) WITHIN GROUP (ORDER BY qty DESC) AS b,
  percentile_disc(array(0.0, 0.5, 1.0)) WITHIN GROUP (ORDER BY qty) AS c
FROM lines GROUP BY product

-- name: agg_percentile_filter
SELECT status, percentile(amount, 0.75) FILTER (WHERE customer > 0) AS a, count(*) AS n FROM orders GROUP BY status

-- name: agg_approx_percentile
SELECT product, approx_percentile(qty, 0.5) AS a, percentile_approx(price, array(0.0, 0.3, 0.9, 1.0)) AS b FROM lines GROUP BY product

-- name: agg_approx_percentile_of_dates
SELECT status, approx_percentile(placed, 0.5) AS a, approx_percentile(amount, 0.2) AS b FROM orders GROUP BY status

-- name: agg_mode
SELECT region, mode(tier, true) AS a, mode() WITHIN GROUP (ORDER BY tier) AS b, mode() WITHIN GROUP (ORDER BY since DESC) AS c FROM customers GROUP BY region

-- name: agg_mode_globally
SELECT mode(status, true) AS a, mode() WITHIN GROUP (ORDER BY customer DESC) AS b FROM orders

-- name: agg_everything_at_once
SELECT region, count(*) AS a, sum(credit) AS b, count(DISTINCT tier) AS c, max(name) AS d, stddev(tier) AS e, median(tier) AS f,
  listagg(name, ',') WITHIN GROUP (ORDER BY id) AS g, max_by(name, id) AS h, bool_and(active) AS i
FROM customers GROUP BY region
