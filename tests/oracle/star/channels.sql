-- Tills, mail and net side by side: UNION ALL of channels, pivots over them, full outer joins between them.

-- name: chan_all_by_maker
WITH tills AS (
  SELECT g.maker, sum(s.paid) AS total FROM till_sales s JOIN days d ON s.day_id = d.day_id JOIN places p ON s.place_id = p.place_id JOIN goods g ON s.good_id = g.good_id
  WHERE g.maker IN (SELECT maker FROM goods WHERE category = 'Home') AND d.year = 2021 AND p.hours_off = -5 GROUP BY g.maker
), mails AS (
  SELECT g.maker, sum(s.paid) AS total FROM mail_sales s, days d, places p, goods g
  WHERE s.day_id = d.day_id AND s.place_id = p.place_id AND s.good_id = g.good_id AND g.maker IN (SELECT maker FROM goods WHERE category = 'Home') AND d.year = 2021 AND p.hours_off = -5 GROUP BY g.maker
), nets AS (
  SELECT g.maker, sum(s.paid) AS total FROM net_sales s, days d, places p, goods g
  WHERE s.day_id = d.day_id AND s.place_id = p.place_id AND s.good_id = g.good_id AND g.maker IN (SELECT maker FROM goods WHERE category = 'Home') AND d.year = 2021 AND p.hours_off = -5 GROUP BY g.maker
)
SELECT maker, sum(total) AS total FROM (SELECT * FROM tills UNION ALL SELECT * FROM mails UNION ALL SELECT * FROM nets) AS u GROUP BY maker ORDER BY total, maker LIMIT 100

-- name: chan_rollup_sales_returns
WITH lines AS (
  SELECT 'till' AS channel, shop_id AS place, day_id, paid AS sold, profit, CAST(0 AS DECIMAL(7,2)) AS back FROM till_sales
  UNION ALL SELECT 'till', shop_id, day_id, 0, -loss, refund FROM till_returns
  UNION ALL SELECT 'mail', depot, day_id, paid, profit, 0 FROM mail_sales
  UNION ALL SELECT 'net', depot, day_id, paid, profit, 0 FROM net_sales
  UNION ALL SELECT 'net', NULL, day_id, 0, 0, refund FROM net_returns
)
SELECT channel, place, sum(sold) AS sold, sum(back) AS back, sum(profit) AS profit, grouping_id(channel, place) AS level
FROM lines l JOIN days d ON l.day_id = d.day_id WHERE d.day BETWEEN DATE '2021-01-01' AND DATE '2021-01-01' + INTERVAL 90 DAYS GROUP BY ROLLUP (channel, place)

-- name: chan_full_outer_daily
WITH t AS (SELECT day_id, shop_id AS unit, sum(paid) AS sold FROM till_sales GROUP BY day_id, shop_id),
r AS (SELECT day_id, shop_id AS unit, sum(refund) AS back, count(*) AS n FROM till_returns GROUP BY day_id, shop_id)
SELECT coalesce(t.day_id, r.day_id) AS day_id, coalesce(t.unit, r.unit) AS unit, coalesce(sold, 0) - coalesce(back, 0) AS kept, n FROM t FULL OUTER JOIN r ON t.day_id = r.day_id AND t.unit = r.unit

-- name: chan_three_full_outer
WITH t AS (SELECT good_id, sum(qty) AS q FROM till_sales GROUP BY good_id), m AS (SELECT good_id, sum(qty) AS q FROM mail_sales GROUP BY good_id), n AS (SELECT good_id, sum(qty) AS q FROM net_sales GROUP BY good_id)
SELECT coalesce(t.good_id, m.good_id, n.good_id) AS good, coalesce(t.q, 0) AS till, coalesce(m.q, 0) AS mail, coalesce(n.q, 0) AS net, CASE WHEN t.q > coalesce(m.q, 0) + coalesce(n.q, 0) THEN 'till' ELSE 'far' END AS stronger
FROM t FULL JOIN m ON t.good_id = m.good_id FULL JOIN n ON coalesce(t.good_id, m.good_id) = n.good_id

