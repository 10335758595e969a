-- WHERE: comparisons of every type, and logic with NULL.

-- name: filter_integer
SELECT * FROM customers WHERE tier > 1

-- name: filter_wild_integers
SELECT i8, i16, i32, i64 FROM typed WHERE i64 >= 0 OR i32 < 0 OR i16 = 32767 OR i8 = -128

-- name: filter_double_with_nan
SELECT f64, f32 FROM typed WHERE f64 > 0

-- name: filter_nan_equals_nan
SELECT x FROM events WHERE x = double('NaN') OR x = 0.0

-- name: filter_decimal
SELECT d9, d38 FROM typed WHERE d9 <= d38

-- name: filter_string_order
SELECT s FROM typed WHERE s >= 'a' AND s < 'b'

-- name: filter_binary
SELECT bin FROM typed WHERE bin > X'00'

-- name: filter_date_range
SELECT id, placed FROM orders WHERE placed BETWEEN DATE'2024-02-28' AND DATE'2024-03-01'

-- name: filter_timestamp
SELECT id, at FROM orders WHERE at >= TIMESTAMP'2024-03-31 01:00:00'

-- name: filter_interval
SELECT span, months FROM tame WHERE span > INTERVAL '0' DAY OR months >= INTERVAL '1' MONTH

-- name: filter_boolean_column
SELECT id, active FROM customers WHERE active

-- name: filter_not_boolean
SELECT id, active FROM customers WHERE NOT active

-- name: filter_always_false
SELECT id FROM customers WHERE id IS NULL

-- name: filter_always_true
SELECT k FROM events WHERE 1 = 1

-- name: filter_on_computed_column
SELECT v FROM (SELECT qty * 2 + line % 3 AS v FROM lines) WHERE v > 2
