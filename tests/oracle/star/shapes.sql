-- Wide joins, CASE pivots, outer and anti joins, set operations, text, dates and statistics over the star.

-- name: shape_promoted_share
SELECT promoted, total, CAST(promoted AS DECIMAL(15,4)) / nullif(CAST(total AS DECIMAL(15,4)), 0) * 100 AS percent FROM
(SELECT sum(s.paid) AS promoted FROM till_sales s, shops p, deals e, days d, shoppers c, places l, goods g WHERE s.day_id = d.day_id AND s.shop_id = p.shop_id AND s.deal_id = e.deal_id AND s.shopper_id = c.shopper_id AND l.place_id = c.place_id AND s.good_id = g.good_id AND l.hours_off = -5 AND g.category = 'Home' AND (e.by_mail OR e.by_radio)) AS a,
(SELECT sum(s.paid) AS total FROM till_sales s, shops p, days d, shoppers c, places l, goods g WHERE s.day_id = d.day_id AND s.shop_id = p.shop_id AND s.shopper_id = c.shopper_id AND l.place_id = c.place_id AND s.good_id = g.good_id AND l.hours_off = -5 AND g.category = 'Home') AS b

-- name: shape_eight_tables
SELECT g.code, p.shop, l.state, t.school, d.year, count(*) AS n, avg(s.qty) AS q, sum(s.paid - coalesce(r.refund, 0)) AS kept FROM till_sales s JOIN goods g ON s.good_id = g.good_id JOIN shops p ON s.shop_id = p.shop_id JOIN shoppers c ON s.shopper_id = c.shopper_id JOIN places l ON c.place_id = l.place_id JOIN traits t ON s.traits_id = t.traits_id JOIN days d ON s.day_id = d.day_id LEFT JOIN till_returns r ON r.ticket = s.ticket AND r.good_id = s.good_id GROUP BY g.code, p.shop, l.state, t.school, d.year

-- name: shape_ten_tables
SELECT g.brand, count(*) AS n, sum(s.profit) + sum(coalesce(m.profit, 0)) AS profit, count(DISTINCT e.deal_id) AS deals, min(rd.day) AS first_return FROM till_sales s JOIN till_returns r ON s.ticket = r.ticket AND s.good_id = r.good_id JOIN days sd ON s.day_id = sd.day_id JOIN days rd ON r.day_id = rd.day_id JOIN goods g ON s.good_id = g.good_id JOIN shops p ON s.shop_id = p.shop_id LEFT JOIN deals e ON s.deal_id = e.deal_id LEFT JOIN shoppers c ON s.shopper_id = c.shopper_id LEFT JOIN places l ON c.place_id = l.place_id LEFT JOIN mail_sales m ON m.shopper_id = c.shopper_id AND m.good_id = g.good_id WHERE coalesce(l.state, 'TN') <> 'XX' GROUP BY g.brand

-- name: shape_or_of_ands
SELECT avg(s.qty) AS q, avg(s.paid) AS paid, sum(s.cost) AS cost FROM till_sales s, shops p, traits t, places l, days d WHERE p.shop_id = s.shop_id AND s.day_id = d.day_id AND d.year = 2021 AND ((s.traits_id = t.traits_id AND t.married = 'M' AND t.school = 'Degree' AND s.price BETWEEN 1 AND 100) OR (s.traits_id = t.traits_id AND t.married = 'S' AND t.school = 'College' AND s.price BETWEEN 0 AND 20)) AND ((s.place_id = l.place_id AND l.state IN ('TN', 'GA') AND s.profit BETWEEN 0 AND 50) OR (s.place_id = l.place_id AND l.state IN ('CA', 'WA') AND s.profit BETWEEN -10 AND 2))

-- name: shape_zip_differs
SELECT g.brand, g.maker, sum(s.paid) AS total FROM days d, till_sales s, goods g, shoppers c, places l, shops p WHERE d.day_id = s.day_id AND s.good_id = g.good_id AND s.shopper_id = c.shopper_id AND c.place_id = l.place_id AND substr(l.zip, 1, 3) <> substr(p.zip, 1, 3) AND s.shop_id = p.shop_id GROUP BY g.brand, g.maker ORDER BY total DESC, brand, maker LIMIT 10