-- name: chan_running_full_outer
WITH t AS (SELECT good_id, day_id, sum(sum(paid)) OVER (PARTITION BY good_id ORDER BY day_id ROWS UNBOUNDED PRECEDING) AS run FROM till_sales WHERE good_id IS NOT NULL AND day_id IS NOT NULL GROUP BY good_id, day_id),
n AS (SELECT good_id, day_id, sum(sum(paid)) OVER (PARTITION BY good_id ORDER BY day_id ROWS UNBOUNDED PRECEDING) AS run FROM net_sales WHERE good_id IS NOT NULL AND day_id IS NOT NULL GROUP BY good_id, day_id)
SELECT * FROM (
  SELECT good_id, day_id, net, till, max(net) OVER (PARTITION BY good_id ORDER BY day_id ROWS UNBOUNDED PRECEDING) AS net_so_far, max(till) OVER (PARTITION BY good_id ORDER BY day_id ROWS UNBOUNDED PRECEDING) AS till_so_far
  FROM (SELECT coalesce(n.good_id, t.good_id) AS good_id, coalesce(n.day_id, t.day_id) AS day_id, n.run AS net, t.run AS till FROM n FULL OUTER JOIN t ON n.good_id = t.good_id AND n.day_id = t.day_id) AS x) AS y
WHERE net_so_far > till_so_far ORDER BY good_id, day_id LIMIT 100

-- name: chan_weekday_pivot
WITH both AS (SELECT day_id, paid FROM mail_sales UNION ALL SELECT day_id, paid FROM net_sales)
SELECT d.week, sum(CASE WHEN weekday = 'Sunday' THEN paid END) AS sun, sum(CASE WHEN weekday = 'Monday' THEN paid END) AS mon, sum(CASE WHEN weekday = 'Friday' THEN paid ELSE NULL END) AS fri, sum(paid) AS week_total FROM both b JOIN days d ON b.day_id = d.day_id GROUP BY d.week

-- name: chan_weeks_year_over_year
WITH both AS (SELECT day_id, paid FROM mail_sales UNION ALL SELECT day_id, paid FROM net_sales),
weeks AS (SELECT d.week, sum(CASE WHEN weekday = 'Sunday' THEN paid END) AS sun, sum(CASE WHEN weekday = 'Monday' THEN paid END) AS mon FROM both b JOIN days d ON b.day_id = d.day_id GROUP BY d.week)
SELECT y.week, round(y.sun / nullif(z.sun, 0), 2) AS sun, round(y.mon / nullif(z.mon, 0), 2) AS mon
FROM (SELECT w.* FROM weeks w WHERE w.week IN (SELECT week FROM days WHERE year = 2021)) y JOIN (SELECT w.* FROM weeks w WHERE w.week IN (SELECT week FROM days WHERE year = 2022)) z ON y.week = z.week - 52

-- name: chan_group_of_counts
SELECT channel, what, d.year, d.quarter, g.category, count(*) AS n, sum(paid) AS total FROM (
  SELECT 'till' AS channel, 'shop' AS what, day_id, good_id, paid FROM till_sales WHERE shop_id IS NULL
  UNION ALL SELECT 'mail', 'depot', day_id, good_id, paid FROM mail_sales WHERE depot IS NULL
  UNION ALL SELECT 'net', 'place', day_id, good_id, paid FROM net_sales WHERE place_id IS NULL) AS x
JOIN days d ON x.day_id = d.day_id JOIN goods g ON x.good_id = g.good_id GROUP BY channel, what, d.year, d.quarter, g.category

-- name: chan_bought_everywhere
SELECT count(*) AS n FROM (
  SELECT DISTINCT c.last, c.first, d.day FROM till_sales s JOIN days d ON s.day_id = d.day_id JOIN shoppers c ON s.shopper_id = c.shopper_id
  INTERSECT SELECT DISTINCT c.last, c.first, d.day FROM mail_sales s JOIN days d ON s.day_id = d.day_id JOIN shoppers c ON s.shopper_id = c.shopper_id
  INTERSECT SELECT DISTINCT c.last, c.first, d.day FROM net_sales s JOIN days d ON s.day_id = d.day_id JOIN shoppers c ON s.shopper_id = c.shopper_id) AS hot

