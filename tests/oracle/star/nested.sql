-- Subqueries in every place: correlated averages, EXISTS under OR, scalars in CASE and HAVING, IN of IN.

-- name: nest_returns_above_shop_mean
WITH back AS (SELECT r.shopper_id, r.shop_id, sum(r.refund) AS total FROM till_returns r JOIN days d ON r.day_id = d.day_id WHERE d.year = 2021 GROUP BY r.shopper_id, r.shop_id)
SELECT c.shopper_id, c.first, c.last FROM back b1 JOIN shops p ON p.shop_id = b1.shop_id JOIN shoppers c ON b1.shopper_id = c.shopper_id WHERE b1.total > (SELECT avg(total) * 1.2 FROM back b2 WHERE b1.shop_id = b2.shop_id) AND p.state = 'TN'

-- name: nest_active_in_some_channel
SELECT t.sex, t.married, t.school, count(*) AS n, min(t.children) AS lo, max(t.children) AS hi, avg(t.children) AS mean FROM shoppers c JOIN places p ON c.place_id = p.place_id JOIN traits t ON t.traits_id = c.traits_id
WHERE EXISTS (SELECT 1 FROM till_sales s JOIN days d ON s.day_id = d.day_id WHERE c.shopper_id = s.shopper_id AND d.year = 2021) AND (EXISTS (SELECT * FROM net_sales s, days d WHERE c.shopper_id = s.shopper_id AND s.day_id = d.day_id AND d.year = 2021) OR EXISTS (SELECT * FROM mail_sales s, days d WHERE c.shopper_id = s.shopper_id AND s.day_id = d.day_id AND d.year = 2021)) GROUP BY t.sex, t.married, t.school

-- name: nest_tills_but_no_net
SELECT t.sex, t.school, count(*) AS n FROM shoppers c, places p, traits t WHERE c.place_id = p.place_id AND p.state IN ('TN', 'GA', 'WA') AND t.traits_id = c.traits_id AND EXISTS (SELECT * FROM till_sales s WHERE c.shopper_id = s.shopper_id) AND NOT EXISTS (SELECT * FROM net_sales s, days d WHERE c.shopper_id = s.shopper_id AND s.day_id = d.day_id AND d.year = 2022) AND NOT EXISTS (SELECT * FROM mail_sales s WHERE c.shopper_id = s.shopper_id AND s.qty > 5) GROUP BY t.sex, t.school

-- name: nest_dear_goods_by_state
SELECT p.state, count(*) AS n FROM places p, shoppers c, till_sales s, days d, goods g WHERE p.place_id = c.place_id AND c.shopper_id = s.shopper_id AND s.day_id = d.day_id AND s.good_id = g.good_id AND d.month = (SELECT max(month) FROM days WHERE year = 2021 AND quarter = 1) AND g.price > 1.2 * (SELECT avg(j.price) FROM goods j WHERE j.category = g.category) GROUP BY p.state HAVING count(*) >= 1

-- name: nest_case_of_scalars
SELECT CASE WHEN (SELECT count(*) FROM till_sales WHERE qty BETWEEN 1 AND 5) > 10 THEN (SELECT avg(paid) FROM till_sales WHERE qty BETWEEN 1 AND 5) ELSE (SELECT avg(profit) FROM till_sales WHERE qty BETWEEN 1 AND 5) END AS low, CASE WHEN (SELECT count(*) FROM till_sales WHERE qty > 5) > 8 THEN (SELECT avg(paid) FROM till_sales WHERE qty > 5) ELSE (SELECT avg(profit) FROM till_sales WHERE qty > 5) END AS high FROM shops WHERE shop_id = 1

-- name: nest_zip_or_price
SELECT p.zip, p.city, sum(s.paid) AS total FROM net_sales s, shoppers c, places p, days d, goods g WHERE s.shopper_id = c.shopper_id AND c.place_id = p.place_id AND s.good_id = g.good_id AND (substr(p.zip, 1, 3) IN ('303', '941') OR g.code IN (SELECT code FROM goods WHERE good_id IN (2, 3, 5))) AND s.day_id = d.day_id GROUP BY p.zip, p.city

-- name: nest_excess_discount
SELECT sum(s.paid) AS excess FROM net_sales s, goods g, days d WHERE g.maker = 11 AND g.good_id = s.good_id AND d.day_id = s.day_id AND s.paid > (SELECT 1.3 * avg(s2.paid) FROM net_sales s2, days d2 WHERE s2.good_id = g.good_id AND d2.day_id = s2.day_id AND d2.year BETWEEN 2021 AND 2022)

-- name: nest_order_from_two_depots
SELECT count(DISTINCT m.order_no) AS orders, sum(m.paid) AS cost, sum(m.profit) AS profit FROM mail_sales m, days d, places p WHERE m.ship_day_id = d.day_id AND m.place_id = p.place_id AND EXISTS (SELECT * FROM mail_sales o WHERE m.order_no = o.order_no AND m.depot <> o.depot) AND NOT EXISTS (SELECT * FROM net_returns r WHERE m.order_no = r.order_no AND r.qty > 2)

