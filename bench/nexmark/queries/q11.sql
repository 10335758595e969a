-- User sessions: how many bids each bidder made until pausing for 10 seconds. A bid belongs to the session even if
-- it comes in the very moment that it ends in, and times are whole hundredths: so the gap is that much shorter.
SELECT bidder, count(*) AS bid_count, min(date_time) AS starttime, max(date_time) AS last_bid
FROM bid
GROUP BY bidder, session_window(date_time, '9990 milliseconds')
