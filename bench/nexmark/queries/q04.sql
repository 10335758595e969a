-- Average price for a category: of the winning bids of all auctions.
SELECT category, avg(final) AS average
FROM (
  SELECT max(b.price) AS final, a.category
  FROM auction AS a JOIN bid AS b ON a.id = b.auction
  WHERE b.date_time BETWEEN a.date_time AND a.expires
  GROUP BY a.id, a.category
) AS winning
GROUP BY category
