"""Pumps the patterns of packages with growing texts, to find those that backtrack.

    python -m tests.patterns setpoint.schema setpoint.server

Every pattern that a module compiles is matched with texts that almost match, in the way in which the source uses it
(`match`, `search`, ...). Prints the name of each pattern before its texts, and the number of patterns at the end. The
processor time of a pattern is limited: the process ends with SIGXCPU at a pattern whose time is not linear, because no
clock can interrupt the interpreter in a match.
"""

import ast
import importlib
import pkgutil
import re
import re._constants as codes  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.cpu_limit import limit_cpu

# A linear pattern needs some milliseconds for the long texts, a quadratic one minutes.
SECONDS = 3
_SHORT, _LONG, _SLOWEST = 1_000, 200_000, 10
_REPEATED = frozenset(("finditer", "findall", "sub", "subn", "split"))
_METHODS = _REPEATED | {"search", "match", "fullmatch"}
_ENDS = ("", "!", "\n\x00")
_CATEGORIES = {codes.CATEGORY_DIGIT: "1", codes.CATEGORY_SPACE: " ", codes.CATEGORY_WORD: "a"}
_REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)
# Patterns for texts that their callers limit, with the number of characters.
BOUNDED = {
    "setpoint.schema.formats.time_formats._go_duration": 200,
    "setpoint.schema.formats.time_formats._go_part": 200,
    # Signatures are constants of the library of CEL.
    "setpoint.schema.cel.functions._SIGNATURE": 200,
    # The keys in a path end with a bracket, so no bracket is without an end.
    "setpoint.objects.field._INDEX": 200,
}


class Found:
    """A pattern, the name of the variable that holds it, and the methods by which the source uses it."""

    def __init__(self, pattern: "re.Pattern[Any]", name: str) -> None:
        self.pattern = pattern
        self.name = name
        self.methods: set[str] = set()


def patterns_of(packages: Iterable[str]) -> list[Found]:
    """Returns the patterns of all modules of packages, by name."""
    found: dict[tuple[Any, int], Found] = {}
    for module in (module for package in packages for module in _modules(package)):
        tree = ast.parse(Path(module.__file__ or "").read_text())
        uses = _uses(tree)
        for name, value in list(vars(module).items()):
            if not name.startswith("__"):
                _collect(value, f"{module.__name__}.{name}", uses.get(name, set()), found)
        for line, method, pattern in _inline(tree):
            _collect(pattern, f"{module.__name__}:{line}", {method}, found)
    return sorted(found.values(), key=lambda each: each.name)


def _modules(package: str) -> Iterator[ModuleType]:
    module = importlib.import_module(package)
    yield module
    for each in pkgutil.walk_packages(getattr(module, "__path__", ()), f"{package}."):
        if not each.name.endswith("__main__"):
            yield importlib.import_module(each.name)


def _uses(tree: ast.AST) -> dict[str, set[str]]:
    """Returns the methods that a module calls on its variables."""
    found: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in _METHODS:
            of = node.value.value if isinstance(node.value, ast.Subscript) else node.value
            if isinstance(of, ast.Name):
                found.setdefault(of.id, set()).add(node.attr)
    return found


