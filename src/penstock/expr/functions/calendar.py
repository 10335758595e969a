"""The proleptic Gregorian calendar on NumPy vectors of days since 1970-01-01, for every year.

The arithmetic runs on years that start in March, so that the leap day is the last day of a year and all
month lengths before it are fixed. Every function costs a handful of integer operations per value.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = [
    "add_months",
    "civil_from_days",
    "day_of_week",
    "days_from_civil",
    "days_in_month",
    "is_leap",
    "iso_week",
]

Days = npt.NDArray[np.int64]
_CYCLE = 146_097
_SHIFT = 719_468
_LENGTHS = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31], np.int64)


def days_from_civil(year: Days, month: Days, day: Days) -> Days:
    """Days since 1970-01-01 of valid dates."""
    shifted = np.where(month <= 2, year - 1, year)
    cycle = shifted // 400
    year_of_cycle = shifted - cycle * 400
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    day_of_cycle = year_of_cycle * 365 + year_of_cycle // 4 - year_of_cycle // 100 + day_of_year
    return np.asarray(cycle * _CYCLE + day_of_cycle - _SHIFT)


def civil_from_days(days: npt.NDArray[np.integer]) -> tuple[Days, Days, Days]:
    """Year, month and day of the month."""
    shifted = days.astype(np.int64) + _SHIFT
    cycle = shifted // _CYCLE
    day_of_cycle = shifted - cycle * _CYCLE
    year_of_cycle = (
        day_of_cycle - day_of_cycle // 1460 + day_of_cycle // 36_524 - day_of_cycle // 146_096
    ) // 365
    day_of_year = day_of_cycle - (365 * year_of_cycle + year_of_cycle // 4 - year_of_cycle // 100)
    index = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * index + 2) // 5 + 1
    month = np.where(index < 10, index + 3, index - 9)
    return year_of_cycle + cycle * 400 + (month <= 2), month, day


def is_leap(year: Days) -> npt.NDArray[np.bool_]:
    """Whether the years have a 29th of February."""
    return np.asarray((year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0)))


def days_in_month(year: Days, month: Days) -> Days:
    """The length of the months (1 to 12)."""
    return np.asarray(_LENGTHS[month - 1] + ((month == 2) & is_leap(year)))


def add_months(days: npt.NDArray[np.integer], months: npt.NDArray[np.integer]) -> Days:
    """The dates some months later, on the last day where the month is too short."""
    year, month, day = civil_from_days(days)
    total = year * 12 + (month - 1) + months
    new_year, new_month = total // 12, total % 12 + 1
    return days_from_civil(new_year, new_month, np.minimum(day, days_in_month(new_year, new_month)))


def day_of_week(days: npt.NDArray[np.integer]) -> Days:
    """0 for Monday to 6 for Sunday: 1970-01-01 was a Thursday."""
    return np.asarray((days.astype(np.int64) + 3) % 7)


def iso_week(days: npt.NDArray[np.integer]) -> tuple[Days, Days]:
    """The ISO year and week: the week belongs to the year that has its Thursday."""
    thursday = days.astype(np.int64) - day_of_week(days) + 3
    year, _, _ = civil_from_days(thursday)
    first = days_from_civil(year, np.ones_like(year), np.ones_like(year))
    return year, (thursday - first) // 7 + 1
