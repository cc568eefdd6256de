"""Finds the exact errors of a value: those of the real server, in the same order, with the same messages.

This is the slow, exact implementation, used only after the compiled check has rejected a value. The implementation
follows the server's own validator through every keyword, including its peculiarities: errors of `anyOf` and `oneOf` are
those of the branch with the most matches (hence the count of matches), integers are compared with bounds truncated to
integers, and a bound that an integer cannot have is an error of every value.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from setpoint.objects.field import FieldError, invalid, not_supported, required, too_long, too_many, type_invalid
from setpoint.objects.gotext import compact_json, general_float, quote
from setpoint.objects.tree import Json, Object
from setpoint.schema import formats
from setpoint.schema.listtype import repeated
from setpoint.schema.openapi import Schema
from setpoint.schema.ratchet import Correlation, same
from setpoint.schema.references import View, plain_view
from setpoint.schema.regex import matcher
from setpoint.schema.work_limits import MOST_STEPS, TooManySteps

NO_PATH = "<nil>"
# After this many errors in the values of one list or map, the remaining values are not checked.
MOST_ERRORS = 10_000

INT64 = (-(2**63), 2**63 - 1)
INT32 = (-(2**31), 2**31 - 1)
_FLOAT32_MAX = 3.4028235677973366e38  # halfway to the next: larger numbers do not round to a 32-bit float
_MAX_EXACT = float(2**53 - 1)
_EPSILON = 1e-9
_NUMERIC = (int, float)

_TYPES = {
    bool: ("boolean", ""),
    str: ("string", ""),
    int: ("integer", "int64"),
    float: ("number", "float64"),
    list: ("array", ""),
    dict: ("object", ""),
}


# Returns True if an inner value certainly satisfies a schema; False if uncertain.
Passes = Callable[[Schema, Json], object]


class Findings(NamedTuple):
    """The result for one node and its contents: the errors, and the number of checks that matched."""

    errors: list[FieldError]
    matches: int


def find_violations(
    tree: Json,
    schema: Schema,
    *,
    path: str | None = None,
    correlation: Correlation | None = None,
    view: View = plain_view,
    as_default: bool = False,
    passes: Passes | None = None,
) -> list[FieldError]:
    """Returns all violations of a schema by a tree.

    `path` is the path of the tree: None for a whole object. With a `correlation`, errors at nodes that an update left
    unchanged are ignored. `as_default` validates a default in a schema, for which the real server accepts unknown
    formats and does not restrict int-or-string to its two types. `passes` allows the validator to skip objects and
    lists that are certainly valid.
    """
    base = NO_PATH if path is None else path
    found: dict[str, FieldError] = {}
    for error in _Validator(view, as_default, passes).ratcheted(schema, tree, "", correlation).errors:
        name = error.field.removeprefix(".")
        field = base if not name else name if path is None else f"{path}.{name}"
        # Alternatives may find the same fault twice; the fault is reported once.
        found.setdefault(f"{field} {error.detail} {error.type}", error._replace(field=field))
    return list(found.values())


def types_of(schema: Schema) -> tuple[str, ...]:
    """Returns the types that a schema allows; empty if the schema allows all."""
    if schema.int_or_string:
        return ("integer", "string")
    return (schema.type,) if schema.type else ()


def known_format(schema: Schema) -> str:
    """Returns the format of a schema, if recognized for its type."""
    single = "" if schema.int_or_string else schema.type
    return schema.format if schema.format and formats.is_recognized(single, schema.format) else ""


def is_integral(value: float) -> bool:
    """Returns True if a float counts as an integer: integral, or nearly so, within the range of exact floats."""
    if not abs(value) <= _MAX_EXACT:
        return False
    rounded = math.floor(abs(value) + 0.5)
    return abs(abs(value) - rounded) < _EPSILON * rounded or abs(value) == rounded


def is_multiple(value: float, factor: float) -> bool:
    """Returns True if a number is a multiple of another, in floating-point arithmetic."""
    return is_integral(1 / factor * value if factor < 1 else value / factor)


def in_enum(value: Json, allowed: list[Any]) -> bool:
    """Returns True if a value is in an enum. Null never is; numbers are compared in the type of the enum's value."""
    if value is None:
        return False
    for item in allowed:
        if type(value) in _NUMERIC and type(item) in _NUMERIC:
            # The real server converts to the type of the enum's value, truncating fractions.
            if type(item)(value) == item:
                return True
        elif same(value, item):
            return True
    return False


