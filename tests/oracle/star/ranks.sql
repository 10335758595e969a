-- Windows over aggregates, windows over windows, QUALIFY, the best few of each group.

-- name: rank_class_share
SELECT g.code, g.category, g.class, g.price, sum(s.paid) AS revenue, sum(s.paid) * 100 / nullif(sum(sum(s.paid)) OVER (PARTITION BY g.class), 0) AS ratio FROM net_sales s, goods g, days d WHERE s.good_id = g.good_id AND g.category IN ('Home', 'Sport') AND s.day_id = d.day_id AND d.day BETWEEN DATE '2021-01-01' AND (CAST('2021-01-01' AS DATE) + INTERVAL 400 DAYS) GROUP BY g.code, g.category, g.class, g.price

-- name: rank_quarters_far_from_mean
SELECT * FROM (SELECT g.maker, d.quarter, sum(s.price) AS total, avg(sum(s.price)) OVER (PARTITION BY g.maker) AS mean FROM goods g, till_sales s, days d, shops p WHERE s.good_id = g.good_id AND s.day_id = d.day_id AND s.shop_id = p.shop_id AND ((g.category IN ('Home', 'Books') AND g.class IN ('lamp', 'novel')) OR (g.category = 'Sport' AND g.class IN ('tent', 'rug'))) GROUP BY g.maker, d.quarter) AS x WHERE CASE WHEN mean > 0 THEN abs(total - mean) / mean ELSE NULL END > 0.1

-- name: rank_best_and_worst_goods
SELECT a.r, g1.code AS best, g2.code AS worst FROM (SELECT * FROM (SELECT good_id, rank() OVER (ORDER BY mean) AS r FROM (SELECT good_id, avg(profit) AS mean FROM till_sales s WHERE shop_id = 1 GROUP BY good_id HAVING avg(profit) > 0.9 * (SELECT avg(profit) FROM till_sales WHERE shop_id = 1 AND traits_id IS NOT NULL GROUP BY shop_id)) AS v1) AS w1 WHERE r < 11) a
JOIN (SELECT * FROM (SELECT good_id, rank() OVER (ORDER BY mean DESC) AS r FROM (SELECT good_id, avg(profit) AS mean FROM till_sales s WHERE shop_id = 1 GROUP BY good_id) AS v2) AS w2 WHERE r < 11) b ON a.r = b.r JOIN goods g1 ON g1.good_id = a.good_id JOIN goods g2 ON g2.good_id = b.good_id

-- name: rank_qualify_best_shop
SELECT d.year, p.shop, sum(s.paid) AS total FROM till_sales s JOIN days d ON s.day_id = d.day_id JOIN shops p ON s.shop_id = p.shop_id GROUP BY d.year, p.shop QUALIFY rank() OVER (PARTITION BY d.year ORDER BY total DESC) <= 2

-- name: rank_qualify_last_purchase
SELECT s.shopper_id, c.last, s.ticket, s.good_id, d.day, s.paid FROM till_sales s JOIN days d ON s.day_id = d.day_id LEFT JOIN shoppers c ON c.shopper_id = s.shopper_id WHERE s.shopper_id IS NOT NULL QUALIFY row_number() OVER (PARTITION BY s.shopper_id ORDER BY d.day DESC NULLS LAST, s.ticket, s.good_id) = 1

-- name: rank_qualify_named_window
SELECT g.category, g.good_id, sum(n.qty) AS q, dense_rank() OVER w AS r FROM net_sales n JOIN goods g ON n.good_id = g.good_id GROUP BY g.category, g.good_id QUALIFY r <= 2 OR count(*) OVER (PARTITION BY g.category) = 1 WINDOW w AS (PARTITION BY g.category ORDER BY sum(n.qty) DESC NULLS LAST)

