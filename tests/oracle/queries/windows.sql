-- Window functions. Where a function tells peers apart, the order is total; the others may have ties.

-- name: win_row_number
SELECT id, customer, row_number() OVER (PARTITION BY customer ORDER BY amount DESC, id) AS r FROM orders

-- name: win_row_number_all_rows
SELECT id, row_number() OVER (ORDER BY id) AS r FROM customers

-- name: win_ranks
SELECT id, rank() OVER w AS r, dense_rank() OVER w AS d, percent_rank() OVER w AS p, cume_dist() OVER w AS c FROM orders WINDOW w AS (PARTITION BY status ORDER BY customer)

-- name: win_rank_of_copies
SELECT kind, k, rank() OVER (PARTITION BY kind ORDER BY k DESC NULLS LAST) AS r FROM events

-- name: win_ntile
SELECT id, ntile(3) OVER (PARTITION BY status ORDER BY id) AS n, ntile(20) OVER (ORDER BY id) AS m FROM orders

-- name: win_lag_lead
SELECT id, lag(amount) OVER w AS a, lead(amount, 2, 0) OVER w AS b, lag(status, 3, note) OVER w AS c FROM orders WINDOW w AS (PARTITION BY customer ORDER BY id)

-- name: win_lag_ignore_nulls
SELECT id, lag(note) IGNORE NULLS OVER w AS a, lead(amount, 2) IGNORE NULLS OVER w AS b FROM orders WINDOW w AS (PARTITION BY status ORDER BY id)

-- name: win_first_last
SELECT id, first_value(amount) OVER w AS a, last_value(amount) OVER w AS b, nth_value(amount, 2) OVER w AS c FROM orders WINDOW w AS (PARTITION BY customer ORDER BY id)

-- name: win_first_last_ignore_nulls
SELECT id, first_value(note) IGNORE NULLS OVER w AS a, last_value(note) IGNORE NULLS OVER w AS b, nth_value(note, 2) IGNORE NULLS OVER w AS c FROM orders WINDOW w AS (PARTITION BY status ORDER BY id ROWS BETWEEN 3 PRECEDING AND 1 FOLLOWING)

-- name: win_running_sum
SELECT id, sum(amount) OVER (PARTITION BY customer ORDER BY id) AS s, count(*) OVER (PARTITION BY customer ORDER BY id) AS n FROM orders

-- name: win_running_rows
SELECT id, sum(amount) OVER w AS s, avg(amount) OVER w AS a, count(amount) OVER w AS n FROM orders WINDOW w AS (PARTITION BY status ORDER BY id ROWS UNBOUNDED PRECEDING)

-- name: win_running_peers
SELECT id, sum(amount) OVER (ORDER BY placed) AS s, max(amount) OVER (ORDER BY placed) AS m FROM orders

-- name: win_running_doubles
SELECT order_id, line, sum(price) OVER (PARTITION BY product ORDER BY order_id, line) AS s, avg(price) OVER (PARTITION BY product ORDER BY order_id, line) AS a FROM lines

-- name: win_sliding
SELECT id, sum(amount) OVER w AS s, min(amount) OVER w AS a, max(amount) OVER w AS b, count(*) OVER w AS n FROM orders WINDOW w AS (PARTITION BY status ORDER BY id ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING)

-- name: win_sliding_behind
SELECT id, sum(amount) OVER (PARTITION BY status ORDER BY id ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING) AS s, count(*) OVER (PARTITION BY status ORDER BY id ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING) AS n FROM orders

