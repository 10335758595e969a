SELECT b.auction, b.price, b.bidder, b.date_time, b.extra
FROM (
  SELECT * FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(date_time), INTERVAL '10' SECOND))
) AS b JOIN (
  SELECT window_start, window_end, MAX(price) AS maxprice
  FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(date_time), INTERVAL '10' SECOND))
  GROUP BY window_start, window_end
) AS highest
  ON b.window_start = highest.window_start AND b.window_end = highest.window_end AND b.price = highest.maxprice
