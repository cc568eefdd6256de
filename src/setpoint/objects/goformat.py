"""JSON trees as Go prints them with `%v` and `%s`: `map[a:1 b:[x y]]`. Some messages of the API use these formats."""

from setpoint.objects.gotext import general_float
from setpoint.objects.tree import Json


def format_v(value: Json) -> str:
    """Formats the value as `%v` does."""
    if type(value) is str:
        return value
    if type(value) is bool:
        return "true" if value else "false"
    if type(value) is dict:
        return "map[" + " ".join(f"{key}:{format_v(value[key])}" for key in sorted(value)) + "]"
    if type(value) is list:
        return "[" + " ".join(map(format_v, value)) + "]"
    if value is None:
        return "<nil>"
    if type(value) is float:
        return general_float(value)
    return str(value)


def format_s(value: Json) -> str:
    """Formats the value as `%s` does, which marks every value that is not text as an error."""
    return "%!s(<nil>)" if value is None else _inner_s(value)


def _inner_s(value: Json) -> str:
    if type(value) is str:
        return value
    if type(value) is dict:
        return "map[" + " ".join(f"{key}:{_inner_s(value[key])}" for key in sorted(value)) + "]"
    if type(value) is list:
        return "[" + " ".join(map(_inner_s, value)) + "]"
    return "<nil>" if value is None else f"%!s({type_name(value)}={format_v(value)})"


def type_name(value: Json) -> str:
    """Returns the Go type of a decoded JSON value."""
    return _TYPES[type(value)]


def json_type(value: Json) -> str:
    """Returns the type name of a value in the errors of Go's JSON decoder: `cannot unmarshal number into ...`."""
    return _JSON_TYPES[type(value)]


_TYPES = {
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
    dict: "map[string]interface {}",
    list: "[]interface {}",
    type(None): "<nil>",
}
_JSON_TYPES = {
    str: "string",
    bool: "bool",
    int: "number",
    float: "number",
    dict: "object",
    list: "array",
    type(None): "null",
}