-- name: chan_tills_only
SELECT count(*) AS n FROM ((SELECT DISTINCT c.last, c.first FROM till_sales s, shoppers c WHERE s.shopper_id = c.shopper_id)
  EXCEPT (SELECT DISTINCT c.last, c.first FROM mail_sales s, shoppers c WHERE s.shopper_id = c.shopper_id)
  EXCEPT (SELECT DISTINCT c.last, c.first FROM net_sales s, shoppers c WHERE s.shopper_id = c.shopper_id)) AS cool

-- name: chan_cross_goods
WITH shared AS (
  SELECT g.good_id FROM goods g JOIN (
    SELECT gt.maker, gt.class FROM till_sales s JOIN goods gt ON s.good_id = gt.good_id
    INTERSECT SELECT gm.maker, gm.class FROM mail_sales s JOIN goods gm ON s.good_id = gm.good_id
    INTERSECT SELECT gn.maker, gn.class FROM net_sales s JOIN goods gn ON s.good_id = gn.good_id) AS x ON g.maker = x.maker AND g.class = x.class),
typical AS (SELECT avg(qty * price) AS typical FROM (SELECT qty, price FROM till_sales UNION ALL SELECT qty, price FROM mail_sales UNION ALL SELECT qty, price FROM net_sales) AS a)
SELECT channel, maker, class, sum(sales) AS sales, sum(n) AS n FROM (
  SELECT 'till' AS channel, g.maker, g.class, sum(s.qty * s.price) AS sales, count(*) AS n FROM till_sales s JOIN goods g ON s.good_id = g.good_id WHERE s.good_id IN (SELECT good_id FROM shared) GROUP BY g.maker, g.class HAVING sum(s.qty * s.price) > (SELECT typical FROM typical)
  UNION ALL SELECT 'mail', g.maker, g.class, sum(s.qty * s.price), count(*) FROM mail_sales s JOIN goods g ON s.good_id = g.good_id WHERE s.good_id IN (SELECT good_id FROM shared) GROUP BY g.maker, g.class HAVING sum(s.qty * s.price) > (SELECT typical FROM typical)
  UNION ALL SELECT 'net', g.maker, g.class, sum(s.qty * s.price), count(*) FROM net_sales s JOIN goods g ON s.good_id = g.good_id WHERE s.good_id IN (SELECT good_id FROM shared) GROUP BY g.maker, g.class HAVING sum(s.qty * s.price) > (SELECT typical FROM typical)) AS y
GROUP BY ROLLUP (channel, maker, class)

-- name: chan_worst_return_ratios
SELECT 'net' AS channel, x.good, x.ratio, x.by_ratio, x.by_money FROM (
  SELECT good, ratio, money, rank() OVER (ORDER BY ratio) AS by_ratio, rank() OVER (ORDER BY money) AS by_money FROM (
    SELECT s.good_id AS good, CAST(sum(coalesce(r.qty, 0)) AS DECIMAL(15,4)) / CAST(sum(coalesce(s.qty, 1)) AS DECIMAL(15,4)) AS ratio, sum(coalesce(r.refund, 0)) - sum(coalesce(s.paid, 0)) AS money
    FROM net_sales s LEFT OUTER JOIN net_returns r ON s.order_no = r.order_no AND s.good_id = r.good_id GROUP BY s.good_id) AS a) AS x WHERE x.by_ratio <= 3 OR x.by_money <= 3
UNION SELECT 'till', y.good, y.ratio, y.by_ratio, y.by_money FROM (
  SELECT good, ratio, money, rank() OVER (ORDER BY ratio) AS by_ratio, rank() OVER (ORDER BY money) AS by_money FROM (
    SELECT s.good_id AS good, CAST(sum(coalesce(r.qty, 0)) AS DECIMAL(15,4)) / CAST(sum(coalesce(s.qty, 1)) AS DECIMAL(15,4)) AS ratio, sum(coalesce(r.refund, 0)) - sum(coalesce(s.paid, 0)) AS money
    FROM till_sales s LEFT OUTER JOIN till_returns r ON s.ticket = r.ticket AND s.good_id = r.good_id GROUP BY s.good_id) AS b) AS y WHERE y.by_ratio <= 3 OR y.by_money <= 3
