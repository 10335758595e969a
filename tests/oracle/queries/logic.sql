-- Three-valued logic, CASE, COALESCE, IN, NULL tests.

-- name: and_or_not_truth_table
SELECT b, ok, b AND ok AS conj, b OR ok AS disj, NOT b AS neg
FROM (SELECT active AS b, tier > 1 AS ok FROM customers)

-- name: null_comparisons
SELECT i32 = i64 AS eq, i32 <> i64 AS ne, i32 < i64 AS lt, i32 <=> i64 AS safe FROM typed

-- name: null_tests
SELECT s IS NULL AS n, s IS NOT NULL AS v, isnan(f64) AS nan, nvl(i32, 7) AS filled, nullif(i8, 0) AS z FROM typed

-- name: case_searched
SELECT id, CASE WHEN tier < 0 THEN 'neg' WHEN tier = 0 THEN 'zero' WHEN tier > 100 THEN 'big' ELSE name END AS c
FROM customers

-- name: case_without_else
SELECT id, CASE status WHEN 'new' THEN 1 WHEN 'paid' THEN 2 END AS code FROM orders

-- name: case_guards_division
SELECT k, CASE WHEN k = 0 THEN NULL ELSE 12 DIV k END AS q FROM events

-- name: coalesce_chain
SELECT coalesce(s, st.y, 'none') AS c, coalesce(i32, i64, 0) AS d, coalesce(d9, d38) AS e FROM typed

-- name: if_and_nvl2
SELECT if(active, 'yes', 'no') AS a, nvl2(credit, tier, -1) AS b FROM customers

-- name: in_list
SELECT id, status FROM orders WHERE status IN ('new', 'back')

-- name: in_list_with_null
SELECT id, customer, customer IN (1, 2, NULL) AS i, customer NOT IN (1, NULL) AS n FROM orders

-- name: not_in_list
SELECT i32 FROM typed WHERE i32 NOT IN (0, 1)

-- name: in_many
SELECT k FROM events WHERE k IN (0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 100)

-- name: or_with_null_operand
SELECT id FROM customers WHERE active OR tier > 2

-- name: between_and_not
SELECT id, tier FROM customers WHERE NOT (tier BETWEEN 0 AND 2)