-- name: shape_counts_cross_joined
SELECT * FROM (SELECT avg(price) AS a1, count(price) AS n1, count(DISTINCT price) AS d1 FROM till_sales WHERE qty BETWEEN 0 AND 5 AND (price BETWEEN 1 AND 20 OR cost < 3)) AS b1, (SELECT avg(price) AS a2, count(price) AS n2, count(DISTINCT price) AS d2 FROM till_sales WHERE qty BETWEEN 6 AND 60 AND (price BETWEEN 1 AND 20 OR profit > 3)) AS b2, (SELECT avg(paid) AS a3, count(paid) AS n3, count(DISTINCT paid) AS d3 FROM net_sales) AS b3

-- name: shape_morning_evening
SELECT CAST(am AS DECIMAL(15,4)) / nullif(CAST(pm AS DECIMAL(15,4)), 0) AS ratio, am, pm FROM (SELECT count(*) AS am FROM net_sales n JOIN days d ON n.day_id = d.day_id JOIN traits t ON t.traits_id = n.depot WHERE d.month BETWEEN 1 AND 3 AND t.children < 3) AS a CROSS JOIN (SELECT count(*) AS pm FROM net_sales n JOIN days d ON n.day_id = d.day_id WHERE d.month BETWEEN 11 AND 12) AS b

-- name: shape_pivot_clause
SELECT * FROM (SELECT p.state, d.quarter, s.paid FROM till_sales s JOIN shops p ON s.shop_id = p.shop_id JOIN days d ON s.day_id = d.day_id) AS x PIVOT (sum(paid) AS total, count(*) AS n FOR quarter IN (1 AS q1, 2 AS q2, 3 AS q3, 4 AS q4))

-- name: shape_unpivot
SELECT good_id, what, amount FROM (SELECT good_id, sum(paid) AS paid, sum(cost) AS cost, sum(profit) AS profit FROM till_sales GROUP BY good_id) AS x UNPIVOT (amount FOR what IN (paid, cost, profit))

-- name: shape_case_pivot_distinct
SELECT p.shop, count(DISTINCT CASE WHEN d.year = 2021 THEN s.shopper_id END) AS c21, count(DISTINCT CASE WHEN d.year = 2022 THEN s.shopper_id END) AS c22, count(DISTINCT s.good_id) AS goods, count(s.ticket) AS n, max(CASE WHEN d.weekday IN ('Saturday', 'Sunday') THEN s.paid END) AS weekend FROM till_sales s JOIN shops p ON p.shop_id = s.shop_id LEFT JOIN days d ON d.day_id = s.day_id GROUP BY p.shop

-- name: shape_histogram_of_counts
SELECT n, count(*) AS shoppers FROM (SELECT c.shopper_id, count(s.ticket) AS n FROM shoppers c LEFT OUTER JOIN till_sales s ON c.shopper_id = s.shopper_id AND s.qty < 60 GROUP BY c.shopper_id) AS x GROUP BY n

-- name: shape_stock_short_chain
SELECT g.code, d1.week, count(CASE WHEN e.deal_id IS NULL THEN 1 END) AS plain, count(CASE WHEN e.deal_id IS NOT NULL THEN 1 END) AS promoted, count(*) AS n FROM mail_sales m JOIN stock i ON m.good_id = i.good_id JOIN goods g ON g.good_id = m.good_id JOIN shoppers c ON m.shopper_id = c.shopper_id JOIN traits t ON c.traits_id = t.traits_id JOIN days d1 ON m.day_id = d1.day_id JOIN days d2 ON i.day_id = d2.day_id JOIN days d3 ON m.ship_day_id = d3.day_id LEFT OUTER JOIN deals e ON m.deal_id = e.deal_id LEFT OUTER JOIN net_returns r ON r.good_id = m.good_id AND r.order_no = m.order_no WHERE d1.week = d2.week AND i.on_hand < m.qty AND d3.day > d1.day - INTERVAL 5 DAYS GROUP BY g.code, d1.week

-- name: shape_city_changed
SELECT c.last, c.first, now_at.city, x.bought_in, x.ticket, x.paid FROM (SELECT s.ticket, s.shopper_id, l.city AS bought_in, sum(s.paid) AS paid FROM till_sales s, days d, shops p, traits t, places l WHERE s.day_id = d.day_id AND s.shop_id = p.shop_id AND s.traits_id = t.traits_id AND s.place_id = l.place_id AND (t.children = 2 OR t.income > 10000) GROUP BY s.ticket, s.shopper_id, l.city) AS x, shoppers c, places now_at WHERE x.shopper_id = c.shopper_id AND c.place_id = now_at.place_id AND now_at.city <> x.bought_in

