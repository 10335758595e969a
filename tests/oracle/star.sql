-- A chain of shops that also sells by mail and on the net: facts around shared dimensions. Domains are small, so
-- that a join of eight tables finds rows; facts may point at rows that are not there, and at NULL.

CREATE TABLE days (
  day_id INT COMMENT 'of: 1|2|3|4|5|6|7|8|9|10|11|12',
  day DATE COMMENT 'of: 2021-01-04|2021-02-28|2021-03-31|2021-12-25|2022-01-05|2022-02-15|2022-11-30|2022-12-31',
  year INT COMMENT 'of: 2021|2022',
  quarter INT COMMENT 'of: 1|2|3|4',
  month INT COMMENT 'of: 1|2|3|11|12',
  week INT COMMENT 'of: 1|2|53|54',
  weekday STRING COMMENT 'of: Monday|Tuesday|Friday|Saturday|Sunday',
  PRIMARY KEY (day_id)
);

CREATE TABLE goods (
  good_id INT COMMENT 'of: 1|2|3|4|5|6|7|8',
  code STRING COMMENT 'of: AAB|AAC|ABD|BBA',
  brand STRING COMMENT 'of: Alpe #1|Brook #2|Crane #3|Dune #12',
  class STRING COMMENT 'of: lamp|rug|tent|novel',
  category STRING COMMENT 'of: Home|Sport|Books',
  maker INT COMMENT 'of: 11|12|13',
  color STRING COMMENT 'of: red|dark red|blue|pale',
  price DECIMAL(7,2) COMMENT 'of: 0.50|1.25|9.99|20.00|99.99',
  PRIMARY KEY (good_id)
);

CREATE TABLE places (
  place_id INT COMMENT 'of: 1|2|3|4|5|6',
  city STRING COMMENT 'of: Aarau|Bern|Chur|Dornach',
  county STRING COMMENT 'of: East|West|Mid',
  state STRING COMMENT 'of: TN|GA|CA|WA',
  zip STRING COMMENT 'of: 30301|30305|94105|98101|3',
  hours_off INT COMMENT 'of: -8|-5|0',
  PRIMARY KEY (place_id)
);

CREATE TABLE traits (
  traits_id INT COMMENT 'of: 1|2|3|4|5',
  sex STRING COMMENT 'of: F|M',
  married STRING COMMENT 'of: S|M|D',
  school STRING COMMENT 'of: Primary|College|Degree',
  children INT COMMENT 'of: 0|1|2|3',
  income INT COMMENT 'of: 10000|20000|50000',
  PRIMARY KEY (traits_id)
);

CREATE TABLE shoppers (
  shopper_id INT COMMENT 'of: 1|2|3|4|5|6|7|8|9|10',
  first STRING COMMENT 'of: Ada|Bo|Cy|Dee',
  last STRING COMMENT 'of: Ash|Birch|Cedar',
  place_id INT COMMENT 'of: 1|2|3|4|5|6',
  traits_id INT COMMENT 'of: 1|2|3|4|5',
  born INT COMMENT 'of: 1960|1975|1990',
  favoured BOOLEAN,
  PRIMARY KEY (shopper_id)
);

CREATE TABLE shops (
  shop_id INT COMMENT 'of: 1|2|3|4',
  shop STRING COMMENT 'of: able|bar|ese',
  state STRING COMMENT 'of: TN|GA|CA',
  zip STRING COMMENT 'of: 30309|94110|98101',
  staff INT COMMENT 'of: 5|20|45',
  PRIMARY KEY (shop_id)
);

CREATE TABLE deals (
  deal_id INT COMMENT 'of: 1|2|3|4',
  by_mail BOOLEAN,
  by_radio BOOLEAN,
  outlay DECIMAL(9,2) COMMENT 'of: 100.00|250.50|1000.00',
  PRIMARY KEY (deal_id)
);

CREATE TABLE till_sales (
  ticket BIGINT COMMENT 'of: 1|2|3|4|5|6|7|8',
  good_id INT COMMENT 'of: 1|2|3|4|5|6|7|8',
  day_id INT COMMENT 'of: 1|2|3|4|5|6|7|8|9|10|11|12',
  shop_id INT COMMENT 'of: 1|2|3|4',
  shopper_id INT COMMENT 'of: 1|2|3|4|5|6|7|8|9|10',
  traits_id INT COMMENT 'of: 1|2|3|4|5',
  place_id INT COMMENT 'of: 1|2|3|4|5|6',
  deal_id INT COMMENT 'of: 1|2|3|4',
  qty INT COMMENT 'of: 1|2|5|20|60',
  price DECIMAL(7,2) COMMENT 'of: 0.50|1.25|9.99|20.00|99.99',
  paid DECIMAL(7,2) COMMENT 'tame',
  cost DECIMAL(7,2) COMMENT 'of: 0.00|0.75|5.00|18.50',
  profit DECIMAL(7,2) COMMENT 'of: -5.00|0.00|1.50|40.00',
  PRIMARY KEY (ticket, good_id)
);

