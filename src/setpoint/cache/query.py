"""Queries: objects of a store by any field.

    pods.query().in_namespace("shop").where("spec.nodeName", "=", "n1").order_by("metadata.name").limit(10).objects()

A query is immutable: each method returns a narrower query. A query uses an index if one fits (an index with the name of
a path is used for that path, `labels:NAME` for a label), and otherwise checks every object; `explain` tells which. The
objects are returned in the order in which they were first seen, unless another order is requested.
"""

import operator as op
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

from setpoint.cache.entry import CachedObject
from setpoint.cache.index import comparable
from setpoint.cache.informer_store import ObjectStore
from setpoint.cache.path import Find, compile_path
from setpoint.client.selectors import FieldsArgument, LabelsArgument, fields_text, labels_text
from setpoint.objects.fields import parse as parse_fields
from setpoint.objects.labels import EVERYTHING, Selector, parse

T = TypeVar("T")
Test = Callable[[CachedObject[T]], bool]

_ORDERED: dict[str, Callable[[Any, Any], bool]] = {"<": op.lt, "<=": op.le, ">": op.gt, ">=": op.ge}
_OPERATORS = ("=", "==", "!=", "in", "notin", "contains", "exists", "!exists", *_ORDERED)


class FieldRequirement(NamedTuple):
    """A requirement for the values at a path."""

    path: str
    operator: str
    value: Any

    def test(self) -> Test[Any]:
        find = compile_path(self.path)
        symbol, value = self.operator, self.value
        if symbol in ("=", "=="):
            return lambda entry: any(_same(found, value) for found in find(entry))
        if symbol == "!=":
            return lambda entry: not any(_same(found, value) for found in find(entry))
        if symbol == "in":
            return lambda entry: any(_same(found, each) for found in find(entry) for each in value)
        if symbol == "notin":
            return lambda entry: not any(_same(found, each) for found in find(entry) for each in value)
        if symbol == "contains":
            return lambda entry: any(value in found for found in find(entry) if isinstance(found, str))
        if symbol == "exists":
            return lambda entry: bool(find(entry))
        if symbol == "!exists":
            return lambda entry: not find(entry)
        compare, group = _ORDERED[symbol], comparable(value)
        return lambda entry: any(comparable(found) == group and compare(found, value) for found in find(entry))


class Page(NamedTuple, Generic[T]):
    """A page of a query's result. `next` is the start of the following page; None after the last."""

    items: list[T]
    next: int | None
    total: int