def _inline(tree: ast.AST) -> Iterator[tuple[int, str, "re.Pattern[Any]"]]:
    """Yields the patterns that a module passes to functions of `re`."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in _METHODS
            and node.args
        ):
            of, pattern = node.func.value, node.args[0]
            if isinstance(of, ast.Name) and of.id == "re" and isinstance(pattern, ast.Constant):
                flags = re.DOTALL if "DOTALL" in ast.dump(node) else 0
                yield node.lineno, node.func.attr, re.compile(pattern.value, flags)


def _collect(value: Any, name: str, methods: set[str], found: dict[tuple[Any, int], Found], depth: int = 0) -> None:
    bound = getattr(value, "__self__", None)
    if isinstance(value, re.Pattern):
        each = found.setdefault((value.pattern, value.flags), Found(value, name))
        each.methods |= methods
    elif isinstance(bound, re.Pattern):
        _collect(bound, name, {value.__name__}, found)
    elif depth < 3 and isinstance(value, dict):
        for key, item in list(value.items()):
            _collect(item, f"{name}[{key!r}]", methods, found, depth + 1)
    elif depth < 3 and isinstance(value, list | tuple | set | frozenset):
        for item in list(value):
            _collect(item, name, methods, found, depth + 1)
    elif depth < 3 and isinstance(value, type) and value.__module__ == name.rpartition(".")[0]:
        for key, item in list(vars(value).items()):
            _collect(item, f"{name}.{key}", methods, found, depth + 1)


def _characters(pattern: str) -> list[str]:
    """Returns one character of each class of a pattern, and its literals."""
    found: list[str] = []

    def walk(parsed: Any) -> None:
        for code, value in parsed:
            if code is codes.LITERAL:
                found.append(chr(value))
            elif code in (codes.NOT_LITERAL, codes.ANY):
                found.append("~")
            elif code is codes.IN:
                found.extend(_of_class(item) for item in value if item[0] is not codes.NEGATE)
            for inner in _parts(code, value):
                walk(inner)

    walk(parser.parse(pattern))
    return list(dict.fromkeys(found))


def _starts(pattern: str) -> list[str]:
    """Returns the beginnings of a text that matches a pattern, each repeat once or as often as required."""
    found = [""]

    def walk(parsed: Any) -> None:
        for code, value in parsed:
            if code is codes.LITERAL:
                found.append(found[-1] + chr(value))
            elif code in (codes.NOT_LITERAL, codes.ANY):
                found.append(f"{found[-1]}~")
            elif code is codes.IN:
                found.append(found[-1] + ("~" if value[0][0] is codes.NEGATE else _of_class(value[0])))
            times = max(1, min(value[0], 16)) if code in _REPEATS else 1
            for _ in range(times):
                for inner in _parts(code, value)[:1]:
                    walk(inner)

    walk(parser.parse(pattern))
    return list(dict.fromkeys(found))


def _of_class(item: tuple[Any, Any]) -> str:
    code, value = item
    if code is codes.CATEGORY:
        return _CATEGORIES.get(value, "~")
    return chr(value if code is codes.LITERAL else value[0])


def _parts(code: Any, value: Any) -> list[Any]:
    """Returns the patterns inside of an element of a parsed pattern."""
    if code in _REPEATS:
        return [value[2]]
    if code is codes.SUBPATTERN:
        return [value[3]]
    if code is codes.BRANCH:
        return list(value[1])
    if code in (codes.ASSERT, codes.ASSERT_NOT):
        return [value[1]]
    return [value] if code is codes.ATOMIC_GROUP else []


def texts_for(pattern: str) -> Iterator[tuple[str, str, str]]:
    """Yields a start, a part to repeat, and an end, of texts that a pattern almost matches."""
    characters, starts = _characters(pattern)[:14], _starts(pattern)
    repeated = [*starts[1:][-30:], *characters, *(a + b for a in characters[:6] for b in characters[:6])]
    for start in dict.fromkeys(["", *starts[-6:], *starts[:4]]):
        for part in dict.fromkeys(repeated):
            for end in _ENDS:
                yield start, part, end


def pump(found: Found) -> None:
    """Matches a pattern with short texts, and with the long forms of those that took the most time."""
    pattern = found.pattern
    is_text = isinstance(pattern.pattern, str)
    source = pattern.pattern if is_text else pattern.pattern.decode("latin-1")
    longest = BOUNDED.get(found.name, _LONG)

    def seconds(method: str, start: str, part: str, end: str, length: int) -> float:
        text = start + part * (length // len(part)) + end
        given = text if is_text else text.encode("latin-1", "replace")
        call: Callable[[Any], Any] = getattr(pattern, "finditer" if method in _REPEATED else method)
        begun = time.process_time()
        for _ in call(given) if method in _REPEATED else (call(given),):
            pass
        return time.process_time() - begun

    times = [
        (seconds(method, *parts, min(_SHORT, longest)), method, parts)
        for method in sorted(found.methods or {"match"})
        for parts in texts_for(source)
    ]
    # A busy machine slows down some of them by chance: the slowest are measured again.
    slowest = sorted(times, reverse=True)[: 5 * _SLOWEST]
    again = [
        (min(first, seconds(method, *parts, min(_SHORT, longest))), method, parts) for first, method, parts in slowest
    ]
    for _, method, parts in sorted(again, reverse=True)[:_SLOWEST]:
        seconds(method, *parts, longest)


def main(packages: list[str]) -> None:
    found = patterns_of(packages)
    for each in found:
        print(each.name, flush=True)
        limit_cpu(SECONDS)
        pump(each)
    print(len(found), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
