"""Queries: objects of a store by anything in them.

    pods.query().in_namespace("shop").where("spec.nodeName", "=", "n1").order_by("metadata.name").limit(10).objects()

A query does not change: each method gives a narrower one. It is answered by an index where one fits (one that has the
name of a path counts for that path, `labels:NAME` for a label) and by looking at every object where none does;
`explain` says which. The objects come in the order they were first seen unless another is asked for.
"""

import operator as op
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

from setpoint.cache.entry import Held
from setpoint.cache.index import comparable
from setpoint.cache.path import Find, compile_path
from setpoint.cache.store import ObjectStore
from setpoint.client.selectors import FieldsArgument, LabelsArgument, fields_text, labels_text
from setpoint.objects.fields import parse as parse_fields
from setpoint.objects.labels import EVERYTHING, Selector, parse

T = TypeVar("T")
Test = Callable[[Held[T]], bool]

_ORDERED: dict[str, Callable[[Any, Any], bool]] = {"<": op.lt, "<=": op.le, ">": op.gt, ">=": op.ge}
_OPERATORS = ("=", "==", "!=", "in", "notin", "contains", "exists", "!exists", *_ORDERED)


class Condition(NamedTuple):
    """What must be so at a path."""

    path: str
    operator: str
    value: Any

    def test(self) -> Test[Any]:
        find = compile_path(self.path)
        symbol, value = self.operator, self.value
        if symbol in ("=", "=="):
            return lambda held: any(_same(found, value) for found in find(held))
        if symbol == "!=":
            return lambda held: not any(_same(found, value) for found in find(held))
        if symbol == "in":
            return lambda held: any(_same(found, each) for found in find(held) for each in value)
        if symbol == "notin":
            return lambda held: not any(_same(found, each) for found in find(held) for each in value)
        if symbol == "contains":
            return lambda held: any(value in found for found in find(held) if isinstance(found, str))
        if symbol == "exists":
            return lambda held: bool(find(held))
        if symbol == "!exists":
            return lambda held: not find(held)
        compare, group = _ORDERED[symbol], comparable(value)
        return lambda held: any(comparable(found) == group and compare(found, value) for found in find(held))


class Page(NamedTuple, Generic[T]):
    """A part of what a query finds. `next` is where the following one begins; None after the last."""

    items: list[T]
    next: int | None
    total: int


