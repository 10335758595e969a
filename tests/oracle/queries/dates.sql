-- Dates and times. The session's time zone is UTC.

-- name: date_parts
SELECT year(d) AS y, month(d) AS m, day(d) AS dd, dayofweek(d) AS w, dayofyear(d) AS yd, quarter(d) AS q FROM typed

-- name: time_parts
SELECT hour(at) AS h, minute(at) AS m, second(at) AS s, CAST(at AS DATE) AS d FROM orders

-- name: date_shifts
SELECT date_add(placed, 3) AS a, date_sub(placed, 60) AS b, add_months(placed, 12) AS c, last_day(placed) AS l
FROM orders

-- name: date_differences
SELECT datediff(placed, DATE'2024-01-01') AS a, placed - DATE'2024-02-29' AS b FROM orders

-- name: truncation
SELECT trunc(placed, 'MM') AS m, trunc(placed, 'YEAR') AS y, date_trunc('HOUR', at) AS h FROM orders

-- name: interval_added_to_time
SELECT at + INTERVAL '90' MINUTE AS a, placed + INTERVAL '1' MONTH AS b, at - INTERVAL '1' DAY AS c FROM orders

-- name: local_times
SELECT at, hour(at) AS h, at > TIMESTAMP_NTZ'2024-03-31 01:00:00' AS later FROM events

-- name: group_by_month
SELECT date_trunc('MONTH', at) AS m, count(*) AS n FROM orders GROUP BY date_trunc('MONTH', at)
