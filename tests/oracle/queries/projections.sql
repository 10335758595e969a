-- Columns and expressions of one table.

-- name: every_type_unchanged
SELECT * FROM typed

-- name: columns_reordered
SELECT s, i64, b, arr, d38 FROM typed

-- name: projection_makes_duplicates
SELECT region, active FROM customers

-- name: only_constants
SELECT 1 AS one, 'x' AS letter, CAST(NULL AS INT) AS nothing FROM events

-- name: integer_arithmetic
SELECT i32 + i32 AS a, i64 - i32 AS b, i32 * 3 AS c, -i32 AS d, i16 + i8 AS e FROM tame

-- name: double_arithmetic
SELECT f64 + 1 AS a, f64 * f64 AS b, f64 - f32 AS c, f64 / 4 AS d, -f64 AS e FROM tame

-- name: decimal_arithmetic
SELECT d9 + d18 AS a, d9 * d9 AS b, d18 - 1 AS c, d9 * d28 AS d, d28 / 3 AS e, d9 % 2 AS f FROM tame

-- name: division_guarded
SELECT CASE WHEN i32 <> 0 THEN 100 / i32 END AS q, CASE WHEN i32 <> 0 THEN 100 % i32 END AS r,
       try_divide(i64, i32) AS t FROM tame

-- name: whole_division
SELECT i64 DIV 7 AS a, i32 % 5 AS b, pmod(i32, 7) AS c FROM tame

-- name: absolute_and_sign
SELECT abs(i32) AS a, abs(f64) AS b, abs(d9) AS c, sign(i32) AS d FROM tame

-- name: rounding
SELECT round(d18, 1) AS a, round(d9) AS b, floor(d9) AS c, ceil(d18) AS d FROM tame

-- name: rounding_doubles
SELECT line, round(price, 1) AS a, floor(price) AS b, ceil(price) AS c FROM lines

-- name: bit_operations
SELECT i32 & 6 AS a, i32 | 1 AS b, i64 ^ 5 AS c, ~i8 AS d, shiftleft(i32, 2) AS e FROM tame

-- name: greatest_and_least
SELECT greatest(i8, i16, i32) AS a, least(f32, f64) AS b, greatest(d9, d18) AS c, least('m', h) AS d FROM tame

-- name: struct_fields_and_elements
SELECT st.x AS x, st.y AS y, try_element_at(arr, 1) AS first_one, size(arr) AS n FROM typed

-- name: nested_columns_pass_through
SELECT s, arr, st, mp FROM typed WHERE i32 IS NOT NULL

-- name: intervals
SELECT span + span AS twice, months + months AS months2, -span AS back FROM tame
