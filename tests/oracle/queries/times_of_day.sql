-- name: times_fields
SELECT worker, hour(opens) AS h, minute(closes) AS m, second(seen) AS s, extract(SECOND FROM closes) AS e,
  CAST(closes AS STRING) AS t, CAST(opens AS INT) AS i, time_trunc('HOUR', seen) AS tr FROM shifts

-- name: times_filter
SELECT * FROM shifts WHERE closes >= TIME'06:00' AND opens <> TIME'12:00' OR seen IN (TIME'01:30:03', TIME'00:00')

-- name: times_group
SELECT closes, count(*) AS n, min(opens) AS first, max(seen) AS last, count(DISTINCT seen) AS seen FROM shifts
GROUP BY closes

-- name: times_join
SELECT l.worker AS l, r.worker AS r, l.opens, r.closes FROM shifts l JOIN shifts r ON l.opens = r.closes

-- name: times_outer_join
SELECT l.worker AS l, r.worker AS r, l.closes FROM shifts l LEFT JOIN shifts r ON l.closes <=> r.seen

-- name: times_distances
SELECT worker, closes - opens AS open_for, time_diff('MINUTE', opens, closes) AS minutes,
  make_timestamp_ntz(day, closes) AS at FROM shifts

-- name: times_added
SELECT worker, opens + pause AS later FROM shifts
WHERE pause BETWEEN INTERVAL '0' HOUR AND INTERVAL '10' HOUR AND opens < TIME'13:00'

-- name: times_top
SELECT closes, worker, opens FROM shifts ORDER BY closes DESC, opens, worker LIMIT 3

-- name: times_windows
SELECT worker, opens, lag(closes) OVER (PARTITION BY worker ORDER BY opens) AS before,
  max(seen) OVER (PARTITION BY worker ORDER BY opens) AS latest,
  rank() OVER (PARTITION BY worker ORDER BY closes) AS r FROM shifts

-- name: times_sets
SELECT opens AS t FROM shifts UNION SELECT seen FROM shifts EXCEPT SELECT closes FROM shifts

-- name: times_statistics
SELECT worker, mode(opens, true) AS m, percentile(closes, 0.5) AS p, percentile_disc(0.5) WITHIN GROUP (ORDER BY seen) AS d,
  approx_count_distinct(closes) AS a, max_by(closes, (seen, opens)) AS x, sort_array(collect_set(closes)) AS c
FROM shifts GROUP BY worker

-- name: times_exploded
SELECT worker, opens, b FROM shifts LATERAL VIEW explode(breaks) AS b WHERE b > opens

-- name: times_subqueries
SELECT worker, opens, opens IN (SELECT closes FROM shifts WHERE worker = 'ann') AS i,
  (SELECT max(closes) FROM shifts) AS latest FROM shifts

-- name: times_made
SELECT worker, make_time(hour(opens), minute(opens), 30.5) AS made, time_from_seconds(CAST(opens AS INT)) AS s,
  time_from_millis(time_to_millis(closes)) AS ms, time_from_micros(time_to_micros(seen)) AS us,
  time_to_seconds(closes) AS n, try_to_time(worker) AS nothing FROM shifts
