SELECT
  id, item_name, description, initial_bid, reserve, auction_time, expires, seller, category, auction_extra,
  auction, bidder, price, bid_time, bid_extra
FROM (
  SELECT
    a.id, a.item_name, a.description, a.initial_bid, a.reserve, a.date_time AS auction_time, a.expires,
    a.seller, a.category, a.extra AS auction_extra,
    b.auction, b.bidder, b.price, b.date_time AS bid_time, b.extra AS bid_extra,
    ROW_NUMBER() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.date_time) AS place
  FROM auction AS a JOIN bid AS b ON a.id = b.auction
  WHERE b.date_time BETWEEN a.date_time AND a.expires
)
WHERE place <= 1
