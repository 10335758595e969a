-- Log to files: every bid with the day and the minute it would be filed under.
SELECT
  auction, bidder, price, date_time, extra,
  date_format(date_time, 'yyyy-MM-dd') AS day,
  date_format(date_time, 'HH:mm') AS minute
FROM bid