CREATE TABLE till_returns (
  ticket BIGINT COMMENT 'of: 1|2|3|4|5|6|7|8',
  good_id INT COMMENT 'of: 1|2|3|4|5|6|7|8',
  day_id INT COMMENT 'of: 1|2|3|4|5|6|7|8|9|10|11|12',
  shop_id INT COMMENT 'of: 1|2|3|4',
  shopper_id INT COMMENT 'of: 1|2|3|4|5|6|7|8|9|10',
  qty INT COMMENT 'of: 1|2|5',
  refund DECIMAL(7,2) COMMENT 'of: 0.00|0.50|9.99|20.00',
  loss DECIMAL(7,2) COMMENT 'of: 0.00|0.75|3.00'
);

CREATE TABLE mail_sales (
  order_no BIGINT COMMENT 'of: 1|2|3|4|5|6',
  good_id INT COMMENT 'of: 1|2|3|4|5|6|7|8',
  day_id INT COMMENT 'of: 1|2|3|4|5|6|7|8|9|10|11|12',
  ship_day_id INT COMMENT 'of: 1|2|3|4|5|6|7|8|9|10|11|12',
  shopper_id INT COMMENT 'of: 1|2|3|4|5|6|7|8|9|10',
  place_id INT COMMENT 'of: 1|2|3|4|5|6',
  depot INT COMMENT 'of: 1|2|3',
  deal_id INT COMMENT 'of: 1|2|3|4',
  qty INT COMMENT 'of: 1|2|5|20|60',
  price DECIMAL(7,2) COMMENT 'of: 0.50|1.25|9.99|20.00|99.99',
  paid DECIMAL(7,2) COMMENT 'tame',
  profit DECIMAL(7,2) COMMENT 'of: -5.00|0.00|1.50|40.00'
);

CREATE TABLE net_sales (
  order_no BIGINT COMMENT 'of: 1|2|3|4|5|6|7|8',
  good_id INT COMMENT 'of: 1|2|3|4|5|6|7|8',
  day_id INT COMMENT 'of: 1|2|3|4|5|6|7|8|9|10|11|12',
  ship_day_id INT COMMENT 'of: 1|2|3|4|5|6|7|8|9|10|11|12',
  shopper_id INT COMMENT 'of: 1|2|3|4|5|6|7|8|9|10',
  place_id INT COMMENT 'of: 1|2|3|4|5|6',
  depot INT COMMENT 'of: 1|2|3',
  deal_id INT COMMENT 'of: 1|2|3|4',
  qty INT COMMENT 'of: 1|2|5|20|60',
  price DECIMAL(7,2) COMMENT 'of: 0.50|1.25|9.99|20.00|99.99',
  paid DECIMAL(7,2) COMMENT 'tame',
  profit DECIMAL(7,2) COMMENT 'of: -5.00|0.00|1.50|40.00',
  PRIMARY KEY (order_no, good_id)
);

CREATE TABLE net_returns (
  order_no BIGINT COMMENT 'of: 1|2|3|4|5|6|7|8',
  good_id INT COMMENT 'of: 1|2|3|4|5|6|7|8',
  day_id INT COMMENT 'of: 1|2|3|4|5|6|7|8|9|10|11|12',
  shopper_id INT COMMENT 'of: 1|2|3|4|5|6|7|8|9|10',
  qty INT COMMENT 'of: 1|2|5',
  refund DECIMAL(7,2) COMMENT 'of: 0.00|0.50|9.99|20.00'
);

CREATE TABLE stock (
  day_id INT COMMENT 'of: 1|2|3|4|5|6|7|8|9|10|11|12',
  good_id INT COMMENT 'of: 1|2|3|4|5|6|7|8',
  depot INT COMMENT 'of: 1|2|3',
  on_hand INT COMMENT 'of: 0|3|40|500',
  PRIMARY KEY (day_id, good_id, depot)
);
