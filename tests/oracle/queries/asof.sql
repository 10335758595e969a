-- ASOF JOIN and NEAREST BY. Right sides are grouped where ties must not decide; with ties, Spark is asked for the
-- row that is stated in docs/row-order.md.

-- name: asof_backward
-- set: spark.sql.join.asofJoin.enabled = true
SELECT o.id, o.placed, c.cid, c.since FROM orders o
ASOF JOIN (SELECT tier, since, min(id) AS cid FROM customers GROUP BY tier, since) c
MATCH_CONDITION (o.placed >= c.since) ON o.customer = c.tier

-- name: asof_backward_left
-- set: spark.sql.join.asofJoin.enabled = true
SELECT o.id, o.placed, c.cid, c.since FROM orders o
LEFT ASOF JOIN (SELECT tier, since, min(id) AS cid FROM customers GROUP BY tier, since) c
MATCH_CONDITION (o.placed > c.since) ON o.customer = c.tier

-- name: asof_forward
-- set: spark.sql.join.asofJoin.enabled = true
SELECT o.id, o.placed, c.cid, c.since FROM orders o
ASOF JOIN (SELECT tier, since, min(id) AS cid FROM customers GROUP BY tier, since) c
MATCH_CONDITION (o.placed < c.since) ON o.customer = c.tier

-- name: asof_forward_left
-- set: spark.sql.join.asofJoin.enabled = true
SELECT o.id, o.placed, c.cid, c.since FROM orders o
LEFT ASOF JOIN (SELECT tier, since, min(id) AS cid FROM customers GROUP BY tier, since) c
MATCH_CONDITION (o.placed <= c.since) ON o.customer = c.tier

-- name: asof_using
-- set: spark.sql.join.asofJoin.enabled = true
SELECT k, e.kind, e.x, t.f64 FROM events e
LEFT ASOF JOIN (SELECT DISTINCT g AS k, f64 FROM tame) t MATCH_CONDITION (e.x >= t.f64) USING (k)

-- name: asof_without_key
-- set: spark.sql.join.asofJoin.enabled = true
SELECT e.kind, e.x, t.f64 FROM events e ASOF JOIN (SELECT DISTINCT f64 FROM tame) t MATCH_CONDITION (e.x >= t.f64)

-- name: asof_match_the_other_way_round
-- set: spark.sql.join.asofJoin.enabled = true
SELECT o.id, r.heat FROM orders o LEFT ASOF JOIN (SELECT at, max(heat) AS heat FROM readings GROUP BY at) r
MATCH_CONDITION (r.at <= o.at)

-- name: asof_with_more_conditions
-- set: spark.sql.join.asofJoin.enabled = true
SELECT o.id, o.placed, c.cid FROM orders o
LEFT ASOF JOIN (SELECT tier, since, min(id) AS cid, min(credit) AS credit FROM customers GROUP BY tier, since) c
MATCH_CONDITION (o.placed >= c.since) ON o.customer = c.tier AND o.amount > c.credit

-- name: asof_duplicates_on_the_left
-- set: spark.sql.join.asofJoin.enabled = true
SELECT e.kind, e.k, c.since FROM events e
ASOF JOIN (SELECT DISTINCT tier, since FROM customers) c MATCH_CONDITION (CAST(e.at AS DATE) >= c.since) ON e.k = c.tier

-- name: asof_ties
-- set: spark.sql.join.asofJoin.enabled = true
SELECT o.id, c.id AS cid FROM orders o LEFT ASOF JOIN customers c MATCH_CONDITION (o.placed >= c.since) ON o.customer = c.tier
-- spark
SELECT id, m.id AS cid FROM (SELECT o.id, (SELECT max_by(struct(c.id), struct(c.since, c.id)) FROM customers c
  WHERE c.tier = o.customer AND o.placed >= c.since) AS m FROM orders o)

-- name: asof_then_aggregate
-- set: spark.sql.join.asofJoin.enabled = true
SELECT c.since, count(*) AS n, sum(o.amount) AS total FROM orders o
ASOF JOIN (SELECT DISTINCT tier, since FROM customers) c MATCH_CONDITION (o.placed >= c.since) ON o.customer = c.tier GROUP BY c.since

-- name: nearest_one
SELECT o.id, c.id AS cid FROM orders o JOIN (SELECT id, min(credit) AS credit FROM customers GROUP BY id) c
EXACT NEAREST 1 BY DISTANCE struct(abs(o.amount - c.credit), c.id)

-- name: nearest_two_left
SELECT o.id, o.amount, c.id AS cid, c.name FROM orders o LEFT JOIN customers c
APPROX NEAREST 2 BY DISTANCE struct(abs(o.amount - c.credit) IS NULL, abs(o.amount - c.credit), c.id)

-- name: nearest_by_similarity
SELECT e.kind, e.k, c.id FROM events e JOIN customers c EXACT NEAREST 3 BY SIMILARITY struct(e.k * c.tier, c.id)

-- name: nearest_duplicates
SELECT e.kind, c.id FROM events e LEFT JOIN customers c APPROX NEAREST 1 BY DISTANCE struct(length(c.name), c.id)

-- name: nearest_left_columns_only
SELECT e.kind, e.k FROM events e JOIN customers c APPROX NEAREST 2 BY DISTANCE struct(e.k - c.tier, c.id)

-- name: nearest_then_aggregate
SELECT c.region, count(*) AS n FROM orders o JOIN customers c EXACT NEAREST 2 BY DISTANCE struct(abs(o.customer - c.tier), c.id) GROUP BY c.region
