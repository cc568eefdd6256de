"""Validation of names: names of objects by style, label keys and values, and generated names.

Each rule returns the faults of a text, in the wording of the API; an empty tuple means that the text is valid. A rule
for names also takes `prefix`: True for a prefix such as `generateName`, which may end with a dash. Patterns match the
whole text (never only up to a final newline) in linear time.
"""

import re
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from setpoint.objects.gotext import byte_length

if TYPE_CHECKING:
    from setpoint.objects.ids import Ids

NameRule: TypeAlias = Callable[[str, bool], Sequence[str]]

LABEL_LENGTH = 63
SUBDOMAIN_LENGTH = 253
GENERATED_LENGTH = 63

# The patterns of the messages, and equivalent patterns that never backtrack.
_DNS1123_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS1123_SUBDOMAIN = rf"{_DNS1123_LABEL}(\.{_DNS1123_LABEL})*"
_DNS1035_LABEL = "[a-z]([-a-z0-9]*[a-z0-9])?"
_LABEL_KEY = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_CONFIG_KEY = "[-._a-zA-Z0-9]+"
_IDENTIFIER = "[A-Za-z_][A-Za-z0-9_]*"

_label = "[a-z0-9]+(?:-+[a-z0-9]+)*"
_match_dns1123_label = re.compile(_label).fullmatch
_match_dns1123_subdomain = re.compile(rf"{_label}(?:\.{_label})*").fullmatch
_match_dns1035_label = re.compile(rf"(?=[a-z]){_label}").fullmatch
_match_label_key = re.compile("[A-Za-z0-9]+(?:[-_.]+[A-Za-z0-9]+)*").fullmatch
_match_label_value = re.compile("(?:[A-Za-z0-9]+(?:[-_.]+[A-Za-z0-9]+)*)?").fullmatch
_match_identifier = re.compile(_IDENTIFIER).fullmatch
_match_config_key = re.compile(_CONFIG_KEY).fullmatch
# Several keys with slashes between them, none with a leading dot.
_match_config_keys = re.compile(rf"(?!\.){_CONFIG_KEY}(?:/(?!\.){_CONFIG_KEY})*").fullmatch


def _regex_error(message: str, pattern: str, *examples: str) -> str:
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{message} (e.g. {shown}regex used for validation is '{pattern}')"


_LABEL_ERROR = _regex_error(
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character",
    _DNS1123_LABEL,
    "my-name",
    "123-abc",
)
_SUBDOMAIN_ERROR = _regex_error(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character",
    _DNS1123_SUBDOMAIN,
    "example.com",
)
_CASELESS_ERROR = _regex_error(
    "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and end with an "
    "alphanumeric character",
    _DNS1123_SUBDOMAIN,
    "Example.com",
)
_DNS1035_ERROR = _regex_error(
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character",
    _DNS1035_LABEL,
    "my-name",
    "abc-123",
)
_KEY_ERROR = _regex_error(
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
    _LABEL_KEY,
    "MyName",
    "my.name",
    "123-abc",
)
_KEY_SHAPE_ERROR = (
    f"a valid label key {_KEY_ERROR} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
)
_VALUE_ERROR = _regex_error(
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character",
    f"({_LABEL_KEY})?",
    "MyValue",
    "my_value",
    "12345",
)
_IDENTIFIER_ERROR = _regex_error(
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters "
    "or '_'",
    _IDENTIFIER,
    "my_name",
    "MY_NAME",
    "MyName",
)
_CONFIG_KEY_ERROR = _regex_error(
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    _CONFIG_KEY,
    "key.name",
    "KEY_NAME",
    "key-name",
)


def _too_long(limit: int, unit: str = "characters") -> str:
    return f"must be no more than {limit} {unit}"


def dns1123_label(name: str, prefix: bool = False) -> tuple[str, ...]:
    """Validates lower case letters, digits and dashes, up to 63: namespaces, services, containers."""
    name = _mask(name) if prefix else name
    if _match_dns1123_label(name):  # then every character is one byte
        return () if len(name) <= LABEL_LENGTH else (_too_long(LABEL_LENGTH),)
    errors = (_too_long(LABEL_LENGTH),) if byte_length(name) > LABEL_LENGTH else ()
    return (*errors, "must not contain dots" if _match_dns1123_subdomain(name) else _LABEL_ERROR)


def dns1123_subdomain(name: str, prefix: bool = False) -> tuple[str, ...]:
    """Validates labels joined by dots, up to 253: the rule for most kinds."""
    return _subdomain(_mask(name) if prefix else name, "characters")


def dns1123_subdomain_caseless(name: str) -> tuple[str, ...]:
    """Validates a subdomain in any case, by the rule that the API declares with its types."""
    if not _match_dns1123_subdomain(name.lower()):
        errors = (_too_long(SUBDOMAIN_LENGTH),) if byte_length(name) > SUBDOMAIN_LENGTH else ()
        return (*errors, _CASELESS_ERROR)
    return () if len(name) <= SUBDOMAIN_LENGTH else (_too_long(SUBDOMAIN_LENGTH),)


