"""Reduces a finding to few requests with small bodies that still cause a difference of the same class."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from tests.oracle.comparison import class_of
from tests.oracle.episode import Finding
from tests.oracle.request import Request

TRIALS = 70
# Some requests wait for seconds.
SECONDS = 6.0


def classes(finding: Finding) -> set[str]:
    return {class_of(finding.request, found) for found in finding.compared.differences}


def shrunk(finding: Finding, wanted: str, rerun: Callable[[tuple[Request, ...]], Finding | None]) -> Finding:
    """A smaller finding of the class; the given one if no smaller one was found."""
    best = finding
    left = TRIALS
    end = time.monotonic() + SECONDS

    def holds(history: tuple[Request, ...]) -> bool:
        nonlocal best, left
        left = left - 1 if time.monotonic() < end else 0
        found = rerun(history)
        if found is None or wanted not in classes(found):
            return False
        best = found
        return True

    history = finding.history
    if finding.request.verb == "watch":
        return finding
    # Most differences need the object at most.
    creates = [request for request in history[:-1] if request.verb == "create" and not request.subresource]
    for start in ((), *((create,) for create in creates[-2:]), tuple(creates)):
        if len(start) + 1 < len(best.history) and left > 0 and holds((*start, history[-1])):
            break
    for index in reversed(range(len(best.history) - 1)):
        if left > 0 and len(best.history) > 1 and index < len(best.history) - 1:
            holds((*best.history[:index], *best.history[index + 1 :]))
    for index in reversed(range(len(best.history))):
        changed = True
        while changed and left > 0:
            changed = False
            for smaller in _smaller(best.history[index]):
                if left <= 0:
                    break
                if holds((*best.history[:index], smaller, *best.history[index + 1 :])):
                    changed = True
                    break
    return best


def _smaller(request: Request) -> Iterator[Request]:
    """Requests with one option, header or part of the body less."""
    for pair in request.query:
        # Without its selector a delete would remove objects that later episodes need.
        if request.verb == "deletecollection" and pair[0] == "labelSelector":
            continue
        yield replace(request, query=tuple(other for other in request.query if other != pair))
    for pair in request.headers:
        if pair[0] != "Content-Type":
            yield replace(request, headers=tuple(other for other in request.headers if other != pair))
    if isinstance(request.body, dict | list):
        for body in _less(request.body):
            yield replace(request, body=body)


def _less(tree: Any) -> Iterator[Any]:
    """Trees with one part less, the largest parts first."""
    if isinstance(tree, dict):
        for key in tree:
            yield {other: part for other, part in tree.items() if other != key}
        for key, part in tree.items():
            for smaller in _less(part):
                yield {**tree, key: smaller}
    elif isinstance(tree, list):
        for index in range(len(tree)):
            yield [*tree[:index], *tree[index + 1 :]]
        for index, part in enumerate(tree):
            for smaller in _less(part):
                yield [*tree[:index], smaller, *tree[index + 1 :]]
