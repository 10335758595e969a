-- Windows of time: tumbling, sliding, and what is grouped by them.

-- name: time_tumbling
SELECT window(at, '1 hour').start AS s, window(at, '1 hour').end AS e, count(*) AS n FROM orders GROUP BY window(at, '1 hour')

-- name: time_sliding
SELECT w.start AS s, kind, count(*) AS n, max(k) AS m FROM (SELECT window(at, '10 days', '5 days') AS w, kind, k FROM events)
GROUP BY w, kind

-- name: time_offset
SELECT window(at, '1 day', '1 day', '6 hours') AS w, sum(amount) AS total FROM orders GROUP BY 1

-- name: time_of_window
SELECT window_time(w) AS t, n FROM (SELECT window(at, '12 hours') AS w, count(*) AS n FROM orders GROUP BY window(at, '12 hours'))

-- name: time_inline_outer
SELECT id, inline_outer(array(struct(status AS a, amount AS b))) FROM orders