def c_identifier(name: str) -> tuple[str, ...]:
    """Validates an identifier of the language C."""
    return () if _match_identifier(name) else (_IDENTIFIER_ERROR,)


def dns1035_label(name: str, prefix: bool = False) -> tuple[str, ...]:
    """Validates a label that starts with a letter."""
    name = _mask(name) if prefix else name
    errors = (_too_long(LABEL_LENGTH),) if byte_length(name) > LABEL_LENGTH else ()
    return errors if _match_dns1035_label(name) else (*errors, _DNS1035_ERROR)


def path_segment(name: str, prefix: bool = False) -> tuple[str, ...]:
    """Validates a segment of a URL path: roles and their bindings."""
    if not prefix and name in (".", ".."):
        return (f"may not be '{name}'",)
    return tuple(f"may not contain '{char}'" for char in "/%" if char in name)


def _subdomain(name: str, unit: str) -> tuple[str, ...]:
    if _match_dns1123_subdomain(name):
        return () if len(name) <= SUBDOMAIN_LENGTH else (_too_long(SUBDOMAIN_LENGTH, unit),)
    errors = (_too_long(SUBDOMAIN_LENGTH, unit),) if byte_length(name) > SUBDOMAIN_LENGTH else ()
    return (*errors, _SUBDOMAIN_ERROR)


def _mask(name: str) -> str:
    """Returns the prefix with a valid ending instead of a trailing dash."""
    return name[:-2] + "a" if len(name) > 1 and name[-1] == "-" and name.isascii() else name


def qualified_name(text: str) -> tuple[str, ...]:
    """Validates a label key, an annotation key or a finalizer: a name with an optional domain and slash."""
    # Keys repeat across objects, so results are cached, except for texts that are longer than any valid key.
    return (
        _qualified_name(text) if len(text) <= SUBDOMAIN_LENGTH + 1 + LABEL_LENGTH else _qualified_name.__wrapped__(text)
    )


@lru_cache(maxsize=4096)
def _qualified_name(text: str) -> tuple[str, ...]:
    errors: tuple[str, ...] = ()
    parts = text.split("/", 2)
    if len(parts) > 2:
        return (_KEY_SHAPE_ERROR,)
    if len(parts) == 2:
        if parts[0]:
            errors = tuple(f"prefix part {error}" for error in _subdomain(parts[0], "bytes"))
        else:
            errors = ("prefix part must be non-empty",)
    name = parts[-1]
    if not name:
        errors += ("name part must be non-empty",)
    elif byte_length(name) > LABEL_LENGTH:
        errors += (f"name part {_too_long(LABEL_LENGTH, 'bytes')}",)
    return errors if _match_label_key(name) else (*errors, f"name part {_KEY_ERROR}")


def label_value(text: str) -> tuple[str, ...]:
    """Validates the value of a label: empty, or letters, digits, dashes, underscores and dots, up to 63."""
    if len(text) <= LABEL_LENGTH and _match_label_value(text):
        return ()
    errors = (_too_long(LABEL_LENGTH, "bytes"),) if byte_length(text) > LABEL_LENGTH else ()
    return errors if _match_label_value(text) else (*errors, _VALUE_ERROR)


def config_key(text: str) -> tuple[str, ...]:
    """Validates a key of the data of a ConfigMap or Secret, which may become the name of a file."""
    if len(text) <= LABEL_LENGTH and text[:1] != "." and _match_config_key(text):
        return ()
    errors = []
    if byte_length(text) > SUBDOMAIN_LENGTH:
        errors.append(_too_long(SUBDOMAIN_LENGTH))
    if not _match_config_key(text):
        errors.append(_CONFIG_KEY_ERROR)
    if text in (".", ".."):
        errors.append(f"must not be '{text}'")
    elif text.startswith(".."):
        errors.append("must not start with '..'")
    return tuple(errors)


def are_config_keys(texts: Collection[str]) -> bool:
    """Returns True if all texts are certainly valid keys: one check for most maps. If False, each must be checked."""
    joined = "/".join(texts)  # a separator that no key may contain
    if joined.count("/") != len(texts) - 1 or _match_config_keys(joined) is None:
        return False
    return max(map(len, texts)) <= LABEL_LENGTH


def generate_name(base: str, ids: "Ids") -> str:
    """Generates a name from a `generateName`, truncated if needed, and five random characters."""
    suffix = ids.suffix()
    keep = GENERATED_LENGTH - len(suffix)
    if byte_length(base) > keep:
        base = base.encode("utf-8", "surrogatepass")[:keep].decode("utf-8", "ignore")
    return base + suffix
