-- Average selling price by seller: over each auction's winning bid and those of the ten before it.
SELECT
  seller,
  id,
  avg(final) OVER (
    PARTITION BY seller ORDER BY won, id ROWS BETWEEN 10 PRECEDING AND CURRENT ROW
  ) AS average
FROM (
  SELECT a.id, a.seller, b.price AS final, b.date_time AS won
  FROM auction AS a JOIN bid AS b ON a.id = b.auction
  WHERE b.date_time BETWEEN a.date_time AND a.expires
  QUALIFY row_number() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.date_time) = 1
) AS winning
