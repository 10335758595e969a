-- Highest bid: in each window of 10 seconds.
SELECT b.auction, b.price, b.bidder, b.date_time, b.extra
FROM bid AS b JOIN (
  SELECT max(price) AS maxprice, window.start AS starttime, window.end AS endtime
  FROM bid
  GROUP BY window(date_time, '10 seconds')
) AS highest
  ON b.price = highest.maxprice
WHERE b.date_time >= highest.starttime AND b.date_time < highest.endtime
