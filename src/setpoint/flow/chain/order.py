"""The order of handlers: the order of registration, unless a handler must come after others."""

from collections.abc import Iterable, Mapping, Sequence


class RegistrationError(ValueError):
    """Handlers that cannot be registered together."""


def ordered(after: Mapping[str, Iterable[str]]) -> list[str]:
    """Returns the names in an order in which each comes after its dependencies; otherwise as given.

    Raises RegistrationError for unknown names and for cycles.
    """
    waits = {name: set(others) for name, others in after.items()}
    for name, others in waits.items():
        unknown = sorted(others - waits.keys())
        if unknown:
            known = ", ".join(each for each in waits if each != name) or "none"
            raise RegistrationError(
                f"{name} must come after unknown handlers: {', '.join(unknown)}; known handlers: {known}. "
                "Register them before, or together in one `registration()`"
            )
    found: list[str] = []
    while waits:
        first = next((name for name, others in waits.items() if not others), None)
        if first is None:
            circle = " after ".join(_circle(waits))
            raise RegistrationError(f"handlers form a cycle: {circle}. Remove one `after` of the cycle")
        del waits[first]
        found.append(first)
        for others in waits.values():
            others.discard(first)
    return found


def _circle(waits: Mapping[str, set[str]]) -> Sequence[str]:
    """Returns the names of a cycle, with the first repeated at the end."""
    path = [next(iter(waits))]
    while True:
        following = min(waits[path[-1]])
        if following in path:
            return [*path[path.index(following) :], following]
        path.append(following)


def before(after: Mapping[str, Iterable[str]], name: str) -> frozenset[str]:
    """Returns all direct and indirect dependencies of a name."""
    found: set[str] = set()
    waiting = list(after.get(name, ()))
    while waiting:
        other = waiting.pop()
        if other not in found:
            found.add(other)
            waiting += after.get(other, ())
    return frozenset(found)