-- name: rank_window_over_window
SELECT shop_id, day_id, total, running, rank() OVER (PARTITION BY shop_id ORDER BY running DESC, day_id) AS r, running - lag(running) OVER (PARTITION BY shop_id ORDER BY day_id) AS step FROM (SELECT shop_id, day_id, total, sum(total) OVER (PARTITION BY shop_id ORDER BY day_id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS running FROM (SELECT shop_id, day_id, sum(paid) AS total FROM till_sales GROUP BY shop_id, day_id) AS a) AS b

-- name: rank_deciles_of_shoppers
SELECT decile, count(*) AS n, min(total) AS low, max(total) AS high FROM (SELECT shopper_id, total, ntile(4) OVER (ORDER BY total DESC, shopper_id) AS decile FROM (SELECT c.shopper_id, coalesce(sum(s.paid), 0) AS total FROM shoppers c LEFT JOIN till_sales s ON c.shopper_id = s.shopper_id GROUP BY c.shopper_id) AS a) AS b GROUP BY decile

-- name: rank_gaps_between_visits
SELECT shopper_id, day, prev, datediff(day, prev) AS gap, sum(CASE WHEN datediff(day, prev) > 30 OR prev IS NULL THEN 1 ELSE 0 END) OVER (PARTITION BY shopper_id ORDER BY day) AS session FROM (SELECT s.shopper_id, d.day, lag(d.day) OVER (PARTITION BY s.shopper_id ORDER BY d.day) AS prev FROM (SELECT DISTINCT shopper_id, day_id FROM till_sales) AS s JOIN (SELECT DISTINCT day_id, day FROM days WHERE day IS NOT NULL) AS d ON s.day_id = d.day_id) AS v

-- name: rank_sessions_summed
WITH visits AS (SELECT s.shopper_id, d.day_id AS day, s.paid, s.ticket, s.good_id FROM till_sales s JOIN days d ON s.day_id = d.day_id),
marked AS (SELECT *, CASE WHEN day - lag(day) OVER (PARTITION BY shopper_id ORDER BY day, ticket, good_id) <= 2 THEN 0 ELSE 1 END AS fresh FROM visits),
numbered AS (SELECT *, sum(fresh) OVER (PARTITION BY shopper_id ORDER BY day, ticket, good_id ROWS UNBOUNDED PRECEDING) AS session FROM marked)
SELECT shopper_id, session, min(day) AS a, max(day) AS b, count(*) AS n, sum(paid) AS total FROM numbered GROUP BY shopper_id, session

-- name: rank_moving_average
SELECT g.category, d.day_id, sum(s.qty) AS q, avg(sum(s.qty)) OVER (PARTITION BY g.category ORDER BY d.day_id ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) AS mean, max(sum(s.qty)) OVER (PARTITION BY g.category ORDER BY d.day_id RANGE BETWEEN 3 PRECEDING AND 1 PRECEDING) AS high FROM net_sales s JOIN goods g ON s.good_id = g.good_id JOIN days d ON s.day_id = d.day_id GROUP BY g.category, d.day_id

-- name: rank_top_good_per_state
SELECT state, category, good_id, total FROM (SELECT p.state, g.category, g.good_id, sum(s.paid) AS total, row_number() OVER (PARTITION BY p.state, g.category ORDER BY sum(s.paid) DESC NULLS LAST, g.good_id) AS r FROM till_sales s JOIN shops p ON s.shop_id = p.shop_id JOIN goods g ON s.good_id = g.good_id GROUP BY p.state, g.category, g.good_id) AS x WHERE r <= 2

-- name: rank_first_and_last_of_group
SELECT DISTINCT shop_id, first_value(good_id) OVER w AS cheapest, last_value(good_id) OVER w AS dearest, max(price) OVER (PARTITION BY shop_id) AS top FROM till_sales WHERE price IS NOT NULL WINDOW w AS (PARTITION BY shop_id ORDER BY price, ticket, good_id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)

-- name: rank_percent_of_total_filtered
SELECT brand, total, percent_rank() OVER (ORDER BY total) AS pr, cume_dist() OVER (ORDER BY total) AS cd FROM (SELECT g.brand, sum(s.paid) FILTER (WHERE d.year = 2021) AS total FROM till_sales s JOIN goods g ON s.good_id = g.good_id JOIN days d ON s.day_id = d.day_id GROUP BY g.brand) AS x WHERE total IS NOT NULL

-- name: rank_pareto
SELECT good_id, total, run FROM (SELECT good_id, total, sum(total) OVER (ORDER BY total DESC, good_id) AS run, sum(total) OVER () AS everything FROM (SELECT good_id, sum(price * qty) AS total FROM till_sales WHERE price * qty IS NOT NULL GROUP BY good_id) AS x) AS y WHERE run - total < 0.8 * everything

-- name: rank_limit_of_ranked
SELECT g.category, g.brand, sum(s.paid) AS total, row_number() OVER (ORDER BY sum(s.paid) DESC, g.category, g.brand) AS r FROM mail_sales s JOIN goods g ON g.good_id = s.good_id GROUP BY g.category, g.brand ORDER BY r LIMIT 5 OFFSET 1
