-- GROUP BY ROLLUP, CUBE and GROUPING SETS over joins, with grouping() and windows on top.

-- name: roll_margin_hierarchy
SELECT sum(profit) / nullif(sum(paid), 0) AS margin, g.category, g.class, grouping(g.category) + grouping(g.class) AS level, rank() OVER (PARTITION BY grouping(g.category) + grouping(g.class), CASE WHEN grouping(g.class) = 0 THEN g.category END ORDER BY sum(profit) / nullif(sum(paid), 0) ASC) AS place
FROM till_sales s JOIN days d ON d.day_id = s.day_id JOIN goods g ON g.good_id = s.good_id JOIN shops p ON p.shop_id = s.shop_id WHERE d.year = 2021 AND p.state IN ('TN', 'GA', 'CA') GROUP BY ROLLUP (g.category, g.class)

-- name: roll_margin_hierarchy_limit
SELECT sum(profit) AS total, g.category, g.class, grouping(g.category) + grouping(g.class) AS level, rank() OVER (PARTITION BY grouping(g.category) + grouping(g.class), CASE WHEN grouping(g.class) = 0 THEN g.category END ORDER BY sum(profit) DESC) AS place
FROM net_sales s, days d, goods g WHERE d.day_id = s.day_id AND g.good_id = s.good_id GROUP BY ROLLUP (g.category, g.class)
ORDER BY level DESC, CASE WHEN level = 0 THEN category END, place, class LIMIT 100

-- name: roll_stock_levels
SELECT g.brand, g.class, g.category, g.code, avg(i.on_hand) AS qoh FROM stock i, days d, goods g WHERE i.day_id = d.day_id AND i.good_id = g.good_id AND d.month BETWEEN 1 AND 12 GROUP BY ROLLUP (g.brand, g.class, g.category, g.code)

-- name: roll_averages_by_place
SELECT g.code, p.state, p.county, p.city, avg(CAST(m.qty AS DECIMAL(12,2))) AS a1, avg(CAST(m.price AS DECIMAL(12,2))) AS a2, avg(CAST(m.paid AS DECIMAL(12,2))) AS a3, avg(CAST(c.born AS DECIMAL(12,2))) AS a4, avg(t.children) AS a5
FROM mail_sales m, traits t, shoppers c, places p, days d, goods g WHERE m.day_id = d.day_id AND m.good_id = g.good_id AND m.shopper_id = c.shopper_id AND c.traits_id = t.traits_id AND c.place_id = p.place_id AND t.school IN ('College', 'Degree') GROUP BY ROLLUP (g.code, p.state, p.county, p.city)

-- name: roll_state_ranks_with_top_states
SELECT sum(s.profit) AS total, p.state, p.shop, grouping(p.state) + grouping(p.shop) AS level, rank() OVER (PARTITION BY grouping(p.state) + grouping(p.shop), CASE WHEN grouping(p.shop) = 0 THEN p.state END ORDER BY sum(s.profit) DESC) AS place
FROM till_sales s JOIN days d ON d.day_id = s.day_id JOIN shops p ON p.shop_id = s.shop_id WHERE p.state IN (SELECT state FROM (SELECT p2.state AS state, rank() OVER (PARTITION BY p2.state ORDER BY sum(s2.profit) DESC) AS r FROM till_sales s2, shops p2, days d2 WHERE d2.day_id = s2.day_id AND p2.shop_id = s2.shop_id GROUP BY p2.state) AS ranked WHERE r <= 5) GROUP BY ROLLUP (p.state, p.shop)

-- name: roll_cube_traits
SELECT t.sex, t.married, d.year, count(*) AS n, sum(s.qty) AS qty, grouping_id() AS id FROM till_sales s JOIN traits t ON s.traits_id = t.traits_id JOIN days d ON s.day_id = d.day_id GROUP BY CUBE (t.sex, t.married, d.year)

-- name: roll_sets_mixed
SELECT coalesce(p.state, 'all') AS state, g.category, d.year, sum(s.paid) AS total, count(DISTINCT s.shopper_id) AS shoppers FROM till_sales s JOIN places p ON s.place_id = p.place_id JOIN goods g ON s.good_id = g.good_id JOIN days d ON s.day_id = d.day_id GROUP BY GROUPING SETS ((p.state, g.category), (g.category, d.year), (d.year), ())

-- name: roll_top_rows_of_each_category
SELECT * FROM (SELECT category, class, brand, year, quarter, shop_id, total, rank() OVER (PARTITION BY category ORDER BY total DESC) AS r FROM (
  SELECT g.category, g.class, g.brand, d.year, d.quarter, s.shop_id, sum(coalesce(s.price * s.qty, 0)) AS total FROM till_sales s, days d, shops p, goods g WHERE s.day_id = d.day_id AND s.good_id = g.good_id AND s.shop_id = p.shop_id GROUP BY ROLLUP (g.category, g.class, g.brand, d.year, d.quarter, s.shop_id)) AS a) AS b WHERE r <= 5

-- name: roll_having_grouping
SELECT g.category, d.year, sum(s.paid) AS total FROM net_sales s JOIN goods g ON g.good_id = s.good_id JOIN days d ON d.day_id = s.day_id GROUP BY ROLLUP (g.category, d.year) HAVING grouping(d.year) = 0 OR sum(s.paid) > 10

-- name: roll_share_of_parent
SELECT category, class, total, total / nullif(sum(total) OVER (PARTITION BY category), 0) AS share, sum(total) OVER (PARTITION BY category ORDER BY total DESC, class) AS running FROM (SELECT g.category, g.class, sum(s.paid) AS total, grouping(g.class) AS leaf FROM till_sales s JOIN goods g ON s.good_id = g.good_id GROUP BY ROLLUP (g.category, g.class)) AS x WHERE leaf = 0

-- name: roll_distinct_counts_by_level
SELECT p.state, g.category, count(DISTINCT s.ticket) AS tickets, count(DISTINCT s.shopper_id, s.day_id) AS visits, sum(DISTINCT s.price) AS prices, count(*) AS n FROM till_sales s JOIN shops p ON p.shop_id = s.shop_id JOIN goods g ON g.good_id = s.good_id GROUP BY ROLLUP (p.state, g.category)

-- name: roll_union_of_levels
WITH r AS (SELECT g.category, g.class, sum(s.profit) AS profit, sum(s.paid) AS paid FROM till_sales s JOIN goods g ON g.good_id = s.good_id JOIN days d ON d.day_id = s.day_id WHERE d.year = 2021 GROUP BY g.category, g.class),
levels AS (SELECT profit, category, class, 0 AS level FROM r UNION SELECT sum(profit), category, NULL, 1 FROM r GROUP BY category UNION SELECT sum(profit), NULL, NULL, 2 FROM r)
SELECT level, category, class, profit, rank() OVER (PARTITION BY level, CASE WHEN level = 0 THEN category END ORDER BY profit) AS place FROM levels

-- name: roll_two_rollups_joined
WITH a AS (SELECT shop_id, d.year, sum(paid) AS sold FROM till_sales s JOIN days d ON s.day_id = d.day_id GROUP BY ROLLUP (shop_id, d.year)), b AS (SELECT shop_id, d.year, sum(refund) AS back FROM till_returns s JOIN days d ON s.day_id = d.day_id GROUP BY ROLLUP (shop_id, d.year))
SELECT a.shop_id, a.year, sold, back FROM a LEFT JOIN b ON a.shop_id <=> b.shop_id AND a.year <=> b.year
