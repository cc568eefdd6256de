"""Formats of times: dates, times of day, durations, each as the real server reads them."""

import re

_date = re.compile(r"(\d{4})-(\d\d)-(\d\d)\Z", re.ASCII)
_time = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))\Z")
_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
# The usual format of a date-time; other texts take the slow path.
_usual = re.compile(
    r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?Z\Z", re.ASCII
).match

_go_duration = re.compile(r"[+-]?(?:0|(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)\Z")
_go_part = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)")
_NANOSECONDS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
# A match begins with all digits of a number: a long number without a unit is read once, not once for each digit.
_words = re.compile(r"(?<![0-9])([0-9]++)[\t\n\f\r ]*+([A-Za-zµ]+)")
_UNITS = {"ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk"}
_UNIT_PREFIXES = ("nano", "micro", "milli", "sec", "min", "hour", "day", "week")


def is_date(text: str) -> bool:
    found = _date.match(text)
    if found is None:
        return False
    year, month, day = int(found[1]), int(found[2]), int(found[3])
    if not 1 <= month <= 12 or not 1 <= day <= _DAYS[month - 1]:
        return False
    return day < 29 or month != 2 or (year % 4 == 0 and (year % 100 != 0 or year % 400 == 0))


def is_date_time(text: str) -> bool:
    if _usual(text):
        return True
    if len(text) < 4:
        return False
    # The real server checks the first two parts around "t" and ignores the rest.
    parts = text.lower().split("t")
    if len(parts) < 2 or not is_date(parts[0]):
        return False
    found = _time.match(parts[1])
    return found is not None and found[1] <= "23" and found[2] <= "59" and found[3] <= "59"


def is_duration(text: str) -> bool:
    """Returns True for a Go duration (`1h30m`), or for numbers with the units of Scala (`3 days`)."""
    if _is_go_duration(text):
        return True
    known = False
    for number, unit in _words.findall(text):
        digits = number.lstrip("0") or "0"
        if len(digits) > 19 or int(digits) > 2**63 - 1:  # Python refuses to convert very long numbers
            return False
        unit = unit.lower()
        known = known or unit in _UNITS or unit.startswith(_UNIT_PREFIXES)
    return known


def _is_go_duration(text: str) -> bool:
    if len(text) > 200 or not _go_duration.match(text):
        return False
    total = sum(
        int(whole or 0) * _NANOSECONDS[unit] + int(fraction or 0) * _NANOSECONDS[unit] // 10 ** len(fraction)
        for whole, fraction, unit in _go_part.findall(text)
    )
    return total < 2**63 or (total == 2**63 and text.startswith("-"))
