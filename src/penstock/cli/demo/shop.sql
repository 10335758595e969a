-- A small shop. Four tables take changes; the views below are kept up to date from those changes alone.

CREATE TABLE customers (id BIGINT PRIMARY KEY, name STRING, city STRING, tier STRING);
CREATE TABLE products (id BIGINT PRIMARY KEY, name STRING, category STRING, price DECIMAL(10, 2));
CREATE TABLE orders (id BIGINT PRIMARY KEY, customer_id BIGINT, status STRING, placed_at TIMESTAMP);
CREATE TABLE order_lines (
  order_id BIGINT, line INT, product_id BIGINT, quantity INT,
  PRIMARY KEY (order_id, line)
);

-- A filter: what still has to leave the house.
CREATE MATERIALIZED VIEW open_orders AS
  SELECT id, customer_id, status, placed_at
  FROM orders
  WHERE status IN ('new', 'paid');

-- A three-way join: every line sold, with its product and its price.
CREATE MATERIALIZED VIEW sales AS
  SELECT o.id AS order_id, l.line, o.customer_id, p.category, p.name AS product,
         l.quantity, l.quantity * p.price AS amount
  FROM orders o
  JOIN order_lines l ON l.order_id = o.id
  JOIN products p ON p.id = l.product_id
  WHERE o.status <> 'cancelled';

-- A grouped aggregate over a join, reading the view above.
CREATE MATERIALIZED VIEW revenue_by_city AS
  SELECT c.city, count(*) AS lines, sum(s.amount) AS revenue, avg(s.amount) AS average
  FROM sales s
  JOIN customers c ON c.id = s.customer_id
  GROUP BY c.city;

-- A distinct: what the best customers buy where.
CREATE MATERIALIZED VIEW products_by_city AS
  SELECT DISTINCT c.city, s.product
  FROM sales s
  JOIN customers c ON c.id = s.customer_id
  WHERE c.tier = 'gold';

-- A view on top of another, with HAVING.
CREATE MATERIALIZED VIEW best_sellers AS
  SELECT product, category, sum(quantity) AS sold, max(amount) AS largest_line
  FROM sales
  GROUP BY product, category
  HAVING sum(quantity) > 100;
