"""Formats of identifiers and codes: UUIDs, book and card numbers, colours, base64, Kubernetes names."""

import re

_UUID = r"[0-9a-f]{8}-?[0-9a-f]{4}-?%s[0-9a-f]{%d}-?%s-?[0-9a-f]{12}\Z"
_VARIANT = "[89ab][0-9a-f]{3}"
_ANY = "[0-9a-f]{4}"
_X = "[A-Za-z0-9+/]"
_SHORT_NAME = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_COLOR = r"\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*"

is_uuid = re.compile(_UUID % ("", 4, _ANY), re.IGNORECASE | re.ASCII).match
is_uuid3 = re.compile(_UUID % ("3", 3, _ANY), re.IGNORECASE | re.ASCII).match
is_uuid4 = re.compile(_UUID % ("4", 3, _VARIANT), re.IGNORECASE | re.ASCII).match
is_uuid5 = re.compile(_UUID % ("5", 3, _VARIANT), re.IGNORECASE | re.ASCII).match
is_bson_object_id = re.compile(r"[0-9a-fA-F]{24}\Z").match
is_hex_color = re.compile(r"#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})\Z").match
is_rgb_color = re.compile(rf"rgb\({_COLOR},{_COLOR},{_COLOR}\)\Z".replace(r"\s", r"[\t\n\f\r ]"), re.ASCII).match
is_base64 = re.compile(rf"(?:{_X}{{4}})*(?:{_X}{{2}}==|{_X}{{3}}=|{_X}{{4}})\Z").match

_ssn = re.compile(r"\d{3}[- ]?\d{2}[- ]?\d{4}\Z", re.ASCII)
_isbn10 = re.compile(r"(?:[0-9]{9}X|[0-9]{10})\Z")
_isbn13 = re.compile(r"[0-9]{13}\Z")
_short_name = re.compile(rf"{_SHORT_NAME}\Z")
_long_name = re.compile(rf"{_SHORT_NAME}(?:\.{_SHORT_NAME})*\Z")
_spaces_and_dashes = re.compile(r"[\t\n\f\r -]+")
_not_digits = re.compile(r"[^0-9]+")
_card = re.compile(
    r"(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11})\Z",
    re.ASCII,
)


def is_short_name(text: str) -> bool:
    return len(text) <= 63 and _short_name.match(text) is not None


def is_long_name(text: str) -> bool:
    return len(text) <= 253 and _long_name.match(text) is not None


def is_ssn(text: str) -> bool:
    # Eleven characters: the separators are in fact required.
    return len(text) == 11 and _ssn.match(text) is not None


def is_isbn(text: str) -> bool:
    return is_isbn10(text) or is_isbn13(text)


def is_isbn10(text: str) -> bool:
    digits = _spaces_and_dashes.sub("", text)
    if not _isbn10.match(digits):
        return False
    weighted = sum((at + 1) * (10 if char == "X" else int(char)) for at, char in enumerate(digits))
    return weighted % 11 == 0


def is_isbn13(text: str) -> bool:
    digits = _spaces_and_dashes.sub("", text)
    if not _isbn13.match(digits):
        return False
    return sum((3 if at % 2 else 1) * int(char) for at, char in enumerate(digits)) % 10 == 0


def is_credit_card(text: str) -> bool:
    digits = _not_digits.sub("", text)
    if not _card.match(digits):
        return False
    doubled = (sum(divmod(2 * int(char), 10)) if at % 2 else int(char) for at, char in enumerate(reversed(digits)))
    return sum(doubled) % 10 == 0