-- name: shape_anti_left_null
SELECT s.ticket, s.good_id, s.paid FROM till_sales s LEFT JOIN till_returns r ON s.ticket = r.ticket AND s.good_id = r.good_id LEFT JOIN days d ON s.day_id = d.day_id WHERE r.ticket IS NULL AND (d.year = 2021 OR d.day_id IS NULL)

-- name: shape_semi_anti_joins
SELECT c.shopper_id, c.last FROM shoppers c LEFT SEMI JOIN till_sales s ON s.shopper_id = c.shopper_id AND s.paid > 1 LEFT ANTI JOIN net_returns r ON r.shopper_id = c.shopper_id AND r.refund > 1

-- name: shape_without_returns_by_shopper
SELECT r.shopper_id, sum(CASE WHEN t.ticket IS NOT NULL THEN (r.qty - coalesce(t.qty, 0)) * r.price ELSE r.qty * r.price END) AS act FROM till_sales r LEFT OUTER JOIN till_returns t ON t.good_id = r.good_id AND t.ticket = r.ticket GROUP BY r.shopper_id

-- name: shape_only_till_only_mail
WITH a AS (SELECT shopper_id, good_id FROM till_sales GROUP BY shopper_id, good_id), b AS (SELECT shopper_id, good_id FROM mail_sales GROUP BY shopper_id, good_id)
SELECT sum(CASE WHEN a.shopper_id IS NOT NULL AND b.shopper_id IS NULL THEN 1 ELSE 0 END) AS till, sum(CASE WHEN a.shopper_id IS NULL AND b.shopper_id IS NOT NULL THEN 1 ELSE 0 END) AS mail, sum(CASE WHEN a.shopper_id IS NOT NULL AND b.shopper_id IS NOT NULL THEN 1 ELSE 0 END) AS both FROM a FULL OUTER JOIN b ON a.shopper_id = b.shopper_id AND a.good_id = b.good_id

-- name: shape_full_outer_using
SELECT shopper_id, a.n AS till, b.n AS net FROM (SELECT shopper_id, count(*) AS n FROM till_sales GROUP BY shopper_id) AS a FULL JOIN (SELECT shopper_id, count(*) AS n FROM net_sales GROUP BY shopper_id) AS b USING (shopper_id)

-- name: shape_right_outer_chain
SELECT p.shop, d.weekday, count(s.ticket) AS n, sum(s.paid) AS paid FROM till_sales s RIGHT JOIN shops p ON s.shop_id = p.shop_id AND s.qty > 1 LEFT JOIN days d ON s.day_id = d.day_id GROUP BY p.shop, d.weekday

-- name: shape_intersect_all_except_all
SELECT good_id, qty FROM till_sales INTERSECT ALL SELECT good_id, qty FROM mail_sales EXCEPT ALL SELECT good_id, qty FROM net_returns

-- name: shape_sets_of_ctes
WITH zips AS (SELECT substr(zip, 1, 5) AS zip FROM places WHERE substr(zip, 1, 2) IN ('30', '94') INTERSECT SELECT zip FROM (SELECT substr(l.zip, 1, 5) AS zip, count(*) AS n FROM places l, shoppers c WHERE l.place_id = c.place_id AND c.favoured GROUP BY l.zip HAVING count(*) >= 1) AS a)
SELECT p.shop, sum(s.profit) AS profit FROM till_sales s, days d, shops p, zips z WHERE s.shop_id = p.shop_id AND s.day_id = d.day_id AND d.quarter IN (1, 2) AND substr(p.zip, 1, 2) = substr(z.zip, 1, 2) GROUP BY p.shop

-- name: shape_text_buckets
SELECT concat_ws(', ', c.last, c.first) AS who, upper(substr(c.last, 1, 1)) AS letter, coalesce(l.city, '') || '/' || coalesce(l.state, '??') AS spot, length(g.brand) AS len, split(g.brand, ' #')[0] AS maker, CAST(split(g.brand, ' #')[1] AS INT) AS num, count(*) AS n FROM till_sales s JOIN shoppers c ON s.shopper_id = c.shopper_id LEFT JOIN places l ON l.place_id = c.place_id JOIN goods g ON g.good_id = s.good_id WHERE g.brand LIKE '%#1%' OR g.color RLIKE '^d' OR g.color ILIKE 'RED' GROUP BY ALL

