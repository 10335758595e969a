-- Constructs in less usual places: subqueries in join conditions and aggregates, frames of days, hints, odd joins.

-- name: form_subquery_in_aggregate
SELECT g.category, sum(CASE WHEN s.shopper_id IN (SELECT shopper_id FROM net_returns) THEN s.paid ELSE 0 END) AS returners, count(*) FILTER (WHERE EXISTS (SELECT 1 FROM till_returns r WHERE r.ticket = s.ticket)) AS back, max(s.paid - (SELECT avg(paid) FROM till_sales)) AS above FROM till_sales s JOIN goods g ON s.good_id = g.good_id GROUP BY g.category

-- name: form_subquery_in_join_condition
SELECT s.ticket, s.good_id, d.year FROM till_sales s JOIN days d ON s.day_id = d.day_id AND d.year = (SELECT max(year) FROM days) LEFT JOIN deals e ON e.deal_id = s.deal_id AND e.outlay > (SELECT avg(outlay) FROM deals) WHERE e.deal_id IS NULL

-- name: form_in_subquery_in_join_condition
SELECT s.ticket, s.good_id, g.code FROM till_sales s LEFT JOIN goods g ON s.good_id = g.good_id AND g.maker IN (SELECT maker FROM goods WHERE price > 10)

-- name: form_correlated_scalar_in_group_by
SELECT state, count(*) AS n FROM (SELECT (SELECT max(l.state) FROM places l WHERE l.place_id = c.place_id) AS state FROM shoppers c) AS x GROUP BY state

-- name: form_correlated_nonequal
SELECT s.ticket, s.good_id, (SELECT count(*) FROM till_sales t WHERE t.shop_id = s.shop_id AND t.day_id < s.day_id) AS earlier FROM till_sales s

-- name: form_exists_or_inside
SELECT c.shopper_id FROM shoppers c WHERE EXISTS (SELECT 1 FROM till_sales s WHERE s.shopper_id = c.shopper_id OR s.place_id = c.place_id AND s.qty > 20)

-- name: form_exists_union
SELECT c.shopper_id FROM shoppers c WHERE EXISTS (SELECT 1 FROM (SELECT shopper_id FROM mail_sales UNION ALL SELECT shopper_id FROM net_sales) AS u WHERE u.shopper_id = c.shopper_id)

-- name: form_scalar_order_limit
SELECT p.shop_id, (SELECT s.good_id FROM till_sales s WHERE s.shop_id = p.shop_id ORDER BY s.paid DESC NULLS LAST, s.ticket, s.good_id LIMIT 1) AS best FROM shops p

-- name: form_lateral_order_hidden
SELECT p.shop_id, l.good_id FROM shops p LEFT JOIN LATERAL (SELECT s.good_id FROM till_sales s WHERE s.shop_id = p.shop_id ORDER BY s.paid * s.qty DESC, s.ticket, s.good_id LIMIT 2) AS l ON true

-- name: form_not_in_correlated
SELECT s.ticket, s.good_id FROM till_sales s WHERE s.shopper_id NOT IN (SELECT r.shopper_id FROM till_returns r WHERE r.shop_id = s.shop_id)

-- name: form_not_in_pairs
SELECT s.ticket, s.good_id FROM till_sales s WHERE (s.ticket, s.good_id) NOT IN (SELECT ticket, good_id FROM till_returns WHERE refund > 1)

-- name: form_range_of_days
SELECT d.day, s.ticket, s.good_id, sum(s.paid) OVER (ORDER BY d.day RANGE BETWEEN INTERVAL '45' DAY PRECEDING AND CURRENT ROW) AS recent, count(*) OVER (PARTITION BY s.shop_id ORDER BY d.day RANGE BETWEEN INTERVAL '3' MONTH PRECEDING AND CURRENT ROW) AS before FROM till_sales s JOIN days d ON s.day_id = d.day_id

