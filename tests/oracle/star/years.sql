-- A CTE joined with itself: this year and the last, this month and its neighbours.

-- name: year_shopper_growth
WITH totals AS (
  SELECT c.shopper_id, c.first, c.last, d.year, sum(s.price * s.qty - s.cost) AS total, 't' AS kind FROM shoppers c JOIN till_sales s ON c.shopper_id = s.shopper_id JOIN days d ON s.day_id = d.day_id GROUP BY c.shopper_id, c.first, c.last, d.year
  UNION ALL SELECT c.shopper_id, c.first, c.last, d.year, sum(s.price * s.qty), 'n' FROM shoppers c JOIN net_sales s ON c.shopper_id = s.shopper_id JOIN days d ON s.day_id = d.day_id GROUP BY c.shopper_id, c.first, c.last, d.year)
SELECT t2.shopper_id, t2.first, t2.last FROM totals t1, totals t2, totals n1, totals n2
WHERE t1.shopper_id = t2.shopper_id AND t1.shopper_id = n1.shopper_id AND t1.shopper_id = n2.shopper_id AND t1.kind = 't' AND t2.kind = 't' AND n1.kind = 'n' AND n2.kind = 'n' AND t1.year = 2021 AND t2.year = 2022 AND n1.year = 2021 AND n2.year = 2022 AND t1.total > 0 AND n1.total > 0
AND CASE WHEN n1.total > 0 THEN n2.total / n1.total END > CASE WHEN t1.total > 0 THEN t2.total / t1.total ELSE 0 END

-- name: year_month_neighbours
WITH monthly AS (
  SELECT g.category, g.brand, p.shop, d.year, d.month, sum(s.paid) AS total, avg(sum(s.paid)) OVER (PARTITION BY g.category, g.brand, p.shop, d.year) AS mean, rank() OVER (PARTITION BY g.category, g.brand, p.shop ORDER BY d.year, d.month) AS r
  FROM goods g, till_sales s, days d, shops p WHERE s.good_id = g.good_id AND s.day_id = d.day_id AND s.shop_id = p.shop_id GROUP BY g.category, g.brand, p.shop, d.year, d.month)
SELECT v.category, v.brand, v.shop, v.year, v.month, v.mean, v.total, a.total AS before, b.total AS after FROM monthly v JOIN monthly a ON v.category = a.category AND v.brand = a.brand AND v.shop = a.shop AND v.r = a.r + 1 LEFT JOIN monthly b ON v.category = b.category AND v.brand = b.brand AND v.shop = b.shop AND v.r = b.r - 1
WHERE v.mean <> 0 AND abs(v.total - v.mean) / v.mean > 0.1

-- name: year_weekday_ratios
WITH w AS (SELECT d.week, s.shop_id, sum(CASE WHEN weekday = 'Monday' THEN paid END) AS mon, sum(CASE WHEN weekday = 'Saturday' THEN paid END) AS sat FROM till_sales s JOIN days d ON d.day_id = s.day_id GROUP BY d.week, s.shop_id)
SELECT p.shop, a.week, a.mon / nullif(b.mon, 0) AS mon, a.sat / nullif(b.sat, 0) AS sat FROM w a JOIN shops p ON a.shop_id = p.shop_id JOIN w b ON a.shop_id = b.shop_id AND a.week = b.week - 1

-- name: year_lag_by_brand
SELECT brand, year, quarter, total, lag(total) OVER w AS before, total - lag(total, 1, 0) OVER w AS change, lead(total) OVER w AS after
FROM (SELECT g.brand, d.year, d.quarter, sum(s.paid) AS total FROM till_sales s JOIN goods g USING (good_id) JOIN days d USING (day_id) GROUP BY g.brand, d.year, d.quarter) AS q WINDOW w AS (PARTITION BY brand ORDER BY year NULLS FIRST, quarter NULLS FIRST)

