-- Spark's own session windows; the last bid is what the window's end is counted from.
SELECT bidder, count(*) AS bid_count, min(date_time) AS starttime, max(date_time) AS last_bid
FROM bid
GROUP BY bidder, session_window(date_time, '9990 milliseconds')