-- name: nest_two_depots_in_cte
WITH moved AS (SELECT a.order_no, a.depot AS d1, b.depot AS d2 FROM net_sales a, net_sales b WHERE a.order_no = b.order_no AND a.depot <> b.depot)
SELECT count(DISTINCT s.order_no) AS orders, sum(s.paid) AS paid FROM net_sales s, days d, places p WHERE s.ship_day_id = d.day_id AND s.place_id = p.place_id AND s.order_no IN (SELECT order_no FROM moved) AND s.order_no IN (SELECT r.order_no FROM net_returns r, moved WHERE r.order_no = moved.order_no)

-- name: nest_same_colour_family
SELECT DISTINCT g1.code FROM goods g1 WHERE g1.maker BETWEEN 11 AND 12 AND (SELECT count(*) AS n FROM goods g WHERE (g.maker = g1.maker AND ((g.category = 'Home' AND g.color IN ('red', 'pale')) OR (g.category = 'Sport' AND g.color = 'blue'))) OR (g.maker = g1.maker AND g.class = 'rug')) > 0

-- name: nest_frequent_goods_best_shoppers
WITH frequent AS (SELECT substr(g.brand, 1, 5) AS b, g.good_id, d.day, count(*) AS n FROM till_sales s, days d, goods g WHERE s.day_id = d.day_id AND s.good_id = g.good_id GROUP BY substr(g.brand, 1, 5), g.good_id, d.day HAVING count(*) >= 1),
top AS (SELECT max(total) AS most FROM (SELECT c.shopper_id, sum(s.qty * s.price) AS total FROM till_sales s, shoppers c, days d WHERE s.shopper_id = c.shopper_id AND s.day_id = d.day_id GROUP BY c.shopper_id) AS x),
best AS (SELECT c.shopper_id, sum(s.qty * s.price) AS total FROM till_sales s, shoppers c WHERE s.shopper_id = c.shopper_id GROUP BY c.shopper_id HAVING sum(s.qty * s.price) > 0.3 * (SELECT most FROM top))
SELECT sum(sales) AS sales FROM (SELECT m.qty * m.price AS sales FROM mail_sales m JOIN days d ON m.day_id = d.day_id WHERE m.good_id IN (SELECT good_id FROM frequent) AND m.shopper_id IN (SELECT shopper_id FROM best) UNION ALL SELECT n.qty * n.price FROM net_sales n JOIN days d ON n.day_id = d.day_id WHERE n.good_id IN (SELECT good_id FROM frequent) AND n.shopper_id IN (SELECT shopper_id FROM best)) AS y

-- name: nest_paid_by_colour_over_mean
WITH ssales AS (SELECT c.last, c.first, p.shop, pl.state, g.color, g.price, sum(s.paid) AS paid FROM till_sales s, till_returns r, shops p, goods g, shoppers c, places pl WHERE s.ticket = r.ticket AND s.good_id = r.good_id AND s.shopper_id = c.shopper_id AND s.good_id = g.good_id AND s.shop_id = p.shop_id AND c.place_id = pl.place_id AND p.staff >= 5 GROUP BY c.last, c.first, p.shop, pl.state, g.color, g.price)
SELECT last, first, shop, sum(paid) AS paid FROM ssales WHERE color LIKE '%red' GROUP BY last, first, shop HAVING sum(paid) > (SELECT 0.05 * avg(paid) FROM ssales)

-- name: nest_having_scalar_correlated_join
SELECT g.category, count(*) AS n, max(s.price) AS top FROM till_sales s JOIN goods g ON s.good_id = g.good_id GROUP BY g.category HAVING max(s.price) >= (SELECT avg(price) FROM net_sales) AND count(*) > (SELECT count(*) FROM mail_sales) / 20

-- name: nest_not_in_of_not_in
SELECT c.shopper_id, c.last FROM shoppers c WHERE c.shopper_id NOT IN (SELECT shopper_id FROM till_returns WHERE shopper_id IS NOT NULL AND good_id NOT IN (SELECT good_id FROM goods WHERE category = 'Home')) AND c.traits_id IS NOT NULL

-- name: nest_not_in_with_nulls
SELECT s.ticket, s.good_id FROM till_sales s WHERE s.shopper_id NOT IN (SELECT shopper_id FROM net_returns WHERE qty > 2) AND s.deal_id IN (SELECT deal_id FROM deals WHERE by_mail)

