"""``python -m scripts.sql_coverage``: writes docs/sql-coverage.md and prints its counts."""

from __future__ import annotations

from collections import Counter

from penstock.spark import find_or_make_session
from scripts.sql_coverage.document import PATH, write
from scripts.sql_coverage.evidence import ROOT, fixtures
from scripts.sql_coverage.inventory import entries


def main() -> None:
    spark, _ = find_or_make_session("sql-coverage", workers=1)
    spark.sparkContext.setLogLevel("OFF")
    found = list(entries(spark, fixtures()))
    PATH.write_text(write(found, str(spark.version)), encoding="utf-8")
    print(
        f"{PATH.relative_to(ROOT)}: "
        + ", ".join(f"{n} {s}" for s, n in Counter(e.status for e in found).items())
    )


if __name__ == "__main__":
    main()
