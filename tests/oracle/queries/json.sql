-- JSON in every place of a query.

-- name: json_written
SELECT id, to_json(named_struct('c', customer, 's', status, 'a', amount, 'p', placed, 't', at, 'n', note)) AS j FROM orders

-- name: json_read_back
SELECT r.s, sum(r.a) AS total FROM (
  SELECT from_json(to_json(named_struct('s', status, 'a', amount)), 's STRING, a DECIMAL(12,2)') AS r FROM orders
) GROUP BY r.s

-- name: json_path
SELECT get_json_object(to_json(named_struct('k', kind, 'l', array(label, 'x'))), '$.l[0]') AS l, count(*) AS n FROM events
GROUP BY 1

-- name: json_tuple
SELECT id, a, b, c FROM (SELECT id, to_json(named_struct('a', status, 'b', amount, 'n', note)) AS j FROM orders)
LATERAL VIEW json_tuple(j, 'a', 'b', 'zz') t AS a, b, c

-- name: json_nested
SELECT i8, to_json(named_struct('arr', arr, 'st', st, 'mp', mp)) AS j, json_array_length(to_json(arr)) AS n FROM typed

-- name: json_computed_path
SELECT k, kind, get_json_object(concat('{"open": {"a": ', k, '}, "click": [1, ', k, '], "x": "', kind, '"}'), concat('$.', kind)) AS a,
  get_json_object('{"open": [10, 11, 12], "close": 5}', concat('$.', kind, '[', k, ']')) AS b, get_json_object('{"a": 1}', label) AS c FROM events
