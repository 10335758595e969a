-- Elementary functions, whose last bits must be Spark's: docs/math.md.

-- name: math_exponentials
SELECT kind, x, exp(x / 100) AS a, expm1(x) AS b, ln(x) AS c, log10(x) AS d, log1p(x) AS e, log2(x) AS f, log(k, x) AS g FROM events

-- name: math_powers
SELECT kind, x, power(x, 3.7D) AS a, power(abs(k), 1 / 3D) AS b, cbrt(x) AS c, sqrt(x) AS d, hypot(x, k) AS e FROM events

-- name: math_angles
SELECT kind, x, sin(x) AS a, cos(x) AS b, tan(x) AS c, cot(x) AS d, sec(x) AS e, csc(x) AS f, atan2(x, k) AS g FROM events

-- name: math_inverses
SELECT kind, x, asin(x / 100) AS a, acos(x / 100) AS b, atan(x) AS c, asinh(x) AS d, acosh(x) AS e, atanh(x / 100) AS f FROM events

-- name: math_hyperbolic
SELECT kind, x, sinh(x / 100) AS a, cosh(x / 100) AS b, tanh(x / 100) AS c, degrees(x) AS d, radians(x) AS e, rint(x) AS f FROM events

-- name: math_decides_groups
SELECT floor(power(abs(k) * abs(k) * abs(k), 1 / 3D)) AS root, count(*) AS n, max(exp(x)) AS e FROM events GROUP BY 1

-- name: math_decides_joins
SELECT a.kind, b.k FROM events a JOIN events b ON floor(log(3, power(3, abs(a.k)))) = abs(b.k) WHERE a.k < 30 AND b.k < 30
