"""Equality of JSON values. Python's own `==` takes true for 1; JSON does not."""

from setpoint.objects.tree import Json


def equal(left: Json, right: Json) -> bool:
    """Whether two values are equal as RFC 6902 has it: numbers by their value, the rest by type and content."""
    return bool(left == right) and _same(left, right, numbers_alike=True)


def identical(left: Json, right: Json) -> bool:
    """Whether two values are equal and of the same types throughout: 1 is not 1.0."""
    return bool(left == right) and _same(left, right, numbers_alike=False)


def _same(left: Json, right: Json, *, numbers_alike: bool) -> bool:
    """Whether two trees that Python finds equal have the same types."""
    if left is right:
        return True
    kind = type(left)
    if kind is not type(right):
        return numbers_alike and kind is not bool and type(right) is not bool
    if kind is dict:
        return all(_same(item, right[key], numbers_alike=numbers_alike) for key, item in left.items())
    if kind is list:
        return all(_same(*pair, numbers_alike=numbers_alike) for pair in zip(left, right, strict=True))
    return True