-- name: nest_in_or_in
SELECT c.shopper_id, p.city FROM shoppers c LEFT JOIN places p ON c.place_id = p.place_id WHERE c.shopper_id IN (SELECT shopper_id FROM mail_sales WHERE qty >= 20) OR c.shopper_id IN (SELECT shopper_id FROM net_sales WHERE qty >= 20) OR p.state IN (SELECT state FROM shops WHERE staff > 40)

-- name: nest_not_in_or_exists
SELECT g.good_id, g.code FROM goods g WHERE g.good_id NOT IN (SELECT good_id FROM till_returns WHERE good_id IS NOT NULL) OR EXISTS (SELECT 1 FROM stock i WHERE i.good_id = g.good_id AND i.on_hand > 100) AND g.price > 1

-- name: nest_exists_in_select
SELECT g.good_id, EXISTS (SELECT 1 FROM till_sales s WHERE s.good_id = g.good_id) AS sold, g.good_id IN (SELECT good_id FROM net_returns) AS returned, CASE WHEN NOT EXISTS (SELECT 1 FROM stock i WHERE i.good_id = g.good_id AND i.on_hand > 0) THEN 'out' ELSE 'in' END AS state FROM goods g

-- name: nest_scalar_per_row
SELECT c.shopper_id, (SELECT sum(paid) FROM till_sales s WHERE s.shopper_id = c.shopper_id) AS till, (SELECT count(*) FROM net_sales s WHERE s.shopper_id = c.shopper_id) AS net, (SELECT max(d.day) FROM mail_sales m JOIN days d ON m.day_id = d.day_id WHERE m.shopper_id = c.shopper_id) AS last_mail, coalesce((SELECT min(city) FROM places p WHERE p.place_id = c.place_id), '?') AS city FROM shoppers c

-- name: nest_scalar_of_scalar
SELECT s.ticket, s.good_id, s.paid FROM till_sales s WHERE s.paid > (SELECT avg(paid) FROM till_sales t WHERE t.shop_id = s.shop_id AND t.price < (SELECT max(price) FROM goods))

-- name: nest_max_of_group_join
SELECT s.shop_id, s.ticket, s.good_id, s.price FROM till_sales s WHERE (s.shop_id, s.price) IN (SELECT shop_id, max(price) FROM till_sales GROUP BY shop_id)

-- name: nest_all_of
SELECT c.shopper_id FROM shoppers c WHERE NOT EXISTS (SELECT 1 FROM shops p LEFT ANTI JOIN till_sales s ON s.shop_id = p.shop_id AND s.qty > 1 WHERE p.staff < c.born - 1955)

-- name: nest_count_bug
SELECT p.shop_id, p.shop FROM shops p WHERE (SELECT count(*) FROM till_returns r WHERE r.shop_id = p.shop_id AND r.refund > 5) = 0 OR p.staff > (SELECT count(*) FROM till_sales s WHERE s.shop_id = p.shop_id)

-- name: nest_grouped_exists_having
SELECT s.shopper_id, sum(s.paid) AS total FROM till_sales s WHERE EXISTS (SELECT r.ticket FROM till_returns r WHERE r.shopper_id = s.shopper_id GROUP BY r.ticket HAVING sum(r.qty) > 2) GROUP BY s.shopper_id HAVING sum(s.paid) > (SELECT avg(t) FROM (SELECT sum(paid) AS t FROM till_sales GROUP BY shopper_id) AS x) / 2

-- name: nest_lateral_best_three
SELECT p.shop_id, p.shop, b.good_id, b.total FROM shops p, LATERAL (SELECT s.good_id, sum(s.paid) AS total FROM till_sales s WHERE s.shop_id = p.shop_id GROUP BY s.good_id ORDER BY total DESC, s.good_id LIMIT 3) AS b

-- name: nest_lateral_left
SELECT c.shopper_id, l.day, l.n FROM shoppers c LEFT JOIN LATERAL (SELECT max(d.day) AS day, count(*) AS n FROM till_sales s JOIN days d ON s.day_id = d.day_id WHERE s.shopper_id = c.shopper_id AND d.year = c.born + 61) AS l ON true

-- name: nest_lateral_alias_chain
SELECT s.ticket, s.good_id, x.gross, y.net FROM till_sales s, LATERAL (SELECT s.price * s.qty AS gross) AS x, LATERAL (SELECT x.gross - coalesce(s.cost, 0) AS net) AS y WHERE y.net > 0

-- name: nest_in_with_having
SELECT c.last, c.first, x.ticket, x.n FROM (SELECT ticket, shopper_id, count(*) AS n FROM till_sales s, days d, shops p, traits t WHERE s.day_id = d.day_id AND s.shop_id = p.shop_id AND s.traits_id = t.traits_id AND (t.children >= 1 OR t.income > 10000) AND CASE WHEN t.children > 0 THEN t.income / t.children ELSE NULL END > 1.2 GROUP BY ticket, shopper_id) AS x, shoppers c WHERE x.shopper_id = c.shopper_id AND x.n BETWEEN 1 AND 20
