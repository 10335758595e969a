-- Functions of arrays and maps, with and without lambda functions, in every place of a query.

-- name: nest_transform
SELECT i8, transform(arr, x -> CAST(x AS BIGINT) + 1) AS up, transform(arr, (x, i) -> i) AS places FROM typed

-- name: nest_filter_where
SELECT i32, filter(arr, x -> x > 0) AS positive FROM typed WHERE exists(arr, x -> x > 2) OR forall(arr, x -> x < 0)

-- name: nest_fold_grouped
SELECT aggregate(arr, 0L, (a, x) -> a + coalesce(x, 0)) AS total, count(*) AS n FROM typed
GROUP BY aggregate(arr, 0L, (a, x) -> a + coalesce(x, 0))

-- name: nest_explode_filtered
SELECT i16, e FROM typed LATERAL VIEW explode(filter(array_distinct(arr), x -> x IS NOT NULL)) t AS e

-- name: nest_sorted
SELECT i8, array_sort(arr) AS a, sort_array(arr, false) AS d,
  array_sort(arr, (l, r) -> CASE WHEN l < r THEN 1 WHEN l > r THEN -1 ELSE 0 END) AS f FROM typed

-- name: nest_grouped_by_array
SELECT arr, count(*) AS n, max(i8) AS m FROM typed GROUP BY arr

-- name: nest_joined_by_array
SELECT a.i8, b.i16 FROM typed a JOIN typed b ON a.arr = b.arr AND a.i8 < b.i8

-- name: nest_array_compared
SELECT i8 FROM typed WHERE arr > array(1) AND st < named_struct('x', 100, 'y', 'z')

-- name: nest_sets
SELECT i8, array_union(arr, array(1, 2)) AS u, array_intersect(arr, array(1, 2)) AS i, array_except(arr, array(1)) AS e,
  arrays_overlap(arr, array(1, 2)) AS o FROM typed

-- name: nest_maps
SELECT i8, map_keys(mp) AS k, map_filter(mp, (k, v) -> v > 0) AS f, transform_values(mp, (k, v) -> k) AS t,
  map_entries(mp) AS e, map_concat(mp, map('zzz', 1)) AS c FROM typed

-- name: nest_collected
SELECT customer, array_join(transform(sort_array(collect_list(status)), x -> upper(x)), ',') AS all FROM orders GROUP BY customer

-- name: nest_fields_of_all
SELECT customer, sort_array(collect_list(named_struct('a', amount, 's', status))).s AS statuses FROM orders GROUP BY customer

-- name: nest_sequence
SELECT id, e FROM customers LATERAL VIEW explode(sequence(since, add_months(since, 2), INTERVAL 1 MONTH)) t AS e

-- name: nest_grouped_by_map
SELECT mp, count(*) AS n FROM typed GROUP BY mp
