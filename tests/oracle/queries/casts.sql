-- Casts that cannot fail on the generated rows, and try_cast where they could.

-- name: integers_widened
SELECT CAST(i8 AS INT) AS a, CAST(i16 AS BIGINT) AS b, CAST(i32 AS DECIMAL(12,2)) AS c, CAST(i64 AS DOUBLE) AS d FROM typed

-- name: integers_as_text
SELECT CAST(i64 AS STRING) AS a, CAST(i8 AS STRING) AS b, CAST(b AS STRING) AS c, CAST(d9 AS STRING) AS d FROM typed

-- name: text_to_numbers_tried
SELECT try_cast(s AS INT) AS a, try_cast(s AS DECIMAL(5,1)) AS b, try_cast(s AS BOOLEAN) AS c FROM typed

-- name: dates_and_text
SELECT CAST(placed AS STRING) AS a, CAST(at AS STRING) AS b, CAST(CAST(placed AS STRING) AS DATE) AS c FROM orders

-- name: narrowing_tame
SELECT CAST(i64 AS INT) AS a, CAST(i32 AS SMALLINT) AS b, CAST(d18 AS DECIMAL(9,1)) AS c, CAST(d9 AS INT) AS d FROM tame

-- name: narrowing_tried
SELECT try_cast(i64 AS INT) AS a, try_cast(f64 AS INT) AS b, try_cast(d38 AS DECIMAL(9,2)) AS c FROM typed

-- name: doubles_to_whole
SELECT CAST(price AS INT) AS a, CAST(price AS DECIMAL(10,3)) AS b, CAST(price AS FLOAT) AS c FROM lines

-- name: dates_to_times
SELECT CAST(placed AS TIMESTAMP) AS a, CAST(at AS TIMESTAMP_NTZ) AS b FROM orders

-- name: booleans_and_numbers
SELECT CAST(b AS INT) AS a, CAST(i8 AS BOOLEAN) AS c FROM typed

-- name: floats_as_text
SELECT kind, CAST(x AS STRING) AS a, CAST(f AS STRING) AS b, count(*) AS c FROM events GROUP BY ALL