-- name: form_statistics_over_window
SELECT ticket, good_id, stddev_samp(qty) OVER (PARTITION BY shop_id) AS sd, var_pop(price) OVER (PARTITION BY good_id ORDER BY ticket) AS v, median(qty) OVER (PARTITION BY shop_id) AS mid FROM till_sales

-- name: form_collect_over_window
SELECT ticket, good_id, collect_list(qty) OVER (PARTITION BY ticket ORDER BY good_id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS last_two, size(collect_set(good_id) OVER (PARTITION BY shop_id)) AS kinds, max_by(good_id, price * 100 + good_id) OVER (PARTITION BY shop_id) AS dear FROM till_sales

-- name: form_window_filter
SELECT ticket, good_id, sum(paid) FILTER (WHERE qty > 1) OVER (PARTITION BY shop_id) AS many, count(*) FILTER (WHERE deal_id IS NULL) OVER (PARTITION BY shopper_id ORDER BY ticket, good_id) AS plain FROM till_sales

-- name: form_lateral_column_alias
SELECT s.ticket, s.good_id, s.qty * s.price AS gross, gross - coalesce(s.cost, 0) AS net, net / nullif(gross, 0) AS margin FROM till_sales s WHERE s.price IS NOT NULL

-- name: form_group_by_all_order_by_all
SELECT p.state, d.year, count(*) AS n FROM till_sales s JOIN shops p ON s.shop_id = p.shop_id JOIN days d ON s.day_id = d.day_id GROUP BY ALL ORDER BY ALL

-- name: form_hints
SELECT /*+ BROADCAST(d), REPARTITION(3) */ d.year, count(*) AS n FROM till_sales s JOIN days d ON s.day_id = d.day_id GROUP BY d.year

-- name: form_distribute_and_sort
SELECT good_id, qty FROM mail_sales DISTRIBUTE BY good_id SORT BY qty

-- name: form_like_any
SELECT g.good_id, g.brand FROM goods g WHERE g.brand LIKE ANY ('A%', '%#2') OR g.color LIKE ALL ('%e%', '%d%') OR g.brand NOT LIKE '% %'

-- name: form_minus
SELECT good_id FROM till_sales MINUS SELECT good_id FROM till_returns

-- name: form_full_outer_inequality
SELECT a.good_id AS a, b.good_id AS b FROM goods a FULL OUTER JOIN goods b ON a.category = b.category AND a.price < b.price

-- name: form_full_outer_only_inequality
SELECT p.shop_id, e.deal_id FROM shops p FULL OUTER JOIN deals e ON p.staff * 10 > e.outlay

-- name: form_natural_full
SELECT * FROM (SELECT state, count(*) AS shops FROM shops GROUP BY state) NATURAL FULL JOIN (SELECT state, count(*) AS places FROM places GROUP BY state)

-- name: form_having_without_group
SELECT count(*) AS n, sum(paid) AS paid FROM till_sales HAVING count(*) > 3

-- name: form_unnamed_columns
SELECT g.category, count(*), sum(s.paid), avg(s.qty) + 1 FROM till_sales s JOIN goods g ON s.good_id = g.good_id GROUP BY g.category

-- name: form_limit_in_derived
SELECT t.shop_id, p.shop, t.total FROM (SELECT shop_id, sum(paid) AS total FROM till_sales GROUP BY shop_id ORDER BY total DESC, shop_id LIMIT 2) AS t LEFT JOIN shops p ON t.shop_id = p.shop_id

-- name: form_in_top_n
SELECT s.ticket, s.good_id, s.paid FROM till_sales s WHERE s.good_id IN (SELECT good_id FROM net_sales GROUP BY good_id ORDER BY count(*) DESC, good_id LIMIT 3)

-- name: form_extract_parts
SELECT extract(YEAR FROM d.day) AS y, date_part('quarter', d.day) AS q, date_trunc('WEEK', d.day) AS w, weekofyear(d.day) AS wy, d.day + INTERVAL '1' MONTH AS m, make_date(year(d.day), 1, 1) AS first, d.day - make_date(year(d.day), 1, 1) AS since, count(*) AS n FROM net_sales s JOIN days d ON s.day_id = d.day_id GROUP BY d.day

-- name: form_day_series
SELECT x.day, count(s.ticket) AS n FROM (SELECT explode(sequence(DATE '2021-01-01', DATE '2021-02-28', INTERVAL 7 DAYS)) AS day) AS x LEFT JOIN days d ON d.day >= x.day AND d.day < x.day + 7 LEFT JOIN till_sales s ON s.day_id = d.day_id GROUP BY x.day

-- name: form_case_in_group_and_order
SELECT CASE WHEN c.born < 1970 THEN 'old' WHEN c.born < 1985 THEN 'mid' ELSE 'new' END AS age, t.sex, count(*) AS n FROM shoppers c LEFT JOIN traits t ON c.traits_id = t.traits_id GROUP BY CASE WHEN c.born < 1970 THEN 'old' WHEN c.born < 1985 THEN 'mid' ELSE 'new' END, t.sex ORDER BY CASE age WHEN 'old' THEN 0 ELSE 1 END, sex

-- name: form_nested_aggregates_deep
SELECT avg(most) AS mean_most, max(n) AS n FROM (SELECT state, max(total) AS most, count(*) AS n FROM (SELECT p.state, p.shop, sum(s.paid) AS total FROM till_sales s JOIN shops p ON s.shop_id = p.shop_id GROUP BY p.state, p.shop) AS a GROUP BY state HAVING count(*) >= (SELECT min(n) FROM (SELECT count(*) AS n FROM shops GROUP BY state) AS b)) AS c

-- name: form_rollup_with_filter_distinct
SELECT g.category, g.class, count(DISTINCT s.shopper_id) FILTER (WHERE s.qty > 1) AS many, sum(s.paid) FILTER (WHERE s.deal_id IS NOT NULL) AS promoted, grouping(g.class) AS gc FROM till_sales s JOIN goods g ON s.good_id = g.good_id GROUP BY ROLLUP (g.category, g.class) HAVING count(*) > 1 ORDER BY gc, category

-- name: form_partial_rollup
SELECT d.year, p.state, g.category, sum(s.paid) AS total FROM till_sales s JOIN days d ON s.day_id = d.day_id JOIN shops p ON s.shop_id = p.shop_id JOIN goods g ON s.good_id = g.good_id GROUP BY d.year, ROLLUP (p.state, g.category)

-- name: form_two_cubes
SELECT p.state, d.year, g.category, count(*) AS n FROM till_sales s JOIN days d ON s.day_id = d.day_id JOIN shops p ON s.shop_id = p.shop_id JOIN goods g ON s.good_id = g.good_id GROUP BY CUBE (p.state), GROUPING SETS ((d.year, g.category), (g.category))

-- name: form_percentile_array
SELECT shop_id, percentile(paid, array(0.25, 0.5, 0.75)) AS quartiles, mode(good_id, true) AS usual, skewness(qty) AS skew, bit_or(qty) AS bits FROM till_sales GROUP BY shop_id

-- name: form_nested_ctes
WITH a AS (WITH b AS (SELECT good_id, sum(qty) AS q FROM mail_sales GROUP BY good_id) SELECT good_id, q, rank() OVER (ORDER BY q DESC) AS r FROM b), c AS (SELECT * FROM a WHERE r <= 3) SELECT x.good_id, x.q, y.good_id AS other FROM c x LEFT JOIN c y ON x.r = y.r + 1

-- name: form_map_pivot
SELECT shop_id, map_from_entries(array_sort(collect_list(struct(d.day_id, s.paid)))) IS NOT NULL AS m FROM till_sales s JOIN (SELECT min(day_id) AS day_id FROM days) AS d ON s.day_id = d.day_id GROUP BY shop_id HAVING count(*) = 1
