-- Generators: explode and its kin, LATERAL VIEW, stack, PIVOT and UNPIVOT.

-- name: gen_explode
SELECT i32, explode(arr) AS a FROM typed

-- name: gen_explode_outer
SELECT i32, explode_outer(arr) AS a FROM typed

-- name: gen_posexplode
SELECT i8, posexplode(arr) AS (p, a) FROM typed

-- name: gen_posexplode_outer
SELECT i8, posexplode_outer(arr) AS (p, a) FROM typed

-- name: gen_explode_map
SELECT i32, explode(mp) AS (k, v) FROM typed

-- name: gen_explode_map_outer
SELECT i32, k, v FROM typed LATERAL VIEW OUTER explode(mp) e AS k, v

-- name: gen_posexplode_map
SELECT p, k, v FROM typed LATERAL VIEW posexplode(mp) e AS p, k, v

-- name: gen_lateral_twice
SELECT t.i32, a, k FROM typed t LATERAL VIEW explode(arr) x AS a LATERAL VIEW OUTER explode(mp) y AS k, v

-- name: gen_inline
SELECT id, inline(array(struct(id AS a, status AS b), struct(customer AS a, note AS b))) FROM orders

-- name: gen_inline_outer
SELECT id, a, b FROM orders LATERAL VIEW OUTER inline(array(named_struct('a', amount, 'b', placed))) t AS a, b

-- name: gen_stack
SELECT id, stack(2, 'amount', CAST(amount AS STRING), 'status', status) AS (what, value) FROM orders

-- name: gen_stack_left_over
SELECT stack(2, id, customer, tier_id) AS (a, b) FROM (SELECT id, customer, id + 0 AS tier_id FROM orders WHERE id < 100)

-- name: gen_explode_of_built_array
SELECT order_id, explode(array(product, 'all')) AS p FROM lines

-- name: gen_counted
SELECT a, count(*) AS n FROM (SELECT explode(arr) AS a FROM typed) GROUP BY a

-- name: gen_joined
SELECT e.a, l.product FROM (SELECT explode(arr) AS a FROM typed) e JOIN lines l ON l.qty = e.a

-- name: gen_split_text
SELECT id, w FROM orders LATERAL VIEW explode(split(status, 'e')) t AS w

-- name: gen_pivot
SELECT * FROM (SELECT customer, status, amount FROM orders) PIVOT (sum(amount) FOR status IN ('new', 'paid', 'sent'))

-- name: gen_pivot_two
SELECT * FROM (SELECT region, tier, active FROM customers) PIVOT (count(*) AS n, max(tier) AS m FOR active IN (true AS yes, false AS no))

-- name: gen_unpivot
SELECT * FROM (SELECT order_id, line, qty, CAST(line AS INT) AS n FROM lines) UNPIVOT (value FOR what IN (qty, n))

-- name: gen_unpivot_with_nulls
SELECT * FROM (SELECT id, name, region FROM customers) UNPIVOT INCLUDE NULLS (value FOR what IN (name AS a, region AS b))

-- name: gen_range
SELECT r.id, o.status FROM range(-2, 9, 3) r LEFT JOIN orders o ON o.id = r.id