ORDER BY 1, 4, 5, 2

-- name: chan_share_of_good
SELECT t.good_id, t.rev AS till, n.rev AS net, round(t.rev / nullif((t.rev + n.rev) / 2, 0) * 100, 2) AS dev, (t.rev + n.rev) / 2 AS mean
FROM (SELECT g.good_id, sum(s.paid) AS rev FROM till_sales s, goods g, days d WHERE s.good_id = g.good_id AND d.day IN (SELECT day FROM days WHERE week = (SELECT max(week) FROM days WHERE day = DATE '2021-01-04')) AND s.day_id = d.day_id GROUP BY g.good_id) t,
(SELECT g.good_id, sum(s.paid) AS rev FROM net_sales s, goods g, days d WHERE s.good_id = g.good_id AND d.day IN (SELECT day FROM days WHERE week = (SELECT max(week) FROM days WHERE day = DATE '2021-01-04')) AND s.day_id = d.day_id GROUP BY g.good_id) n
WHERE t.good_id = n.good_id AND t.rev BETWEEN 0.1 * n.rev AND 9 * n.rev

-- name: chan_returns_year_change
WITH kept AS (
  SELECT d.year, g.brand, g.category, s.qty - coalesce(r.qty, 0) AS q, s.paid - coalesce(r.refund, 0.0) AS amount FROM till_sales s JOIN goods g ON g.good_id = s.good_id JOIN days d ON d.day_id = s.day_id LEFT JOIN till_returns r ON s.ticket = r.ticket AND s.good_id = r.good_id
  UNION SELECT d.year, g.brand, g.category, s.qty - coalesce(r.qty, 0), s.paid - coalesce(r.refund, 0.0) FROM net_sales s JOIN goods g ON g.good_id = s.good_id JOIN days d ON d.day_id = s.day_id LEFT JOIN net_returns r ON s.order_no = r.order_no AND s.good_id = r.good_id),
yearly AS (SELECT year, brand, category, sum(q) AS q, sum(amount) AS amount FROM kept GROUP BY year, brand, category)
SELECT a.year AS prev, b.year AS cur, a.brand, a.category, a.q AS q0, b.q AS q1, b.q - a.q AS dq, b.amount - a.amount AS da FROM yearly a JOIN yearly b ON a.brand = b.brand AND a.category = b.category AND b.year = a.year + 1 WHERE CAST(b.q AS DECIMAL(17,2)) / nullif(CAST(a.q AS DECIMAL(17,2)), 0) < 0.9

-- name: chan_months_wide
SELECT depot, year, sum(jan) AS jan, sum(feb) AS feb, sum(dece) AS dece, sum(jan) / nullif(max(size), 0) AS jan_each FROM (
  SELECT s.depot, d.year, 20 AS size, sum(CASE WHEN d.month = 1 THEN s.paid * s.qty ELSE 0 END) AS jan, sum(CASE WHEN d.month = 2 THEN s.paid * s.qty ELSE 0 END) AS feb, sum(CASE WHEN d.month = 12 THEN s.paid * s.qty ELSE 0 END) AS dece FROM net_sales s, days d WHERE s.day_id = d.day_id AND d.year = 2022 GROUP BY s.depot, d.year
  UNION ALL SELECT s.depot, d.year, 30, sum(CASE WHEN d.month = 1 THEN s.paid * s.qty ELSE 0 END), sum(CASE WHEN d.month = 2 THEN s.paid * s.qty ELSE 0 END), sum(CASE WHEN d.month = 12 THEN s.paid * s.qty ELSE 0 END) FROM mail_sales s, days d WHERE s.day_id = d.day_id AND d.year = 2022 GROUP BY s.depot, d.year) AS x GROUP BY depot, year
