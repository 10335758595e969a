-- The window stays one column, as that is what Spark's watermark goes by.
WITH counts AS (
  SELECT auction, window, count(*) AS num
  FROM bid
  GROUP BY auction, window(date_time, '10 seconds', '2 seconds')
),
most AS (
  SELECT window, max(num) AS maxn FROM counts GROUP BY window
)
SELECT counts.auction, counts.num, counts.window.start AS starttime
FROM counts JOIN most ON counts.window = most.window
WHERE counts.num >= most.maxn
