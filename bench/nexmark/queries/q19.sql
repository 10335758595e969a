-- Auction top 10: of each auction the ten highest bids, the earlier first where prices are equal.
SELECT *
FROM (
  SELECT *, row_number() OVER (PARTITION BY auction ORDER BY price DESC, date_time) AS place FROM bid
) AS ranked
WHERE place <= 10
