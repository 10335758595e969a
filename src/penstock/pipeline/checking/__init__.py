"""Checks a state folder from outside: every checksum, every reference, the order within batches, the logs."""

from penstock.pipeline.checking.check import check_folder
from penstock.pipeline.checking.report import CheckReport, Note, Problem

__all__ = ["CheckReport", "Note", "Problem", "check_folder"]
