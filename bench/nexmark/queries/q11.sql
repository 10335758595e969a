-- User sessions: how many bids each bidder made until pausing for 10 seconds.
SELECT bidder, count(*) AS bid_count, min(date_time) AS starttime, max(date_time) AS last_bid
FROM (
  SELECT bidder, date_time, sum(opens) OVER (PARTITION BY bidder ORDER BY date_time) AS session
  FROM (
    SELECT
      bidder,
      date_time,
      CASE
        WHEN date_time < lag(date_time) OVER (PARTITION BY bidder ORDER BY date_time) + INTERVAL '10' SECOND
          THEN 0
        ELSE 1
      END AS opens
    FROM bid
  ) AS paused
) AS numbered
GROUP BY bidder, session
