"""The order of handlers: that of their registration, unless one says that it comes after others."""

from collections.abc import Iterable, Mapping, Sequence


class RegistrationError(ValueError):
    """Handlers that do not fit together."""


def ordered(after: Mapping[str, Iterable[str]]) -> list[str]:
    """The names in an order in which each comes after those it names; else they stay as they were given.

    Raises RegistrationError for names that nobody has, and for circles.
    """
    waits = {name: set(others) for name, others in after.items()}
    for name, others in waits.items():
        unknown = sorted(others - waits.keys())
        if unknown:
            known = ", ".join(each for each in waits if each != name) or "none"
            raise RegistrationError(
                f"{name} is to come after {', '.join(unknown)}, and no handler is called that; there are: {known}. "
                "Register that one before, or both in one `registration()`"
            )
    found: list[str] = []
    while waits:
        first = next((name for name, others in waits.items() if not others), None)
        if first is None:
            circle = " after ".join(_circle(waits))
            raise RegistrationError(f"handlers wait for each other: {circle}. Take one `after` out of that circle")
        del waits[first]
        found.append(first)
        for others in waits.values():
            others.discard(first)
    return found


def _circle(waits: Mapping[str, set[str]]) -> Sequence[str]:
    """Names that wait for each other, the first once more at the end."""
    path = [next(iter(waits))]
    while True:
        following = min(waits[path[-1]])
        if following in path:
            return [*path[path.index(following) :], following]
        path.append(following)


def before(after: Mapping[str, Iterable[str]], name: str) -> frozenset[str]:
    """All that come before one because it says so, or one of those does."""
    found: set[str] = set()
    waiting = list(after.get(name, ()))
    while waiting:
        other = waiting.pop()
        if other not in found:
            found.add(other)
            waiting += after.get(other, ())
    return frozenset(found)
