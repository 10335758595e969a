-- Hot items: the auctions with most bids in each window of 10 seconds, a new one every 2 seconds.
WITH counts AS (
  SELECT auction, window.start AS starttime, window.end AS endtime, count(*) AS num
  FROM bid
  GROUP BY auction, window(date_time, '10 seconds', '2 seconds')
),
most AS (
  SELECT max(num) AS maxn, starttime, endtime FROM counts GROUP BY starttime, endtime
)
SELECT counts.auction, counts.num, counts.starttime
FROM counts JOIN most ON counts.starttime = most.starttime AND counts.endtime = most.endtime
WHERE counts.num >= most.maxn
