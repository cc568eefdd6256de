"""Converts the values of attributes to the form in which Compose prints them."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from setpoint.app.compose import units
from setpoint.app.compose.gotexts import go_text
from setpoint.app.compose.interpolation import to_boolean, to_float, to_integer
from setpoint.app.compose.scalars import Reference

# Converts a value; a result of None means that the attribute is omitted.
Convert = Callable[[Any], Any]


class NestedError(ValueError):
    """A fault inside of a value, with its path from there."""

    def __init__(self, path: tuple[str | int, ...], text: str) -> None:
        super().__init__(text)
        self.path = path


def _wrong(value: Any, wanted: str) -> ValueError:
    return ValueError(f"{go_text(value)!r} is not allowed; write {wanted}")


def _or_reference(convert: Convert) -> Convert:
    """Returns the conversion that keeps references to variables."""

    @wraps(convert)
    def kept(value: Any) -> Any:
        return str(value) if isinstance(value, Reference) else convert(value)

    return kept


def text(value: Any) -> Any:
    """Converts a text; an empty one is omitted."""
    if isinstance(value, bool | float | dict | list):
        raise _wrong(value, "a text in quotes")
    return (str(value) if value is not None else None) or None


@_or_reference
def whole(value: Any) -> Any:
    """Converts an integer."""
    if isinstance(value, str):
        return to_integer(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(value, "a whole number")
    return int(value)


def unsigned(value: Any) -> Any:
    """Converts an integer that is not negative."""
    made = whole(value)
    if isinstance(made, int) and made < 0:
        raise _wrong(value, "0 or more")
    return made


def number(value: Any) -> Any:
    """Converts an integer; zero is omitted."""
    return whole(value) or None


@_or_reference
def flag(value: Any) -> Any:
    """Converts a boolean."""
    if isinstance(value, str):
        return to_boolean(value)
    if not isinstance(value, bool):
        raise _wrong(value, "true or false")
    return value


def enabled(value: Any) -> Any:
    """Converts a boolean; false is omitted."""
    return flag(value) or None


def disabled(value: Any) -> Any:
    """Converts a boolean that is true by default; true is omitted."""
    made = flag(value)
    return made if isinstance(made, str) else None if made else False


@_or_reference
def fraction(value: Any) -> Any:
    """Converts a number of 32 bits; zero is omitted."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise _wrong(value, "a number")
    return units.single(to_float(value) if isinstance(value, str) else value) or None


@_or_reference
def size(value: Any) -> Any:
    """Converts a size to the text of its bytes; zero is omitted."""
    amount = units.size_in_bytes(value)
    return str(amount) if amount else None


@_or_reference
def duration(value: Any) -> Any:
    """Converts a duration."""
    return units.duration_text(units.nanoseconds(value))


@_or_reference
def positive_duration(value: Any) -> Any:
    """Converts a duration; zero is omitted."""
    amount = units.nanoseconds(value)
    return units.duration_text(amount) if amount else None


@_or_reference
def file_mode(value: Any) -> Any:
    """Converts the permissions of a file to octal text."""
    if isinstance(value, str):
        try:
            value = int(value, 8)
        except ValueError:
            raise _wrong(value, "an octal number such as 0440") from None
    if isinstance(value, bool) or not isinstance(value, int):
        raise _wrong(value, "an octal number such as 0440")
    return f"0{value:o}"


@_or_reference
def count(value: Any) -> Any:
    """Converts a number of devices; `all` is -1."""
    if isinstance(value, str) and value.lower() == "all":
        return -1
    if isinstance(value, str):
        return to_integer(value) or None
    return number(value)


def texts(value: Any) -> Any:
    """Converts a list of texts; an empty one is omitted."""
    if not isinstance(value, list):
        raise _wrong(value, "a list")
    return [text(item) or "" for item in value] or None


def one_or_many(value: Any) -> Any:
    """Converts a text or a list of texts."""
    return [value] if isinstance(value, str) else texts(value)


def printed(value: Any) -> Any:
    """Converts a list of texts or numbers to texts."""
    return [value] if isinstance(value, str) else [go_text(item) for item in value] or None


@_or_reference
def command(value: Any) -> Any:
    """Converts a command to its words."""
    if value is None or isinstance(value, list):
        return value if value is None else [str(word) for word in value]
    return units.words(value)


def health_test(value: Any) -> Any:
    """Converts the test of a health check; a text is a command of the shell."""
    return ["CMD-SHELL", value] if isinstance(value, str) else [str(word) for word in value] or None