-- name: year_stock_mean_and_spread
WITH spread AS (SELECT i.depot, g.good_id, d.month, stddev_samp(i.on_hand) AS sd, avg(i.on_hand) AS mean FROM stock i JOIN goods g ON i.good_id = g.good_id JOIN days d ON i.day_id = d.day_id WHERE d.year = 2021 GROUP BY i.depot, g.good_id, d.month)
SELECT a.depot, a.good_id, a.month AS month1, a.mean AS m1, a.sd AS s1, b.month AS month2, b.mean AS m2, b.sd AS s2 FROM spread a JOIN spread b ON a.depot = b.depot AND a.good_id = b.good_id AND a.month = b.month - 1 WHERE CASE a.mean WHEN 0 THEN 0 ELSE a.sd / a.mean END > 0.31

-- name: year_best_day_pairs
WITH daily AS (SELECT day_id, sum(paid) AS total FROM till_sales GROUP BY day_id)
SELECT a.day_id AS better, b.day_id AS worse, a.total - b.total AS gap FROM daily a JOIN daily b ON a.total > b.total AND a.day_id < b.day_id JOIN days x ON a.day_id = x.day_id JOIN days y ON b.day_id = y.day_id AND x.year = y.year

-- name: year_first_and_repeat
WITH firsts AS (SELECT shopper_id, min(d.day) AS day FROM till_sales s JOIN days d ON s.day_id = d.day_id GROUP BY shopper_id)
SELECT f.day, count(DISTINCT s.shopper_id) AS shoppers, count(DISTINCT CASE WHEN d.day > f.day THEN s.shopper_id END) AS came_back, sum(CASE WHEN datediff(d.day, f.day) <= 60 THEN s.paid END) AS early FROM firsts f JOIN till_sales s ON s.shopper_id = f.shopper_id JOIN days d ON d.day_id = s.day_id GROUP BY f.day

-- name: year_snapshot_before_after
SELECT * FROM (
  SELECT i.depot, g.code, sum(CASE WHEN d.day < DATE '2022-01-01' THEN i.on_hand ELSE 0 END) AS before, sum(CASE WHEN d.day >= DATE '2022-01-01' THEN i.on_hand ELSE 0 END) AS after
  FROM stock i, goods g, days d WHERE g.price BETWEEN 0.99 AND 50 AND g.good_id = i.good_id AND i.day_id = d.day_id GROUP BY i.depot, g.code) AS x
WHERE CASE WHEN before > 0 THEN after / before ELSE NULL END BETWEEN 0.1 AND 3

-- name: year_returned_then_bought
SELECT g.code, p.shop, sum(s.profit) AS till, sum(r.loss) AS lost, sum(m.profit) AS mail, count(*) AS n
FROM till_sales s JOIN till_returns r ON s.shopper_id = r.shopper_id AND s.good_id = r.good_id AND s.ticket = r.ticket JOIN mail_sales m ON r.shopper_id = m.shopper_id AND r.good_id = m.good_id JOIN days d1 ON d1.day_id = s.day_id JOIN days d2 ON d2.day_id = r.day_id JOIN days d3 ON d3.day_id = m.day_id JOIN shops p ON p.shop_id = s.shop_id JOIN goods g ON g.good_id = s.good_id
WHERE d1.year IN (2021, 2022) AND d2.quarter BETWEEN 1 AND 4 AND d3.year >= 2021 GROUP BY g.code, p.shop

-- name: year_longer_than_promised
SELECT g.class, w.shop, sum(CASE WHEN s.day_id - s.ship_day_id <= 2 THEN 1 ELSE 0 END) AS quick, sum(CASE WHEN s.day_id - s.ship_day_id > 2 AND s.day_id - s.ship_day_id <= 5 THEN 1 ELSE 0 END) AS fair, sum(CASE WHEN s.day_id - s.ship_day_id > 5 THEN 1 ELSE 0 END) AS slow
FROM net_sales s JOIN days d ON s.ship_day_id = d.day_id JOIN goods g ON s.good_id = g.good_id LEFT JOIN shops w ON s.depot = w.shop_id GROUP BY g.class, w.shop
