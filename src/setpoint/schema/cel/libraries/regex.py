"""`find` and `findAll`: the matches of a pattern in a string."""

from functools import lru_cache
from typing import Any

import re2

from setpoint.schema.cel.functions import Library
from setpoint.schema.cel.libraries.strings import encodable
from setpoint.schema.cel.values import EvaluationError
from setpoint.schema.regex import pattern_error

REGEX = Library()


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> Any:
    wrong = pattern_error(pattern)
    if wrong:
        raise EvaluationError(f"Illegal regex: {wrong}")
    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options)


@REGEX.overload("string_find_string: (string).find(string) -> string")
def _find(text: str, pattern: str) -> str:
    match = _compiled(pattern).search(encodable(text))
    return "" if match is None else str(match.group())


@REGEX.overload(
    "string_find_all_string: (string).findAll(string) -> list(string)",
    "string_find_all_string_int: (string).findAll(string, int) -> list(string)",
)
def _find_all(text: str, pattern: str, count: int = -1) -> list[str]:
    found: list[str] = []
    for match in _compiled(pattern).finditer(encodable(text)):
        if 0 <= count <= len(found):
            break
        found.append(match.group())
    return found