class _Validator:
    def __init__(self, view: View, as_default: bool, passes: Passes | None) -> None:
        self.view = view
        self.as_default = as_default
        self.passes = passes
        self.steps = MOST_STEPS

    def ratcheted(self, schema: Schema, value: Json, path: str, correlation: Correlation | None) -> Findings:
        if self.passes is not None and type(value) in (dict, list) and self.passes(schema, value):
            return Findings([], 0)
        found = self.node(schema, value, path, correlation)
        if found.errors and correlation is not None and correlation.equal():
            return Findings([], found.matches)
        return found

    def node(self, schema: Schema, value: Json, path: str, correlation: Correlation | None = None) -> Findings:
        self.steps -= 1
        if self.steps < 0:
            raise TooManySteps
        schema = self.view(schema)
        if type(value) is int and not INT64[0] <= value <= INT64[1]:
            value = _as_float(value)
        types, form = types_of(schema), known_format(schema)
        if self.as_default:
            types, form = ((schema.type,) if schema.type else ()), schema.format
        wrong = _type_error(types, form, schema.nullable, value, path)
        errors = [wrong] if wrong else []
        if value is None:
            matches = 0 if wrong else 1
        else:
            # One for the node, one for each validator that applies, and the counts of those validators.
            matches = 1 + (0 if not (types or form) else 1 if wrong else 2)
            matches += 2 + self.alternatives(schema, value, path, errors)
            if type(value) is str:
                matches += 1 + _string_errors(schema, form, value, path, errors)
            elif type(value) in (int, float):
                matches += 2
                _number_errors(schema, form, value, path, errors)
            elif type(value) is list:
                matches += 2 + self.items(schema, value, path, correlation, errors)
            matches += 1
        if schema.enum and not in_enum(value, schema.enum):
            texts = [item if type(item) is str else compact_json(item) for item in schema.enum]
            errors.append(not_supported(path, value, texts))
        if type(value) is dict:
            matches += 1 + self.fields(schema, value, path, correlation, errors)
        return Findings(errors, matches)

    def alternatives(self, schema: Schema, value: Json, path: str, errors: list[FieldError]) -> int:
        """Validates `anyOf`, `oneOf`, `allOf` and `not`. Below them, errors of unchanged values are not ignored."""
        if not (schema.any_of or schema.one_of or schema.all_of or schema.not_):
            return 0
        # From here on the matches count, so every value must be validated.
        spared, self.passes = self.passes, None
        try:
            return self.branches(schema, value, path, errors)
        finally:
            self.passes = spared

    def branches(self, schema: Schema, value: Json, path: str, errors: list[FieldError]) -> int:
        matches = 0
        if schema.any_of:
            found = []
            for branch in schema.any_of:
                found.append(self.node(branch, value, path))
                if not found[-1].errors:
                    break
            if found[-1].errors:
                errors.append(_plain(f"{quote(path)} must validate at least one schema (anyOf)"))
            closest = found[-1] if not found[-1].errors else max(found, key=_matches)
            errors.extend(closest.errors)
            matches += closest.matches
        if schema.one_of:
            found = [self.node(branch, value, path) for branch in schema.one_of]
            valid = [each for each in found if not each.errors]
            if len(valid) == 1:
                matches += valid[0].matches
            elif valid:
                text = f"must validate one and only one schema (oneOf). Found {len(valid)} valid alternatives"
                errors.append(_plain(f"{quote(path)} {text}"))
            else:
                errors.append(_plain(f"{quote(path)} must validate one and only one schema (oneOf). Found none valid"))
                closest = max(found, key=_matches)
                errors.extend(closest.errors)
                matches += closest.matches
        if schema.all_of:
            found = [self.node(branch, value, path) for branch in schema.all_of]
            for each in found:
                errors.extend(each.errors)
                matches += each.matches
            if any(each.errors for each in found):
                none = ". None validated" if all(each.errors for each in found) else ""
                errors.append(_plain(f"{quote(path)} must validate all the schemas (allOf){none}"))
        if schema.not_ is not None and not self.node(schema.not_, value, path).errors:
            errors.append(_plain(f"{quote(path)} must not validate the schema (not)"))
        return matches

    def items(
        self, schema: Schema, values: list[Json], path: str, correlation: Correlation | None, errors: list[FieldError]
    ) -> int:
        matches = 0
        if isinstance(schema.items, Schema):
            for position, value in enumerate(values):
                old = correlation.index(position) if correlation is not None else None
                found = self.ratcheted(schema.items, value, f"{path}[{position}]", old)
                errors.extend(found.errors)
                matches += found.matches
                if len(errors) > MOST_ERRORS:
                    break
        size = len(values)
        if schema.min_items is not None and size < schema.min_items:
            errors.append(invalid(path, size, f"{path} in body should have at least {schema.min_items} items"))
        if schema.max_items is not None and size > schema.max_items:
            errors.append(too_many(path, size, schema.max_items))
        if schema.unique_items and repeated(values):
            errors.append(invalid(path, "", f"{path} in body shouldn't contain duplicates"))
        return matches

    def fields(
        self, schema: Schema, value: Object, path: str, correlation: Correlation | None, errors: list[FieldError]
    ) -> int:
        matches, size = 0, len(value)
        if schema.min_properties is not None and size < schema.min_properties:
            text = f"{path} in body should have at least {schema.min_properties} properties"
            errors.append(invalid(path, size, text))
        if schema.max_properties is not None and size > schema.max_properties:
            errors.append(too_many(path, size, schema.max_properties))
        properties, extra = schema.properties, schema.additional_properties
        if extra is False:
            forbidden = (name for name in value if name not in properties)
            errors.extend(invalid(path, name, f"{path}.{name} in body is a forbidden property") for name in forbidden)
        elif isinstance(extra, Schema):
            for name, item in value.items():
                if name not in properties:
                    matches += self.field(extra, name, item, f"{path}.{name}", correlation, errors)
                    if len(errors) > MOST_ERRORS:
                        break
        for name, inner in properties.items():
            if name in value:
                where = f"{path}.{name}" if path else name
                typemeta = not path and name in ("apiVersion", "kind")
                matches += self.field(inner, name, value[name], where, None if typemeta else correlation, errors)
        errors.extend(required(f"{path}.{name}") for name in schema.required if name not in value)
        return matches

    def field(
        self,
        schema: Schema,
        name: str,
        value: Json,
        path: str,
        correlation: Correlation | None,
        errors: list[FieldError],
    ) -> int:
        found = self.ratcheted(schema, value, path, correlation.key(name) if correlation is not None else None)
        errors.extend(found.errors)
        return found.matches


