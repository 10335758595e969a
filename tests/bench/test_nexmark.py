"""Nexmark: the generator keeps the benchmark's proportions whatever the batching, and the views are right."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from bench.check import Subject, check
from bench.nexmark import queries, stream, tables
from bench.nexmark.generator import FIRST_AUCTION, FIRST_PERSON, IN_FLIGHT, Events
from penstock.oracle import Config


def test_all_views_equal_batch_spark_after_every_step(spark: SparkSession) -> None:
    subject = Subject("nexmark", "Nexmark, small", tables(), queries(), stream(3000, 3, seed=1))
    result = check(spark, subject, [Config(2)])
    assert result.met, result.table()
    assert [row["view"] for row in result.rows] == [f"q{number:02d}" for number in range(23)]
    assert all(row["rows"] and row["changed in steps"] for row in result.rows), result.table()


@pytest.fixture(scope="module")
def made() -> dict[str, pa.Table]:
    return {name: pa.table(columns) for name, columns in Events(seed=1).tables(0, 100_000).items()}


def test_an_event_is_the_same_in_whatever_range_it_is_made(made: dict[str, pa.Table]) -> None:
    parts = [Events(seed=1).tables(start, stop) for start, stop in ((0, 7), (7, 1234), (1234, 5000))]
    for name, whole in made.items():
        joined = pa.concat_tables([pa.table(part[name]) for part in parts])
        assert joined == whole.slice(0, len(joined))


def test_another_seed_gives_other_events(made: dict[str, pa.Table]) -> None:
    assert pa.table(Events(seed=2).tables(0, 100_000)["bid"]) != made["bid"]


def test_of_50_events_one_is_a_person_and_three_are_auctions(made: dict[str, pa.Table]) -> None:
    assert {name: len(rows) for name, rows in made.items()} == {
        "person": 2000,
        "auction": 6000,
        "bid": 92_000,
    }
    assert np.array_equal(made["person"]["id"], FIRST_PERSON + np.arange(2000))
    assert np.array_equal(made["auction"]["id"], FIRST_AUCTION + np.arange(6000))


def test_hot_auctions_sellers_and_bidders_have_their_share(made: dict[str, pa.Table]) -> None:
    def share(table: str, column: str, remainder: int) -> float:
        return float(np.mean(made[table][column].to_numpy() % 100 == remainder))

    # One in a hundred of the others is hot by chance.
    assert share("bid", "auction", 0) == pytest.approx(1 / 2 + 0.005, abs=0.01)
    assert share("auction", "seller", 0) == pytest.approx(3 / 4 + 0.0025, abs=0.02)
    assert share("bid", "bidder", 1) == pytest.approx(3 / 4 + 0.0025, abs=0.01)


def test_bids_go_to_auctions_in_flight_or_about_to_open(made: dict[str, pa.Table]) -> None:
    bid = made["bid"]["auction"].to_numpy()
    place = np.flatnonzero(np.arange(100_000) % 50 >= 4)  # of each bid among the events
    newest = place // 50 * 3 + 2 + FIRST_AUCTION
    assert np.all(bid <= newest + 10) and np.all(bid >= newest - IN_FLIGHT)
    assert np.all(made["bid"]["bidder"].to_numpy() <= place // 50 + FIRST_PERSON + 10)


def test_prices_are_spread_evenly_over_six_orders_of_magnitude(made: dict[str, pa.Table]) -> None:
    exponent = np.log10(made["bid"]["price"].to_numpy() / 100)
    assert exponent.min() >= 0 and exponent.max() <= 6
    assert np.histogram(exponent, 6, (0, 6))[0] / len(exponent) == pytest.approx(np.full(6, 1 / 6), abs=0.01)


def test_categories_and_times_are_as_said(made: dict[str, pa.Table]) -> None:
    assert set(made["auction"]["category"].to_pylist()) == {10, 11, 12, 13, 14}
    times = made["bid"]["date_time"].cast(pa.int64()).to_numpy()
    assert np.all(np.diff(times) > 0)
    opened, closed = (made["auction"][name].cast(pa.int64()).to_numpy() for name in ("date_time", "expires"))
    assert np.all(closed > opened)
