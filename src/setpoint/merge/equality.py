"""Equality of JSON values. Python's `==` treats true as equal to 1; JSON does not."""

from setpoint.objects.tree import Json


def equal(left: Json, right: Json) -> bool:
    """Returns True if two values are equal by RFC 6902: numbers by value, all other values by type and content."""
    return left is right or (bool(left == right) and _same_types(left, right, True))


def identical(left: Json, right: Json) -> bool:
    """Returns True if two values are equal and have the same types throughout: 1 is not 1.0."""
    return left is right or (bool(left == right) and _same_types(left, right, False))


def _same_types(left: Json, right: Json, ignore_number_types: bool) -> bool:
    """Returns True if two trees that Python considers equal have the same types."""
    kind = type(left)
    if kind is str:  # a string equals only strings
        return True
    if kind is not type(right):
        return ignore_number_types and kind is not bool and type(right) is not bool
    if kind is dict:
        for key, item in left.items():
            if type(item) is not str and not _same_types(item, right[key], ignore_number_types):
                return False
    elif kind is list:
        for item, other in zip(left, right, strict=True):
            if type(item) is not str and not _same_types(item, other, ignore_number_types):
                return False
    return True
