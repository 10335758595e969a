"""A bike-share operator's year: trips and stations, and ten views of them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

__all__ = ["SCRIPT", "stations", "trips"]

STATIONS = 600
_FIRST = 1_700_000_000_000_000  # microseconds
_DAYS = 30

SCRIPT = """
CREATE TABLE stations (id STRING PRIMARY KEY, name STRING, lat DOUBLE, lng DOUBLE, docks INT);
CREATE TABLE trips (
  ride STRING PRIMARY KEY, bike STRING, started TIMESTAMP, ended TIMESTAMP,
  origin STRING, destination STRING, member STRING
);
CREATE MATERIALIZED VIEW named_trips AS
  SELECT t.ride, t.started, t.ended, a.name AS origin_name, b.name AS destination_name, t.member
  FROM trips t JOIN stations a ON t.origin = a.id JOIN stations b ON t.destination = b.id;
CREATE MATERIALIZED VIEW departures AS
  SELECT origin, count(*) AS trips, avg(unix_timestamp(ended) - unix_timestamp(started)) AS seconds
  FROM trips GROUP BY origin;
CREATE MATERIALIZED VIEW arrivals AS SELECT destination, count(*) AS trips FROM trips GROUP BY destination;
CREATE MATERIALIZED VIEW balance AS
  SELECT s.name, coalesce(a.trips, 0) - coalesce(d.trips, 0) AS surplus
  FROM stations s LEFT JOIN arrivals a ON s.id = a.destination LEFT JOIN departures d ON s.id = d.origin;
CREATE MATERIALIZED VIEW hourly AS
  SELECT date_trunc('HOUR', started) AS hour, member, count(*) AS trips FROM trips
  GROUP BY date_trunc('HOUR', started), member;
CREATE MATERIALIZED VIEW routes AS
  SELECT origin, destination, count(*) AS trips, max(ended) AS latest FROM trips GROUP BY origin, destination;
CREATE MATERIALIZED VIEW busiest_routes AS
  SELECT origin, destination, trips FROM routes ORDER BY trips DESC, origin, destination LIMIT 100;
CREATE MATERIALIZED VIEW longest AS
  SELECT origin, ride, started, place FROM (
    SELECT origin, ride, started, row_number() OVER (
      PARTITION BY origin ORDER BY unix_timestamp(ended) - unix_timestamp(started) DESC, ride) AS place
    FROM trips)
  WHERE place <= 3;
CREATE MATERIALIZED VIEW idle AS
  SELECT bike, ride, origin, started,
    lag(destination) OVER (PARTITION BY bike ORDER BY started, ride) AS stood_at
  FROM trips;
CREATE MATERIALIZED VIEW round_trips AS
  SELECT ride, bike, origin, started, ended FROM trips WHERE origin = destination;
"""


def stations(rng: np.random.Generator) -> pa.RecordBatch:
    """All stations."""
    numbers = np.arange(STATIONS)
    return pa.RecordBatch.from_pydict(
        {
            "id": [f"ST{number:05d}" for number in numbers],
            "name": [f"{number} Street & Avenue {number % 97}" for number in numbers],
            "lat": 40.6 + rng.random(STATIONS) / 5,
            "lng": -74.0 + rng.random(STATIONS) / 5,
            "docks": pa.array(rng.integers(10, 60, STATIONS), pa.int32()),
        }
    )


def trips(rng: np.random.Generator, rows: int) -> pa.RecordBatch:
    """So many trips, in the order in which they began; some stations are far busier than others."""
    started = np.sort(_FIRST + rng.integers(0, _DAYS * 86_400_000_000, rows))
    ended = started + (rng.gamma(2.0, 400.0, rows) * 1e6).astype(np.int64)
    popular = rng.zipf(1.3, 2 * rows) % STATIONS
    instants = pa.timestamp("us", "UTC")
    return pa.RecordBatch.from_pydict(
        {
            "ride": [f"{word:016X}" for word in rng.integers(0, 2**63, rows).tolist()],
            "bike": [f"B{number:05d}" for number in rng.integers(0, 4000, rows).tolist()],
            "started": pa.array(started, instants),
            "ended": pa.array(ended, instants),
            "origin": [f"ST{number:05d}" for number in popular[:rows].tolist()],
            "destination": [f"ST{number:05d}" for number in popular[rows:].tolist()],
            "member": np.where(rng.random(rows) < 0.7, "member", "casual"),
        }
    )
