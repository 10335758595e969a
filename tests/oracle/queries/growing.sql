-- Over a table that only grows: limits keep what is within them, and extremes are cut before rows travel.

-- name: growing_last_of_each
SELECT sensor, n, heat, label, at
FROM (SELECT *, row_number() OVER (PARTITION BY sensor ORDER BY at DESC, n, heat, label, amount, seen) AS r
      FROM readings) AS t
WHERE r <= 1

-- name: growing_first_three_with_their_places
SELECT sensor, n, heat, amount, r
FROM (SELECT *, row_number() OVER (PARTITION BY sensor ORDER BY heat, n DESC, amount, label, at, seen) AS r
      FROM readings) AS t
WHERE r <= 3

-- name: growing_places_two_to_four
SELECT sensor, n, amount, r
FROM (SELECT *, row_number() OVER (PARTITION BY n ORDER BY amount DESC NULLS LAST, sensor, heat, label, at, seen) AS r
      FROM readings) AS t
WHERE r BETWEEN 2 AND 4

-- name: growing_top_of_all
SELECT sensor, n, label FROM readings ORDER BY label DESC, n, sensor, heat, amount, at, seen LIMIT 5

-- name: growing_top_behind_an_offset
SELECT n, seen FROM readings ORDER BY seen, n LIMIT 4 OFFSET 2

-- name: growing_top_of_copies
SELECT sensor, n FROM readings ORDER BY sensor, n LIMIT 7

-- name: growing_extremes
SELECT sensor, min(heat) AS coldest, max(heat) AS hottest, min(label) AS first_label, max(amount) AS most,
  min(at) AS since, max(seen) AS last, count(*) AS readings
FROM readings GROUP BY sensor

-- name: growing_extremes_of_all
SELECT max(heat) AS hottest, min(n) AS least, max(label) AS last_label FROM readings

-- name: growing_extremes_of_some
SELECT n, max(heat) FILTER (WHERE sensor = 'roof') AS roof, min(amount) FILTER (WHERE heat > 0) AS warm
FROM readings GROUP BY n

-- name: growing_beside_the_extreme
SELECT sensor, max(at) AS last, min_by(n, struct(amount, n)) AS n_at_least, max_by(n, struct(at, n)) AS n_last
FROM readings GROUP BY sensor

-- name: growing_pairs_top
SELECT sensor, n, m
FROM (SELECT a.sensor, a.n, b.n AS m,
        row_number() OVER (PARTITION BY a.sensor ORDER BY a.n + b.n DESC, a.n, b.n) AS r
      FROM readings AS a JOIN readings AS b ON a.sensor = b.sensor AND a.n = b.n + 1) AS t
WHERE r <= 2

-- name: growing_pairs_extreme
SELECT a.sensor, max(b.amount) AS most FROM readings AS a JOIN readings AS b ON a.n = b.n GROUP BY a.sensor

-- name: growing_beside_a_table_that_does_not
SELECT id, label
FROM (SELECT c.id, r.label, row_number() OVER (PARTITION BY c.id ORDER BY r.label, r.heat, r.at, r.seen) AS place
      FROM customers AS c JOIN readings AS r ON c.tier = r.n) AS t
WHERE place <= 1

-- name: growing_pairs
SELECT a.sensor, a.n, a.label, b.n AS m, b.label AS other
FROM readings AS a JOIN readings AS b ON a.sensor = b.sensor AND a.heat <= b.heat

-- name: growing_outer
SELECT c.id, r.n, r.label, r.heat FROM customers AS c FULL OUTER JOIN readings AS r ON c.tier = r.n AND r.heat > 0

-- name: growing_left_of_itself
SELECT a.sensor, a.n, b.label FROM readings AS a LEFT JOIN readings AS b ON a.n = b.n + 1 AND a.label <> b.label

-- name: growing_with_and_without
SELECT sensor, n, label, EXISTS (SELECT 1 FROM lines AS l WHERE l.qty = r.n AND l.product < r.label) AS dear
FROM readings AS r
WHERE NOT EXISTS (SELECT 1 FROM customers AS c WHERE c.tier = r.n AND c.name = r.label)
  AND r.n IN (SELECT n + 1 FROM readings)

-- name: growing_sessions
SELECT sensor, count(*) AS readings, min(at) AS since, max(at) AS last
FROM readings GROUP BY sensor, session_window(at, '10 minutes')

-- name: growing_sessions_with_extremes
SELECT sensor, label, session_window.start AS since, session_window.end AS until, count(1) AS readings,
  max(hash(n)) AS most, min(xxhash64(n)) AS least, max(coalesce(CAST(at AS DATE), DATE'1970-01-01')) AS day
FROM readings WHERE at IS NOT NULL GROUP BY label, session_window(at, '2 hours'), sensor

-- name: growing_sessions_of_all
SELECT session_window, count(*) AS readings FROM readings GROUP BY session_window(at, '1 hour')

-- name: growing_sessions_with_what_parts_cannot_tell
SELECT sensor, count(label) AS labels, max(heat) AS hottest, count(*) AS readings
FROM readings GROUP BY sensor, session_window(at, '10 minutes')