class Query(Generic[T]):
    """A query over a store."""

    def __init__(self, store: ObjectStore[T]) -> None:
        self._store = store
        self._namespace = ""
        self._labels: Selector = EVERYTHING
        self._conditions: tuple[FieldRequirement, ...] = ()
        self._tests: tuple[Test[T], ...] = ()
        self._indexed: tuple[tuple[str, Hashable], ...] = ()
        self._order: tuple[str, ...] = ()
        self._skip = 0
        self._limit: int | None = None

    def _with(self, **changes: Any) -> "Query[T]":
        made: Query[T] = Query(self._store)
        made.__dict__.update(self.__dict__ | changes)
        return made

    # Narrowing

    def in_namespace(self, namespace: str) -> "Query[T]":
        """Selects the objects of a namespace; "" selects all."""
        return self._with(_namespace=namespace)

    def labels(self, labels: LabelsArgument) -> "Query[T]":
        """Selects the objects with matching labels."""
        return self._with(_labels=self._labels & parse(labels_text(labels)))

    def fields(self, fields: FieldsArgument) -> "Query[T]":
        """Selects the objects that match a field selector, for any field. As in Kubernetes, all values are compared as
        strings, and missing fields are empty."""
        found = self
        for path, value, equals in parse_fields(fields_text(fields)).requirements:
            if equals and value:
                found = found.where(path, "in", _readings(value))
            else:
                find = compile_path(path)
                found = found._with(_tests=(*found._tests, partial(_text_is, find, value, equals)))
        return found

    def where(self, path: str, operator: str = "exists", value: Any = None) -> "Query[T]":
        """Selects the objects with a matching value at a path: `=`, `!=`, `in`, `notin`, `exists`, `!exists`, `<`,
        `<=`, `>`, `>=`, or `contains` for a substring.

        If a path has several values, one match is enough; with `!=`, `notin` and `!exists`, no value may match.
        """
        if operator not in _OPERATORS:
            raise ValueError(f"unknown operator {operator!r}: expected one of {', '.join(_OPERATORS)}")
        if operator in _ORDERED and not comparable(value):
            raise ValueError(f"{value!r} cannot be ordered: expected a number or a string")
        if operator == "contains" and not isinstance(value, str):
            raise ValueError(f"contains needs a string, not {value!r}")
        if operator in ("in", "notin"):
            value = tuple(value)
        compile_path(path)
        return self._with(_conditions=(*self._conditions, FieldRequirement(path, operator, value)))

    def matching(self, test: Callable[[T], bool]) -> "Query[T]":
        """Selects the objects that pass a test function."""
        return self._with(_tests=(*self._tests, lambda entry: test(entry.object)))

    def by(self, index: str, value: Hashable) -> "Query[T]":
        """Selects the objects with a value in an index. Raises KeyError if the index does not exist."""
        self._store.index(index)
        return self._with(_indexed=(*self._indexed, (index, value)))

    def visible(self, where: Mapping[str, Iterable[str] | None]) -> "Query[T]":
        """Selects the objects that a user may see: for each namespace the names, or None for all names. The namespace
        "*" stands for all namespaces that are not listed. An empty mapping selects no objects."""
        allowed = {namespace: None if names is None else frozenset(names) for namespace, names in where.items()}
        return self._with(_tests=(*self._tests, partial(_is_visible, allowed)))

    def order_by(self, *paths: str) -> "Query[T]":
        """Orders by the values at these paths; a leading minus reverses the order. Objects without a value come
        last."""
        for path in paths:
            compile_path(path.removeprefix("-"))
        return self._with(_order=paths)

    def skip(self, count: int) -> "Query[T]":
        return self._with(_skip=count)

    def limit(self, count: int | None) -> "Query[T]":
        return self._with(_limit=count)

    # Answers

    def entries(self) -> list[CachedObject[T]]:
        """Returns the entries of the matching objects."""
        found = self._sorted(self._matches())
        end = None if self._limit is None else self._skip + self._limit
        return found[self._skip : end] if self._skip or end is not None else found

    def objects(self) -> list[T]:
        """Returns the matching objects."""
        return [entry.object for entry in self.entries()]

    def first(self) -> T | None:
        """Returns the first matching object, or None."""
        found = self.limit(1).entries()
        return found[0].object if found else None

    def count(self) -> int:
        """Returns the number of matching objects, regardless of skip and limit."""
        return len(self._matches())

    def count_by(self, path: str) -> dict[Any, int]:
        """Returns the number of matching objects for each value at a path, the most frequent first. None counts objects
        without a value. An object with several values counts for each of them."""
        find, found = compile_path(path), Counter[Any]()
        for entry in self._matches():
            values = [value for value in find(entry) if _is_indexed(value)]
            found.update(dict.fromkeys(values or [None], 1))
        return dict(found.most_common())

    def page(self, size: int, start: int = 0) -> Page[T]:
        """Returns a page of `size` objects, beginning at `start`."""
        found = self._sorted(self._matches())
        end = start + size
        items = [entry.object for entry in found[start:end]]
        return Page(items, end if end < len(found) else None, len(found))

    def explain(self) -> str:
        """Returns the name of the index or scan that answers the query."""
        return self._plan()[0]

    def matcher(self) -> Test[T]:
        """Returns a function that tests a single object, wherever stored. Raises ValueError if the query uses an index
        by name."""
        if self._indexed:
            raise ValueError("a single object cannot be tested with an index: use `where` instead of `by`")
        tests = self._all_tests(self._conditions)
        return lambda entry: all(test(entry) for test in tests)

    # Evaluation

    def _all_tests(
        self, conditions: Sequence[FieldRequirement], *, labels: bool = True, namespace: bool = True
    ) -> list[Test[T]]:
        """Returns the tests for each object, the cheapest first, without those that an index has answered."""
        tests: list[Test[T]] = []
        if namespace and self._namespace:
            wanted = self._namespace
            tests.append(lambda entry: entry.meta.namespace == wanted)
        if labels and not self._labels.is_everything:
            matches = self._labels.matches
            tests.append(lambda entry: matches(entry.meta.labels))
        return [*tests, *(condition.test() for condition in conditions), *self._tests]

    def _matches(self) -> list[CachedObject[T]]:
        _, found, (conditions, labels_done, namespace_done) = self._plan()
        tests = self._all_tests(conditions, labels=not labels_done, namespace=not namespace_done)
        for name, value in self._indexed:
            keys = self._store.index(name).keys(value)
            tests.append(lambda entry, keys=keys: entry.meta.key in keys)  # type: ignore[misc]
        if not tests:
            return list(found)
        if len(tests) == 1:
            return list(filter(tests[0], found))
        return [entry for entry in found if all(test(entry) for test in tests)]

    def _plan(self) -> tuple[str, Iterable[CachedObject[T]], tuple[Sequence[FieldRequirement], bool, bool]]:
        """Chooses the access path: its name, the candidate objects, and the remaining tests: the conditions, and
        whether labels and namespace are done."""
        store, namespace = self._store, self._namespace
        for name, value in self._indexed:
            return f"index {name}", store.by_index(name, value), (self._conditions, False, False)
        for place, condition in enumerate(self._conditions):
            found = self._by_index(condition)
            if found is not None:
                rest = self._conditions[:place] + self._conditions[place + 1 :]
                return f"index {condition.path}", found, (rest, False, False)
        required = self._labels.required()
        for label, wanted in required.items():
            if store.has_index(name := label_index(label)):
                done = len(self._labels.requirements) == 1
                return f"index {name}", store.by_index(name, wanted), (self._conditions, done, False)
        if namespace:
            return f"namespace {namespace}", store.in_namespace(namespace), (self._conditions, False, True)
        return "all objects", store.all(), (self._conditions, False, False)

    def _by_index(self, condition: FieldRequirement) -> list[CachedObject[T]] | None:
        """Returns the objects that meet a condition, or None if no index can tell."""
        path, operator, value = condition
        if not self._store.has_index(path):
            return None
        index = self._store.index(path)
        if operator in ("=", "==", "in"):
            wanted = value if operator == "in" else (value,)
            if not all(map(_is_indexed, wanted)):
                return None
            values: Iterable[Hashable] = dict.fromkeys(wanted)
        elif operator in _ORDERED:
            values = index.range(operator, value)
        else:
            return None
        keys = dict.fromkeys(key for each in values for key in index.keys(each))
        entry = (self._store.get(key) for key in keys)
        test = condition.test()
        return [each for each in entry if each is not None and test(each)]

    def _sorted(self, entries: list[CachedObject[T]]) -> list[CachedObject[T]]:
        # From the last path to the first: the sort is stable.
        for path in reversed(self._order):
            find = compile_path(path.removeprefix("-"))
            backwards = path.startswith("-")
            known: list[tuple[tuple[str, Any], CachedObject[T]]] = []
            unknown: list[CachedObject[T]] = []
            for entry in entries:
                values = find(entry)
                if values and (group := comparable(values[0])):
                    known.append(((group, values[0]), entry))
                else:
                    unknown.append(entry)
            known.sort(key=lambda pair: pair[0], reverse=backwards)
            entries = [entry for _, entry in known] + unknown
        return entries