-- name: shape_date_arithmetic
SELECT trunc(d.day, 'MM') AS month, date_format(d.day, 'yyyy-MM') AS label, last_day(d.day) AS closing, dayofweek(d.day) AS dow, count(*) AS n, max(date_add(d.day, 30)) AS due, max(add_months(d.day, 1)) AS next, min(months_between(d.day, DATE '2021-01-01')) AS age FROM mail_sales m JOIN days d ON m.day_id = d.day_id WHERE d.day >= DATE '2021-01-01' AND year(d.day) IN (2021, 2022) GROUP BY trunc(d.day, 'MM'), date_format(d.day, 'yyyy-MM'), last_day(d.day), dayofweek(d.day)

-- name: shape_shipping_delay
SELECT m.depot, CASE WHEN datediff(x.day, d.day) < 0 THEN 'before' WHEN datediff(x.day, d.day) <= 30 THEN 'month' WHEN datediff(x.day, d.day) <= 365 THEN 'year' ELSE 'late' END AS delay, count(*) AS n, avg(datediff(x.day, d.day)) AS mean FROM mail_sales m JOIN days d ON m.day_id = d.day_id JOIN days x ON m.ship_day_id = x.day_id GROUP BY 1, 2

-- name: shape_correlations
SELECT g.category, stddev_samp(s.qty) AS sd, stddev_samp(s.qty) / nullif(avg(s.qty), 0) AS cv, corr(s.qty, s.price) AS c, avg(s.qty) AS mean, var_pop(s.price) AS v, regr_slope(s.paid, s.price) AS slope FROM till_sales s JOIN goods g ON s.good_id = g.good_id GROUP BY g.category

-- name: shape_percentiles
SELECT p.state, percentile(s.paid, 0.5) AS median, percentile_cont(0.9) WITHIN GROUP (ORDER BY s.price) AS p90, percentile_disc(0.25) WITHIN GROUP (ORDER BY s.qty) AS q25, median(s.profit) AS mid FROM till_sales s JOIN shops p ON s.shop_id = p.shop_id GROUP BY p.state

-- name: shape_above_median
SELECT s.ticket, s.good_id, s.paid FROM till_sales s JOIN (SELECT shop_id, percentile(paid, 0.5) AS mid FROM till_sales GROUP BY shop_id) AS m ON s.shop_id = m.shop_id WHERE s.paid > m.mid

-- name: shape_lists
SELECT c.last, array_sort(collect_set(g.category)) AS categories, size(collect_set(s.shop_id)) AS shops, sort_array(collect_list(s.qty)) AS qtys, listagg(DISTINCT g.code, ',') WITHIN GROUP (ORDER BY g.code) AS codes, max_by(s.ticket, s.paid * 1000 + s.ticket) AS best FROM till_sales s JOIN shoppers c ON s.shopper_id = c.shopper_id JOIN goods g ON s.good_id = g.good_id GROUP BY c.last

-- name: shape_exploded_brands
SELECT word, count(*) AS n, sum(s.paid) AS paid FROM till_sales s JOIN goods g ON s.good_id = g.good_id LATERAL VIEW explode(split(g.color, ' ')) w AS word GROUP BY word

-- name: shape_values_bands
SELECT b.name, count(s.ticket) AS n, sum(s.paid) AS paid FROM (VALUES ('low', 0.00, 5.00), ('mid', 5.00, 50.00), ('high', 50.00, 1000.00)) AS b(name, lo, hi) LEFT JOIN till_sales s ON s.price >= b.lo AND s.price < b.hi GROUP BY b.name

-- name: shape_range_join_prices
SELECT g1.good_id AS cheap, g2.good_id AS dear, g2.price - g1.price AS gap FROM goods g1 JOIN goods g2 ON g1.category = g2.category AND g1.price < g2.price AND g2.price < g1.price + 15

-- name: shape_basket_pairs
SELECT a.good_id AS x, b.good_id AS y, count(*) AS n, count(DISTINCT a.shopper_id) AS shoppers FROM till_sales a JOIN till_sales b ON a.ticket = b.ticket AND a.good_id < b.good_id GROUP BY a.good_id, b.good_id HAVING count(*) >= 1

-- name: shape_conditional_aggregates
SELECT d.year, count(*) FILTER (WHERE s.profit > 0) AS won, sum(s.paid) FILTER (WHERE g.category = 'Books') AS books, count_if(s.deal_id IS NULL) AS plain, bool_or(e.by_mail) AS mailed, every(s.qty > 0) AS ok, avg(s.profit) FILTER (WHERE e.outlay > (SELECT avg(outlay) FROM deals)) AS pushed FROM till_sales s JOIN days d ON s.day_id = d.day_id JOIN goods g ON s.good_id = g.good_id LEFT JOIN deals e ON s.deal_id = e.deal_id GROUP BY d.year

