-- Bounded side input: every bid with a value looked up. The side input is a static table here.
SELECT b.auction, b.bidder, b.price, b.date_time, s.value
FROM bid AS b JOIN side_input AS s ON b.auction % 1000 = s.key