-- name: win_to_the_end
SELECT id, sum(amount) OVER (PARTITION BY status ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS s, min(amount) OVER (PARTITION BY status ORDER BY id RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS m FROM orders

-- name: win_whole_partition
SELECT id, sum(amount) OVER (PARTITION BY customer) AS s, count(*) OVER () AS n, max(placed) OVER (PARTITION BY status) AS m FROM orders

-- name: win_share_of_total
SELECT id, amount / sum(amount) OVER (PARTITION BY customer) AS share FROM orders WHERE amount > 0

-- name: win_range_numbers
SELECT g, i32, count(*) OVER (PARTITION BY g ORDER BY i32 RANGE BETWEEN 2 PRECEDING AND 1 FOLLOWING) AS n FROM tame

-- name: win_range_descending
SELECT g, i64, sum(i32) OVER (PARTITION BY g ORDER BY i64 DESC RANGE BETWEEN 3 PRECEDING AND CURRENT ROW) AS s FROM tame

-- name: win_range_decimals
SELECT g, d9, count(*) OVER (ORDER BY d9 RANGE BETWEEN 1.5 PRECEDING AND 2.5 FOLLOWING) AS n FROM tame

-- name: win_range_dates
SELECT id, placed, count(*) OVER (PARTITION BY status ORDER BY placed RANGE BETWEEN INTERVAL 30 DAYS PRECEDING AND CURRENT ROW) AS n, sum(amount) OVER (ORDER BY placed RANGE BETWEEN 10 PRECEDING AND 10 FOLLOWING) AS s FROM orders

-- name: win_range_times
SELECT id, at, count(*) OVER (ORDER BY at RANGE BETWEEN INTERVAL 1 DAY PRECEDING AND INTERVAL 2 DAYS FOLLOWING) AS n FROM orders

-- name: win_range_unbounded_to_value
SELECT g, i32, count(*) OVER (PARTITION BY g ORDER BY i32 RANGE BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING) AS n FROM tame

-- name: win_statistics
SELECT order_id, line, stddev(price) OVER w AS a, var_pop(qty) OVER w AS b, corr(qty, price) OVER w AS c FROM lines WINDOW w AS (PARTITION BY product ORDER BY order_id, line ROWS BETWEEN 2 PRECEDING AND 2 FOLLOWING)

-- name: win_filtered_aggregate
SELECT id, sum(amount) FILTER (WHERE status = 'paid') OVER (PARTITION BY customer ORDER BY id) AS s FROM orders

-- name: win_collect
SELECT id, collect_list(status) OVER (PARTITION BY customer ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS l, size(collect_set(status) OVER (PARTITION BY customer)) AS s FROM orders

-- name: win_qualify
SELECT id, customer FROM orders QUALIFY row_number() OVER (PARTITION BY customer ORDER BY amount DESC, id) <= 2

-- name: win_qualify_rank
SELECT id, status, amount FROM orders QUALIFY rank() OVER (PARTITION BY status ORDER BY amount DESC) <= 2

-- name: win_first_of_group
SELECT * FROM (SELECT id, region, tier, row_number() OVER (PARTITION BY region ORDER BY tier DESC NULLS LAST, id) AS r FROM customers) WHERE r = 1

-- name: win_over_aggregate
SELECT status, sum(amount) AS total, rank() OVER (ORDER BY sum(amount) DESC) AS r, sum(sum(amount)) OVER () AS overall FROM orders GROUP BY status

-- name: win_over_join
SELECT o.id, c.region, sum(o.amount) OVER (PARTITION BY c.region ORDER BY o.id) AS s FROM orders o JOIN customers c ON o.customer = c.id

-- name: win_several
SELECT id, row_number() OVER (PARTITION BY customer ORDER BY id) AS a, row_number() OVER (PARTITION BY status ORDER BY id DESC) AS b, count(*) OVER (PARTITION BY customer, status) AS c FROM orders

-- name: win_aggregated_again
SELECT r, count(*) AS n FROM (SELECT rank() OVER (PARTITION BY region ORDER BY tier) AS r FROM customers) GROUP BY r

-- name: win_by_expression
SELECT id, sum(amount) OVER (PARTITION BY customer % 2 ORDER BY length(note), id) AS s FROM orders

-- name: win_nulls_placed
SELECT id, rank() OVER (ORDER BY tier ASC NULLS LAST) AS a, rank() OVER (ORDER BY tier DESC NULLS FIRST) AS b FROM customers

-- name: win_doubles_ordered
SELECT k, x, rank() OVER (PARTITION BY kind ORDER BY x) AS r, sum(k) OVER (PARTITION BY kind ORDER BY x DESC) AS s FROM events

-- name: win_partition_by_double
SELECT x, count(*) OVER (PARTITION BY x) AS n FROM events

-- name: win_small_decimals
SELECT g, sum(d9) OVER (PARTITION BY g) AS s, avg(d9) OVER (PARTITION BY g) AS a FROM tame


-- name: window_first_and_last_value_filter
SELECT id, customer, first_value(amount) FILTER (WHERE status <> 'new') OVER (PARTITION BY customer ORDER BY id) AS f,
  last_value(amount) FILTER (WHERE status = 'paid') OVER (PARTITION BY customer ORDER BY id) AS l FROM orders

-- name: window_first_value_filter_ignore_nulls
SELECT id, first_value(note) FILTER (WHERE amount > 0) IGNORE NULLS OVER (ORDER BY placed, id ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING) AS f,
  last(note, true) FILTER (WHERE status = 'sent') OVER (ORDER BY placed, id) AS l, any_value(note) FILTER (WHERE customer > 1) OVER (ORDER BY id) AS a FROM orders

-- name: window_first_value_filter_null
SELECT id, first_value(id) FILTER (WHERE amount > 5) OVER (PARTITION BY status ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS f FROM orders
