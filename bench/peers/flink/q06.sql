SELECT
  seller,
  id,
  AVG(CAST(final AS DOUBLE)) OVER (
    PARTITION BY seller ORDER BY won, id ROWS BETWEEN 10 PRECEDING AND CURRENT ROW
  ) AS average
FROM (
  SELECT id, seller, final, won
  FROM (
    SELECT
      a.id, a.seller, b.price AS final, b.date_time AS won,
      ROW_NUMBER() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.date_time) AS place
    FROM auction AS a JOIN bid AS b ON a.id = b.auction
    WHERE b.date_time BETWEEN a.date_time AND a.expires
  )
  WHERE place <= 1
)
