-- The average of whole numbers would be a whole number here.
SELECT category, AVG(CAST(final AS DOUBLE)) AS average
FROM (
  SELECT MAX(b.price) AS final, a.category
  FROM auction AS a JOIN bid AS b ON a.id = b.auction
  WHERE b.date_time BETWEEN a.date_time AND a.expires
  GROUP BY a.id, a.category
)
GROUP BY category
