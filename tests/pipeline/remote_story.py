"""A pipeline in a storage given by its URL, run twice in processes of their own: ``python -m
tests.pipeline.remote_story URL``. Prints the rows of its view, and what was read."""

from __future__ import annotations

import json
import sys

import pyarrow as pa

import penstock as ps


def declared(url: str) -> ps.Pipeline:
    pipe = ps.Pipeline("remote", storage=url, workers=2, commit_interval_s=0.2, memory=32 << 20)
    pipe.sql("""
      CREATE TABLE orders (id BIGINT PRIMARY KEY, customer BIGINT, amount BIGINT);
      CREATE MATERIALIZED VIEW totals AS
        SELECT customer, count(*) AS orders, sum(amount) AS total FROM orders GROUP BY customer;
    """)
    return pipe


def main(url: str, orders: int) -> None:
    """The first time loads; every time some orders change and the view is compared with Spark's."""
    with declared(url).run() as run:
        done = run.status().step
        if done == 0:
            ids = pa.array(range(orders))
            table = pa.table({"id": ids, "customer": [i % 1000 for i in range(orders)], "amount": ids})
            run.upsert("orders", table)
            run.step()
            run.commit()
        changed = [{"id": i * 97 % orders, "customer": 7, "amount": done} for i in range(500)]
        run.upsert("orders", changed)
        run.step()
        assert run.verify("totals")
        found = run.read("totals").sort_by("customer").to_pylist()[7]
        print(json.dumps({"step": run.status().step, "row": found}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
