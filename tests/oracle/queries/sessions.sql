-- Session windows: rows that touch in time, which merge when one comes between and split when it goes.

-- name: session_counted
SELECT status, count(*) AS n, min(at) AS first_at, max(at) AS last_at, sum(amount) AS total
FROM orders GROUP BY status, session_window(at, '30 minutes')

-- name: session_of_all_rows
SELECT session_window.start AS s, session_window.end AS e, count(*) AS n FROM orders GROUP BY session_window(at, '20 minutes')

-- name: session_as_struct
SELECT kind, session_window AS w, count(k) AS n, avg(k) AS mean FROM events GROUP BY kind, session_window(at, '45 minutes')

-- name: session_spread_out
SELECT w.start AS s, w.end AS e, kind, n FROM (
  SELECT session_window(moved, '19 minutes') AS w, kind, count(*) AS n
  FROM (SELECT timestampadd(MINUTE, 7 * k, at) AS moved, kind FROM events) GROUP BY 1, 2)

-- name: session_of_days
SELECT customer, session_window.end AS e, max(amount) AS m FROM orders GROUP BY customer, session_window(at, '1 day 30 minutes')

-- name: session_of_months
SELECT status, count(*) AS n, session_window AS w FROM orders GROUP BY status, session_window(at, '1 month')

-- name: session_only
SELECT session_window FROM orders GROUP BY session_window(at, '31 minutes')

-- name: session_keys_only
SELECT customer FROM orders GROUP BY customer, session_window(at, '30 minutes')

-- name: session_having
SELECT customer, count(*) AS n, session_window.start AS s FROM orders
GROUP BY customer, session_window(at, '30 minutes') HAVING count(*) > 1 AND max(amount) > 1

-- name: session_having_end
SELECT status, count(*) AS n FROM orders
GROUP BY status, session_window(at, '30 minutes') HAVING session_window.end > TIMESTAMP '2024-03-31 01:30:00Z'

-- name: session_by_expression
SELECT upper(status) AS u, customer % 2 AS odd, count(*) AS n, min(session_at) AS s FROM (
  SELECT status, customer, at AS session_at FROM orders)
GROUP BY upper(status), customer % 2, session_window(session_at, '40 minutes')

-- name: session_of_floats
SELECT x, count(*) AS n, session_window.start AS s FROM events GROUP BY x, session_window(at, '30 minutes')

-- name: session_over_a_join
SELECT c.region, count(*) AS n, sum(o.amount) AS total, session_window.end AS e
FROM orders o JOIN customers c ON o.customer = c.id GROUP BY c.region, session_window(o.at, '30 minutes')

-- name: session_distinct
SELECT status, count(DISTINCT customer) AS n, count(*) AS c, session_window.start AS s
FROM orders GROUP BY status, session_window(at, '1 hour')

-- name: session_filtered
SELECT kind, count(*) FILTER (WHERE ok) AS n, max(label) AS m, sort_array(collect_set(k)) AS ks
FROM events GROUP BY kind, session_window(at, '30 minutes')

-- name: session_appended
SELECT sensor, count(*) AS n, min(at) AS first_at, max(at) AS last_at, max(amount) AS m
FROM readings GROUP BY sensor, session_window(at, '30 minutes')

-- name: session_wild
SELECT sensor, count(*) AS n, session_window.start AS s FROM readings
WHERE year(seen) < 9000 GROUP BY sensor, session_window(seen, '1 hour')

-- name: session_two_gaps
SELECT a.status, a.s, a.n, b.n AS wide FROM
  (SELECT status, session_window.start AS s, count(*) AS n FROM orders GROUP BY status, session_window(at, '10 minutes')) a
  JOIN (SELECT status, session_window.start AS s, count(*) AS n FROM orders GROUP BY status, session_window(at, '2 hours')) b
  ON a.status = b.status AND a.s = b.s

-- name: session_view
SELECT customer, status, session_window AS w, count(*) AS n FROM orders GROUP BY customer, status, session_window(at, '30 minutes')

-- name: session_again
SELECT status, w, sum(n) AS n, count(*) AS parts FROM session_view GROUP BY status, w

-- name: session_late_of_view
SELECT customer, n FROM session_view WHERE w.start > TIMESTAMP '2024-03-31 01:00:00Z'

-- name: session_nested
SELECT session_window AS w, max(n) AS m FROM (
  SELECT customer, session_window, count(*) AS n FROM orders GROUP BY customer, session_window(at, '30 minutes'))
GROUP BY session_window

-- name: session_of_sessions
SELECT customer, session_window(window_time(w), '3 hours').start AS s, sum(n) AS n FROM session_view
GROUP BY customer, session_window(window_time(w), '3 hours')

-- name: session_ranked
SELECT status, w, n, row_number() OVER (PARTITION BY status ORDER BY n DESC, w) AS place FROM (
  SELECT status, session_window AS w, count(*) AS n FROM orders GROUP BY status, session_window(at, '30 minutes'))

-- name: session_unmerged
SELECT id, session_window(at, '30 minutes') AS w FROM orders

-- name: session_never
SELECT status, count(*) AS n FROM orders GROUP BY status, session_window(at, '-5 minutes')

-- name: session_windows_united
SELECT w FROM session_view UNION SELECT session_window(at, '10 minutes') FROM orders

-- name: session_windows_without
SELECT w FROM session_view EXCEPT SELECT session_window(at, '30 minutes') FROM orders WHERE status = 'new'

-- name: session_windows_counted
SELECT status, count(DISTINCT w) AS n FROM session_view GROUP BY status

-- name: session_windows_as_they_are
SELECT struct(w.start, w.end) AS w, count(*) AS n FROM session_view GROUP BY struct(w.start, w.end)

-- name: session_of_chosen_gaps
SELECT status, count(*) AS n, max(amount) AS m, session_window.end AS e FROM orders
GROUP BY status, session_window(at, CASE WHEN amount > 3 THEN '30 minutes' WHEN amount > 1 THEN '2 hours' WHEN amount > 0 THEN '0 seconds' ELSE '1 minute' END)

-- name: session_of_some_gaps
SELECT kind, count(*) AS n, min(at) AS s FROM events GROUP BY kind, session_window(at, if(ok, '1 month', NULL))

-- name: session_in
SELECT customer, n FROM session_view WHERE w IN (SELECT session_window FROM orders GROUP BY session_window(at, '30 minutes'))

-- name: interval_of_the_calendar
SELECT id, at + make_interval(0, 1, 0, 2, 3, 4, 5.25) AS later, at - make_interval(1, -1, 1) AS earlier FROM orders