-- name: shape_distinct_mixes
SELECT g.category, count(DISTINCT s.shopper_id) AS a, count(DISTINCT s.shop_id, s.day_id) AS b, sum(DISTINCT s.qty) AS c, avg(DISTINCT s.price) AS d, sum(s.paid) AS e, count(DISTINCT s.qty) FILTER (WHERE s.profit > 0) AS f FROM till_sales s JOIN goods g ON s.good_id = g.good_id GROUP BY g.category

-- name: shape_over_nested_views
SELECT w.who, w.letter, w.n, b.best FROM (SELECT who, letter, sum(n) AS n FROM shape_text_buckets GROUP BY who, letter) AS w JOIN (SELECT last, best FROM shape_lists) AS b ON split(w.who, ', ')[0] = b.last

-- name: shape_natural_and_star
SELECT * FROM (SELECT shopper_id, place_id FROM shoppers) NATURAL JOIN (SELECT place_id, state, city FROM places) NATURAL LEFT JOIN (SELECT shopper_id, sum(paid) AS paid FROM net_sales GROUP BY shopper_id)

-- name: shape_except_columns
SELECT * EXCEPT (traits_id, place_id), upper(last) AS loud FROM shoppers WHERE born BETWEEN 1970 AND 1999 AND favoured IS NOT FALSE

-- name: shape_distinct_on_join
SELECT DISTINCT c.last, l.state, d.year FROM mail_sales m JOIN shoppers c ON m.shopper_id = c.shopper_id JOIN places l ON l.place_id = m.place_id JOIN days d ON d.day_id = m.day_id WHERE l.state <> 'CA' OR d.year IS NULL

-- name: shape_income_bands
SELECT c.shopper_id, concat(c.last, ', ', coalesce(c.first, '')) AS name FROM shoppers c JOIN places l ON c.place_id = l.place_id JOIN traits t ON c.traits_id = t.traits_id JOIN till_returns r ON r.shopper_id = c.shopper_id WHERE l.city = 'Bern' AND t.income >= 10000 AND t.income <= 10000 + 15000

-- name: shape_top_with_ties
SELECT good_id, total FROM (SELECT good_id, sum(paid) AS total, dense_rank() OVER (ORDER BY sum(paid) DESC) AS r FROM (SELECT good_id, paid FROM till_sales UNION ALL SELECT good_id, paid FROM mail_sales UNION ALL SELECT good_id, paid FROM net_sales) AS u GROUP BY good_id) AS v WHERE r <= 3

-- name: shape_stepwise_having
SELECT p.state, d.year, sum(s.paid) AS total, sum(s.paid) > 10 AS big FROM till_sales s JOIN shops p ON s.shop_id = p.shop_id JOIN days d ON s.day_id = d.day_id GROUP BY p.state, d.year HAVING count(DISTINCT s.good_id) > 1 AND min(s.qty) < max(s.qty) AND sum(s.paid) <> 0 ORDER BY total DESC, state, year

-- name: shape_order_by_hidden
SELECT p.shop, sum(s.paid) AS total FROM till_sales s JOIN shops p ON s.shop_id = p.shop_id GROUP BY p.shop ORDER BY total DESC, p.shop LIMIT 2

-- name: shape_order_by_aggregate_not_shown
SELECT g.category, g.class FROM till_sales s JOIN goods g ON s.good_id = g.good_id GROUP BY g.category, g.class ORDER BY sum(s.qty) DESC, g.category, g.class LIMIT 4

-- name: shape_pipe_syntax
FROM till_sales |> JOIN goods USING (good_id) |> WHERE qty > 1 |> AGGREGATE sum(paid) AS total, count(*) AS n GROUP BY category |> WHERE n > 1 |> EXTEND total / n AS each

-- name: shape_array_of_structs
SELECT shop_id, transform(array_sort(collect_list(struct(qty, good_id))), x -> x.good_id) AS goods FROM till_sales WHERE qty IS NOT NULL GROUP BY shop_id

-- name: shape_decode_and_greatest
SELECT decode(d.quarter, 1, 'Q1', 2, 'Q2', 'later') AS q, greatest(sum(s.paid), sum(s.cost)) AS hi, least(count(*), 3) AS n, nvl(max(s.deal_id), -1) AS deal, if(sum(s.qty) > 50, 'many', 'few') AS amount FROM till_sales s LEFT JOIN days d ON s.day_id = d.day_id GROUP BY decode(d.quarter, 1, 'Q1', 2, 'Q2', 'later')
