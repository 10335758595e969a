-- Flink joins sessions that are exactly the gap apart, so the gap is one step of the clock less than 10 seconds.
SELECT bidder, COUNT(*) AS bid_count, MIN(date_time) AS starttime, MAX(date_time) AS last_bid
FROM TABLE(SESSION(TABLE bid PARTITION BY bidder, DESCRIPTOR(date_time), INTERVAL '9.990' SECOND(1, 3)))
GROUP BY bidder, window_start, window_end
