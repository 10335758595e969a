-- The three streams of Nexmark, and the side input of query 13.
CREATE TABLE person (
  id BIGINT NOT NULL,
  name STRING NOT NULL,
  email_address STRING NOT NULL,
  credit_card STRING NOT NULL,
  city STRING NOT NULL,
  state STRING NOT NULL,
  date_time TIMESTAMP NOT NULL,
  extra STRING NOT NULL
) TBLPROPERTIES ('appendOnly' = 'true');

CREATE TABLE auction (
  id BIGINT NOT NULL,
  item_name STRING NOT NULL,
  description STRING NOT NULL,
  initial_bid BIGINT NOT NULL,
  reserve BIGINT NOT NULL,
  date_time TIMESTAMP NOT NULL,
  expires TIMESTAMP NOT NULL,
  seller BIGINT NOT NULL,
  category BIGINT NOT NULL,
  extra STRING NOT NULL
) TBLPROPERTIES ('appendOnly' = 'true');

CREATE TABLE bid (
  auction BIGINT NOT NULL,
  bidder BIGINT NOT NULL,
  price BIGINT NOT NULL,
  channel STRING NOT NULL,
  url STRING NOT NULL,
  date_time TIMESTAMP NOT NULL,
  extra STRING NOT NULL
) TBLPROPERTIES ('appendOnly' = 'true');

CREATE TABLE side_input (
  key BIGINT NOT NULL,
  value STRING NOT NULL,
  PRIMARY KEY (key)
) TBLPROPERTIES ('static' = 'true');