def variables(value: Any) -> Any:
    """Converts a list or a mapping of variables; one without a value has the value None."""
    if isinstance(value, dict):
        return {name: None if inner is None else go_text(inner) for name, inner in value.items()} or None
    made: dict[str, str | None] = {}
    for index, entry in enumerate(value):
        name, equals, inner = go_text(entry).partition("=")
        if name and name[-1].isspace():
            raise NestedError((index,), f"the name {name!r} ends with a space; remove the space")
        made[name] = inner if equals else None
    return made or None


def mapping(value: Any) -> Any:
    """Converts a list or a mapping of texts; one without a value is empty."""
    if isinstance(value, dict):
        return {name: "" if inner is None else go_text(inner) for name, inner in value.items()} or None
    return {name: inner for name, _, inner in (go_text(entry).partition("=") for entry in value)} or None


def plain_mapping(value: Any) -> Any:
    """Converts a mapping of texts."""
    return {name: text(inner) or "" for name, inner in value.items()} or None


def repeated_options(value: Any) -> Any:
    """Converts options that may have several values."""
    return {
        name: [go_text(item) for item in (inner if isinstance(inner, list) else [inner])]
        for name, inner in value.items()
    } or None


def hosts(value: Any) -> Any:
    """Converts additional hosts to a sorted list of `host=address`."""
    pairs: list[tuple[str, str]] = []
    if isinstance(value, dict):
        for host, inner in value.items():
            pairs += [(host, go_text(each)) for each in (inner if isinstance(inner, list) else [inner or ""])]
    else:
        for index, entry in enumerate(value):
            host, separator, addresses = entry.partition("=" if "=" in entry else ":")
            if not separator:
                raise NestedError((index,), f"the host {entry!r} has no address; write HOST=ADDRESS")
            pairs += [(host, address) for address in addresses.split(",")]
    for host, _ in pairs:
        if not host or ":" in host or "=" in host:
            raise ValueError(f"the name of the host {host!r} is not valid; write HOST=ADDRESS")
    return sorted(f"{host}={_without_brackets(address)}" for host, address in pairs) or None


def _without_brackets(address: str) -> str:
    return address[1:-1] if len(address) > 2 and address[0] == "[" and address[-1] == "]" else address


def ssh_keys(value: Any) -> Any:
    """Converts the keys for a build to texts: the name, or `NAME=PATH`."""
    return [f"{name}={path}" if path else name for name, path in value.items()] or None


def ulimit(value: Any) -> Any:
    """Converts a limit: one number, or a soft and a hard limit."""
    if isinstance(value, dict):
        made = {name: whole(value[name]) for name in ("soft", "hard") if name in value}
        return {name: inner for name, inner in made.items() if inner}
    return whole(value) or {}


def struct(fields: dict[str, Convert]) -> Convert:
    """Returns the conversion of a mapping with the given attributes. Extensions are omitted."""

    def convert(value: Any) -> Any:
        if value is None:
            return None
        made: dict[str, Any] = {}
        for name, inner in value.items():
            field = fields.get(name)
            if field is None or inner is None:
                continue
            try:
                made[name] = field(inner)
            except NestedError as nested:
                raise NestedError((name, *nested.path), str(nested)) from None
            except ValueError as error:
                raise NestedError((name,), str(error)) from None
        return {name: inner for name, inner in made.items() if inner is not None}

    return convert


def with_defaults(convert: Convert, values: Callable[[], dict[str, Any]]) -> Convert:
    """Returns the conversion of a mapping that has the given values if they are missing."""

    def completed(value: Any) -> Any:
        made = convert(value)
        return made if made is None else {**values(), **made}

    return completed


def many(convert: Convert) -> Convert:
    """Returns the conversion of a list."""

    def items(value: Any) -> Any:
        made = []
        for index, item in enumerate(value):
            try:
                made.append(convert(item))
            except NestedError as nested:
                raise NestedError((index, *nested.path), str(nested)) from None
            except ValueError as error:
                raise NestedError((index,), str(error)) from None
        return made or None

    return items


def named(convert: Convert) -> Convert:
    """Returns the conversion of a mapping of names; an entry without a value stays empty."""

    def entries(value: Any) -> Any:
        made = {}
        for name, item in value.items():
            try:
                made[name] = None if item is None else convert(item)
            except NestedError as nested:
                raise NestedError((name, *nested.path), str(nested)) from None
            except ValueError as error:
                raise NestedError((name,), str(error)) from None
        return made or None

    return entries
