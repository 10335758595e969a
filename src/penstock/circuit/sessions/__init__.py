"""Sessions: the building blocks of :mod:`penstock.circuit.operators.sessions`."""

from penstock.circuit.sessions.book import SessionBook, change_of
from penstock.circuit.sessions.intervals import Intervals, containing, moment_words, united
from penstock.circuit.sessions.parts import Parts, parts_of
from penstock.circuit.sessions.rows import StretchRows, moments, rows_between
from penstock.circuit.sessions.words import IMAGE, time_words

__all__ = [
    "IMAGE",
    "Intervals",
    "Parts",
    "SessionBook",
    "StretchRows",
    "change_of",
    "containing",
    "moment_words",
    "moments",
    "parts_of",
    "rows_between",
    "time_words",
    "united",
]
