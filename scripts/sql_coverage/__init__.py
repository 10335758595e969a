"""Writes docs/sql-coverage.md: which functions of Spark a view may use, and the tests that say so."""
