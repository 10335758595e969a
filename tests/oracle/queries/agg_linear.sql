-- Aggregates made of sums: counts, conditions, bits, variance, correlation, regression; FILTER and TRY_.

-- name: agg_count_if
SELECT kind, count_if(ok) AS good, count_if(k > 0) AS positive, count_if(NOT ok) AS bad FROM events GROUP BY kind

-- name: agg_count_of_several
SELECT region, count(name, credit) AS a, count(tier, active, since) AS b FROM customers GROUP BY region

-- name: agg_try_sum_and_avg
SELECT g, try_sum(i64) AS a, try_sum(d18) AS b, try_avg(d9) AS c, try_avg(i32) AS d FROM tame GROUP BY g

-- name: agg_intervals
SELECT g, sum(span) AS a, avg(span) AS b, sum(months) AS c, avg(months) AS d FROM tame GROUP BY g

-- name: agg_try_intervals
SELECT try_sum(span) AS a, try_avg(span) AS b, try_sum(months) AS c, try_avg(months) AS d FROM tame

-- name: agg_conditions
SELECT kind, every(ok) AS a, some(ok) AS b, bool_and(k >= 0) AS c, bool_or(k > 2) AS d, any(ok) AS e FROM events GROUP BY kind

-- name: agg_conditions_globally
SELECT bool_and(active) AS a, bool_or(active) AS b FROM customers

-- name: agg_bits
SELECT g, bit_and(i32) AS a, bit_or(i32) AS b, bit_xor(i32) AS c, bit_and(i8) AS d, bit_or(i64) AS e, bit_xor(i16) AS f
FROM tame GROUP BY g

-- name: agg_bits_of_extremes
SELECT b, bit_and(i64) AS x, bit_or(i64) AS y, bit_xor(i64) AS z, bit_xor(i8) AS w FROM typed GROUP BY b

-- name: agg_variance
SELECT product, var_pop(price) AS a, var_samp(price) AS b, variance(qty) AS c, var_pop(qty) AS d FROM lines GROUP BY product

-- name: agg_stddev
SELECT product, stddev_pop(price) AS a, stddev_samp(price) AS b, stddev(qty) AS c, std(qty) AS d FROM lines GROUP BY product

-- name: agg_variance_of_decimals
SELECT status, var_samp(amount) AS a, stddev_pop(amount) AS b FROM orders GROUP BY status

-- name: agg_variance_globally
SELECT var_pop(qty) AS a, stddev_samp(credit) AS b FROM lines CROSS JOIN (SELECT max(credit) AS credit FROM customers)

-- name: agg_skewness_kurtosis
SELECT product, skewness(price) AS a, kurtosis(price) AS b, skewness(qty) AS c, kurtosis(qty) AS d FROM lines GROUP BY product

-- name: agg_covariance
SELECT product, covar_pop(price, qty) AS a, covar_samp(price, qty) AS b FROM lines GROUP BY product

-- name: agg_correlation
SELECT product, corr(price, qty) AS a FROM lines GROUP BY product

-- name: agg_regression
SELECT product, regr_avgx(price, qty) AS a, regr_avgy(price, qty) AS b, regr_sxx(price, qty) AS c,
  regr_syy(price, qty) AS d, regr_sxy(price, qty) AS e, regr_r2(price, qty) AS f, regr_count(price, qty) AS g,
  regr_slope(price, qty) AS h, regr_intercept(price, qty) AS i
FROM lines GROUP BY product

-- name: agg_filters
SELECT kind, count(*) FILTER (WHERE ok) AS a, sum(k) FILTER (WHERE k > 1) AS b, max(k) FILTER (WHERE ok) AS c,
  min(label) FILTER (WHERE k IS NOT NULL) AS d, bool_or(ok) FILTER (WHERE k < 2) AS e
FROM events GROUP BY kind

-- name: agg_filter_of_nothing
SELECT status, sum(amount) FILTER (WHERE false) AS a, count(*) FILTER (WHERE amount IS NULL AND amount IS NOT NULL) AS b
FROM orders GROUP BY status

-- name: agg_filtered_statistics
SELECT product, stddev(price) FILTER (WHERE qty > 1) AS a, count(price) FILTER (WHERE qty > 1) AS b FROM lines GROUP BY product

-- name: agg_sum_avg_count_of_one_column
SELECT customer, sum(amount) AS s, avg(amount) AS a, count(amount) AS c, count(*) AS n, sum(amount) / count(amount) AS q
FROM orders GROUP BY customer

-- name: agg_group_by_all
SELECT region, tier, count(*) AS n, sum(credit) AS s FROM customers GROUP BY ALL

-- name: agg_group_by_ordinals
SELECT upper(region) AS r, tier % 2 AS t, max(credit) AS m FROM customers GROUP BY 1, 2

-- name: agg_mean_and_aliases
SELECT g, mean(i32) AS a, std(i32) IS NULL AS b FROM tame GROUP BY g
