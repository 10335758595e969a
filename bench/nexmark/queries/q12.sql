-- Windows of bids: how many each bidder made in each 10 seconds. By event time: a view has no clock.
SELECT bidder, count(*) AS bid_count, window.start AS starttime, window.end AS endtime
FROM bid
GROUP BY bidder, window(date_time, '10 seconds')
