-- Find last bid: of every bidder on every auction.
SELECT auction, bidder, price, channel, url, date_time, extra
FROM (
  SELECT *, row_number() OVER (PARTITION BY bidder, auction ORDER BY date_time DESC) AS place FROM bid
) AS ranked
WHERE place <= 1