class Query(Generic[T]):
    """What is asked of a store."""

    def __init__(self, store: ObjectStore[T]) -> None:
        self._store = store
        self._namespace = ""
        self._labels: Selector = EVERYTHING
        self._conditions: tuple[Condition, ...] = ()
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
        """Those in a namespace; "" for all."""
        return self._with(_namespace=namespace)

    def labels(self, labels: LabelsArgument) -> "Query[T]":
        """Those whose labels match."""
        return self._with(_labels=self._labels & parse(labels_text(labels)))

    def fields(self, fields: FieldsArgument) -> "Query[T]":
        """Those that a field selector selects; any field will do. As there, all values are texts, and what is not there
        is empty."""
        found = self
        for path, value, equals in parse_fields(fields_text(fields)).requirements:
            if equals and value:
                found = found.where(path, "in", _readings(value))
            else:
                find = compile_path(path)
                found = found._with(_tests=(*found._tests, partial(_text_is, find, value, equals)))
        return found

    def where(self, path: str, operator: str = "exists", value: Any = None) -> "Query[T]":
        """Those that have, at a path, a value that is so: `=`, `!=`, `in`, `notin`, `exists`, `!exists`, `<` to `>=`,
        or a text that `contains` another.

        Of several values at a path one has to be so; for `!=`, `notin` and `!exists`, none may be otherwise.
        """
        if operator not in _OPERATORS:
            raise ValueError(f"{operator!r} is no way to compare; there are: {', '.join(_OPERATORS)}")
        if operator in _ORDERED and not comparable(value):
            raise ValueError(f"{value!r} has no order: only numbers and texts are less or greater than others")
        if operator == "contains" and not isinstance(value, str):
            raise ValueError(f"{value!r} is no text: only a text is contained in another")
        if operator in ("in", "notin"):
            value = tuple(value)
        compile_path(path)
        return self._with(_conditions=(*self._conditions, Condition(path, operator, value)))

    def matching(self, test: Callable[[T], bool]) -> "Query[T]":
        """Those that pass a test of one's own."""
        return self._with(_tests=(*self._tests, lambda held: test(held.object)))

    def by(self, index: str, value: Hashable) -> "Query[T]":
        """Those with a value in an index. Raises KeyError where there is none of that name."""
        self._store.index(index)
        return self._with(_indexed=(*self._indexed, (index, value)))

    def visible(self, where: Mapping[str, Iterable[str] | None]) -> "Query[T]":
        """Those that somebody may see: by namespace the names, or None for all there; the namespace "*" stands for all
        that are not named. Who may see nothing finds nothing."""
        allowed = {namespace: None if names is None else frozenset(names) for namespace, names in where.items()}
        return self._with(_tests=(*self._tests, partial(_is_visible, allowed)))

    def order_by(self, *paths: str) -> "Query[T]":
        """In the order of what is at these paths; a minus before one turns it round. What has nothing there is last."""
        for path in paths:
            compile_path(path.removeprefix("-"))
        return self._with(_order=paths)

    def skip(self, count: int) -> "Query[T]":
        return self._with(_skip=count)

    def limit(self, count: int | None) -> "Query[T]":
        return self._with(_limit=count)

    # Answers

    def held(self) -> list[Held[T]]:
        """What it finds, as the store holds it."""
        found = self._sorted(self._matches())
        end = None if self._limit is None else self._skip + self._limit
        return found[self._skip : end] if self._skip or end is not None else found

    def objects(self) -> list[T]:
        """The objects it finds."""
        return [held.object for held in self.held()]

    def first(self) -> T | None:
        """The first object it finds."""
        found = self.limit(1).held()
        return found[0].object if found else None

    def count(self) -> int:
        """How many there are, however many are wanted at once."""
        return len(self._matches())

    def count_by(self, path: str) -> dict[Any, int]:
        """How many there are of each value at a path, the most frequent first; None stands for nothing there. One with
        several values counts for each."""
        find, found = compile_path(path), Counter[Any]()
        for held in self._matches():
            values = [value for value in find(held) if _is_indexed(value)]
            found.update(dict.fromkeys(values or [None], 1))
        return dict(found.most_common())

    def page(self, size: int, start: int = 0) -> Page[T]:
        """So many of them, from a place on."""
        found = self._sorted(self._matches())
        end = start + size
        items = [held.object for held in found[start:end]]
        return Page(items, end if end < len(found) else None, len(found))

    def explain(self) -> str:
        """How it is answered."""
        return self._plan()[0]

    def matcher(self) -> Test[T]:
        """The same question about one object, wherever it is kept. Raises ValueError where it asks an index by name."""
        if self._indexed:
            raise ValueError("what an index has is not known of an object alone: use `where`, not `by`")
        tests = self._all_tests(self._conditions)
        return lambda held: all(test(held) for test in tests)

    # How

    def _all_tests(
        self, conditions: Sequence[Condition], *, labels: bool = True, namespace: bool = True
    ) -> list[Test[T]]:
        """What is asked of each object, the cheapest first; without what an index has answered already."""
        tests: list[Test[T]] = []
        if namespace and self._namespace:
            wanted = self._namespace
            tests.append(lambda held: held.meta.namespace == wanted)
        if labels and not self._labels.is_everything:
            matches = self._labels.matches
            tests.append(lambda held: matches(held.meta.labels))
        return [*tests, *(condition.test() for condition in conditions), *self._tests]

    def _matches(self) -> list[Held[T]]:
        _, found, (conditions, labels_done, namespace_done) = self._plan()
        tests = self._all_tests(conditions, labels=not labels_done, namespace=not namespace_done)
        for name, value in self._indexed:
            keys = self._store.index(name).keys(value)
            tests.append(lambda held, keys=keys: held.meta.key in keys)  # type: ignore[misc]
        if not tests:
            return list(found)
        if len(tests) == 1:
            return list(filter(tests[0], found))
        return [held for held in found if all(test(held) for test in tests)]

    def _plan(self) -> tuple[str, Iterable[Held[T]], tuple[Sequence[Condition], bool, bool]]:
        """Where to look: what it is called, the objects there, and what is still to be tested (conditions), or is not
        any more (labels, namespace)."""
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

    def _by_index(self, condition: Condition) -> list[Held[T]] | None:
        """The objects for which a condition holds, if an index can tell."""
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
        held = (self._store.get(key) for key in keys)
        test = condition.test()
        return [each for each in held if each is not None and test(each)]

    def _sorted(self, found: list[Held[T]]) -> list[Held[T]]:
        # From the last to the first: a sort keeps what is equal in the order it had.
        for path in reversed(self._order):
            find = compile_path(path.removeprefix("-"))
            backwards = path.startswith("-")
            known: list[tuple[tuple[str, Any], Held[T]]] = []
            unknown: list[Held[T]] = []
            for held in found:
                values = find(held)
                if values and (group := comparable(values[0])):
                    known.append(((group, values[0]), held))
                else:
                    unknown.append(held)
            known.sort(key=lambda pair: pair[0], reverse=backwards)
            found = [held for _, held in known] + unknown
        return found


def index_path(store: ObjectStore[Any], path: str) -> None:
    """Keeps an index of what is at a path; queries for that path use it."""
    find = compile_path(path)
    store.keep_index(path, path, lambda held: [value for value in find(held) if _is_indexed(value)])


def index_label(store: ObjectStore[Any], label: str) -> None:
    """Keeps an index of the values of a label; queries for that label use it."""

    def values_of(held: Held[Any]) -> list[Hashable]:
        labels = held.meta.labels
        return [labels[label]] if labels is not None and label in labels else []

    store.keep_index(label_index(label), label, values_of)


def label_index(label: str) -> str:
    return f"labels:{label}"


def _is_visible(allowed: Mapping[str, frozenset[str] | None], held: Held[Any]) -> bool:
    meta = held.meta
    names = allowed.get(meta.namespace, allowed.get("*", frozenset()))
    return names is None or meta.name in names


def _readings(text: str) -> list[Any]:
    """What a text can mean in an object."""
    found: list[Any] = [text]
    if text in ("true", "false"):
        found.append(text == "true")
    elif text.removeprefix("-").isdecimal():
        found.append(int(text))
    return found


def _text_is(find: Find, value: str, equals: bool, held: Held[Any]) -> bool:
    found = find(held) or [""]
    return any(each in _readings(value) for each in found) is equals


def _is_indexed(value: Any) -> bool:
    return isinstance(value, str | int | float | bool)


def _same(found: Any, value: Any) -> bool:
    """Equality as JSON has it: true is no number."""
    return bool(found == value) and isinstance(found, bool) == isinstance(value, bool)
