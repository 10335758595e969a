-- The tables of the oracle's queries: keyed and keyless, every type a table may have. Comments are hints to the
-- generator of rows (docs/testing.md): arithmetic happens on tame columns only, so that it cannot overflow.

CREATE TABLE customers (
  id BIGINT,
  name STRING,
  region STRING COMMENT 'of: north|south|east|west',
  tier INT COMMENT 'tame',
  credit DECIMAL(12,2) COMMENT 'tame',
  since DATE COMMENT 'tame',
  active BOOLEAN,
  PRIMARY KEY (id)
);

CREATE TABLE orders (
  id BIGINT,
  customer BIGINT COMMENT 'tame',
  status STRING COMMENT 'of: new|paid|sent|back',
  amount DECIMAL(12,2) COMMENT 'tame',
  placed DATE COMMENT 'tame',
  at TIMESTAMP COMMENT 'tame',
  note STRING,
  PRIMARY KEY (id)
);

CREATE TABLE lines (
  order_id BIGINT,
  line INT,
  product STRING COMMENT 'of: ink|pen|paper|glue|tape',
  qty INT NOT NULL COMMENT 'tame',
  price DOUBLE COMMENT 'finite',
  PRIMARY KEY (order_id, line)
);

CREATE TABLE events (
  kind STRING COMMENT 'of: open|close|click',
  k INT COMMENT 'tame',
  x DOUBLE COMMENT 'tame',
  f FLOAT COMMENT 'tame',
  label STRING,
  at TIMESTAMP_NTZ COMMENT 'tame',
  ok BOOLEAN
);

CREATE TABLE typed (
  b BOOLEAN,
  i8 TINYINT,
  i16 SMALLINT,
  i32 INT,
  i64 BIGINT,
  f32 FLOAT,
  f64 DOUBLE,
  d9 DECIMAL(9,2),
  d38 DECIMAL(38,10),
  s STRING,
  bin BINARY,
  d DATE,
  ts TIMESTAMP,
  tn TIMESTAMP_NTZ,
  span INTERVAL DAY TO SECOND,
  months INTERVAL YEAR TO MONTH,
  arr ARRAY<INT>,
  st STRUCT<x: INT, y: STRING>,
  mp MAP<STRING, INT>
);

CREATE TABLE tame (
  g INT COMMENT 'tame',
  h STRING,
  i8 TINYINT COMMENT 'tame',
  i16 SMALLINT COMMENT 'tame',
  i32 INT COMMENT 'tame',
  i64 BIGINT COMMENT 'tame',
  f32 FLOAT COMMENT 'tame',
  f64 DOUBLE COMMENT 'tame',
  d9 DECIMAL(9,2) COMMENT 'tame',
  d18 DECIMAL(18,4) COMMENT 'tame',
  d28 DECIMAL(28,6) COMMENT 'tame',
  span INTERVAL DAY TO SECOND COMMENT 'tame',
  months INTERVAL YEAR TO MONTH COMMENT 'tame'
);

CREATE TABLE readings (
  sensor STRING COMMENT 'of: roof|cellar|door',
  n INT COMMENT 'tame',
  heat DOUBLE,
  amount DECIMAL(12,2) COMMENT 'tame',
  label STRING,
  at TIMESTAMP COMMENT 'tame',
  seen TIMESTAMP_NTZ
) TBLPROPERTIES ('appendOnly' = 'true');

CREATE TABLE shifts (
  opens TIME(0),
  worker STRING COMMENT 'of: ann|bob|cy',
  closes TIME,
  seen TIME(9),
  day DATE COMMENT 'tame',
  breaks ARRAY<TIME(3)>,
  pause INTERVAL DAY TO SECOND COMMENT 'tame',
  PRIMARY KEY (opens, worker)
);