def _matches(found: Findings) -> int:
    return found.matches


def _plain(text: str) -> FieldError:
    """Returns an error that the server reports without a field."""
    return invalid("", "", text)


def _as_float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _type_error(types: tuple[str, ...], form: str, nullable: bool, value: Json, path: str) -> FieldError | None:
    if value is None:
        return _wrong_type(path, ",".join(types), "null") if types and not nullable else None
    if not types and not form:
        return None
    found, found_form = _TYPES[type(value)]
    number = found == "number" and "integer" in types and is_integral(value)
    number = number or (found == "integer" and "number" in types)
    if type(value) not in (str, list) and form and not (found in types or found_form == form or number):
        return _wrong_type(path, form, found_form)
    if form and type(value) in (str, list) and "number" not in types and "integer" not in types:
        # The server leaves these to the check of the format, which applies only to strings.
        return None
    if found in types or number:
        return None
    return _wrong_type(path, ",".join(types), found)


def _wrong_type(path: str, wanted: str, found: str) -> FieldError:
    return type_invalid(path, found, f"{path} in body must be of type {wanted}: {quote(found)}")


def _string_errors(schema: Schema, form: str, value: str, path: str, errors: list[FieldError]) -> int:
    """Adds the errors of a string; returns the number of further validators that applied."""
    size = len(value)
    if schema.max_length is not None and size > schema.max_length:
        errors.append(too_long(path, schema.max_length))
    elif schema.min_length is not None and size < schema.min_length:
        errors.append(invalid(path, value, f"{path} in body should be at least {schema.min_length} chars long"))
    elif schema.pattern and not matcher(schema.pattern)(value):
        errors.append(invalid(path, value, f"{path} in body should match '{schema.pattern}'"))
    check = formats.string_check(form) if form else None
    if check is None:
        return 0
    if not check(value):
        errors.append(_wrong_type(path, form, value))
    return 1


def _number_errors(schema: Schema, form: str, value: int | float, path: str, errors: list[FieldError]) -> None:
    kind = schema.type if not schema.int_or_string and schema.type in ("integer", "number") else ""
    form = form if kind and formats.is_recognized(kind, form) else ""

    def in_range(number: int | float, what: str) -> bool:
        if fits(number, kind, form):
            return True
        suffix = f"with format {form}" if form else "(default format)"
        errors.append(_plain(f"{what} value must be of type {kind} {suffix} in {path}"))
        return False

    in_range(value, "Checked")
    if (factor := schema.multiple_of) is not None:
        number, factor = _comparable(value, factor, in_range(factor, "MultipleOf"))
        if factor <= 0:
            text = f"factor MultipleOf declared for {path} must be positive: {_number(factor)}"
            errors.append(invalid(path, factor, text))
        elif not (number % factor == 0 if type(number) is int else is_multiple(number, factor)):
            errors.append(invalid(path, number, f"{path} in body should be a multiple of {_number(factor)}"))
    for bound, exclusive, what, sign, words in (
        (schema.minimum, schema.exclusive_minimum, "Minimum boundary", -1, "greater than"),
        (schema.maximum, schema.exclusive_maximum, "Maximum boundary", 1, "less than"),
    ):
        if bound is None:
            continue
        number, limit = _comparable(value, bound, in_range(bound, what))
        if sign * number > sign * limit or (exclusive and number == limit):
            words = words if exclusive else f"{words} or equal to"
            errors.append(invalid(path, number, f"{path} in body should be {words} {_number(limit)}"))


def _comparable(value: int | float, bound: int | float, exact: bool) -> tuple[int | float, int | float]:
    """Returns a value and a bound as the server compares them: both as integers if possible, otherwise as floats."""
    if exact and type(value) is int:
        return value, max(INT64[0], min(INT64[1], int(bound)))
    return float(value), float(bound)


def fits(number: int | float, kind: str, form: str) -> bool:
    """Returns True if a number is within the range of its type and format."""
    if kind == "integer":
        low, high = INT32 if form == "int32" else INT64
        return (type(number) is int or float(number).is_integer()) and low <= number <= high
    return form != "float" or abs(number) < _FLOAT32_MAX


def _number(value: int | float) -> str:
    return str(value) if type(value) is int else general_float(value)