def index_path(store: ObjectStore[Any], path: str) -> None:
    """Adds an index over the values at a path; queries for that path use the index."""
    find = compile_path(path)
    store.ensure_index(path, path, lambda entry: [value for value in find(entry) if _is_indexed(value)])


def index_label(store: ObjectStore[Any], label: str) -> None:
    """Adds an index over the values of a label; queries for that label use the index."""

    def values_of(entry: CachedObject[Any]) -> list[Hashable]:
        labels = entry.meta.labels
        return [labels[label]] if labels is not None and label in labels else []

    store.ensure_index(label_index(label), label, values_of)


def label_index(label: str) -> str:
    return f"labels:{label}"


def _is_visible(allowed: Mapping[str, frozenset[str] | None], entry: CachedObject[Any]) -> bool:
    meta = entry.meta
    names = allowed.get(meta.namespace, allowed.get("*", frozenset()))
    return names is None or meta.name in names


def _readings(text: str) -> list[Any]:
    """Returns the JSON values that a text can stand for."""
    found: list[Any] = [text]
    if text in ("true", "false"):
        found.append(text == "true")
    elif text.removeprefix("-").isdecimal():
        found.append(int(text))
    return found


def _text_is(find: Find, value: str, equals: bool, entry: CachedObject[Any]) -> bool:
    found = find(entry) or [""]
    return any(each in _readings(value) for each in found) is equals


def _is_indexed(value: Any) -> bool:
    return isinstance(value, str | int | float | bool)


def _same(found: Any, value: Any) -> bool:
    """Compares as JSON does: true is not a number."""
    return bool(found == value) and isinstance(found, bool) == isinstance(value, bool)
