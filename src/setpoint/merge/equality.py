"""Equality of JSON values. Python's own `==` takes true for 1; JSON does not."""

from setpoint.objects.tree import Json


def equal(left: Json, right: Json) -> bool:
    """Whether two values are equal as RFC 6902 has it: numbers by their value, the rest by type and content."""
    return left is right or (bool(left == right) and _same_types(left, right, True))


def identical(left: Json, right: Json) -> bool:
    """Whether two values are equal and of the same types throughout: 1 is not 1.0."""
    return left is right or (bool(left == right) and _same_types(left, right, False))


def _same_types(left: Json, right: Json, numbers_alike: bool) -> bool:
    """Whether two trees that Python finds equal have the same types."""
    kind = type(left)
    if kind is str:  # Python takes a string for nothing else
        return True
    if kind is not type(right):
        return numbers_alike and kind is not bool and type(right) is not bool
    if kind is dict:
        for key, item in left.items():
            if type(item) is not str and not _same_types(item, right[key], numbers_alike):
                return False
    elif kind is list:
        for item, other in zip(left, right, strict=True):
            if type(item) is not str and not _same_types(item, other, numbers_alike):
                return False
    return True
