WITH counts AS (
  SELECT auction, window_start, window_end, COUNT(*) AS num
  FROM TABLE(HOP(TABLE bid, DESCRIPTOR(date_time), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
  GROUP BY auction, window_start, window_end
),
most AS (
  SELECT window_start, window_end, MAX(num) AS maxn FROM counts GROUP BY window_start, window_end
)
SELECT counts.auction, counts.num, counts.window_start
FROM counts JOIN most ON counts.window_start = most.window_start AND counts.window_end = most.window_end
WHERE counts.num >= most.maxn
