"""Masks secrets in an archive: each is replaced by a numbered mark.

`past.secret_mask` determines the secrets. Values found as a secret anywhere in the log are masked everywhere: in
arguments, messages and output. Equal secrets get equal marks, so that changes of a secret stay visible.
"""

import base64
import binascii
import re
from contextlib import suppress
from typing import Any

import msgspec

from setpoint.objects.tree import Json, Object
from setpoint.past.secret_mask import MASK, masked, masked_text, may_hide

# Shorter values are too common to be searched for in texts.
_SHORTEST = 4
_SHORTEST_NUMBER = 6
# Common values of settings, which a text may contain for other reasons than a Secret with the same value.
_LITERALS = frozenset({"true", "false", "null", "none", "default"})
_COPY = '{"'
# The delimiter lines of keys and certificates, which are not secret.
_RULE = "-----"
_decode = msgspec.json.Decoder(dict).decode
_encode = msgspec.json.Encoder(order="sorted").encode


class Secrets:
    """The secrets of an archive. Call `record` for all objects, then `compile`, then the masking methods."""

    def __init__(self) -> None:
        self._marks: dict[str, str] = {}
        self._names: set[str] = set()
        self._find: re.Pattern[str] | None = None
        self._find_encoded: re.Pattern[bytes] | None = None

    def record(self, name: str, encoded: bytes) -> None:
        """Records the secrets of an object. Names of objects are never secret, even if a secret has the same value."""
        self._names.add(name)
        if may_hide(encoded):
            tree = _decode(encoded)
            masked(tree, self._note_decoded if tree.get("kind") == "Secret" else self._mark)

    def record_value(self, secret: str) -> None:
        """Records a secret that no object contains."""
        self._mark(secret)

    def _note_decoded(self, secret: str) -> str:
        """Records a value of a Secret in its encoded and decoded form."""
        with suppress(binascii.Error, UnicodeDecodeError):  # binary data does not occur in text
            self._mark(base64.b64decode(secret, validate=True).decode())
        return self._mark(secret)

    def _mark(self, secret: str) -> str:
        if secret.startswith(MASK) or not secret:
            return secret
        if secret not in self._marks:
            self._marks[secret] = f"{MASK}{len(self._marks) + 1}"
            if "\n" in secret and not secret.startswith(_COPY):
                # Keys with several lines may be printed line by line.
                for line in secret.splitlines():
                    if not line.startswith(_RULE):
                        self._mark(line)
        return self._marks[secret]

    def compile(self) -> None:
        """Ends the learning phase."""
        found = sorted(filter(self._is_distinctive, self._marks), key=len, reverse=True)
        if found:
            self._find = re.compile("|".join(map(re.escape, found)))
            forms = {form for secret in found for form in (secret.encode(), _encode(secret)[1:-1])}
            self._find_encoded = re.compile(b"|".join(map(re.escape, sorted(forms, key=len, reverse=True))))

    def _is_distinctive(self, secret: str) -> bool:
        """Returns True if the secret must be masked in texts. Short values, names and whole objects (as in kubectl's
        annotation) are excluded.
        """
        enough = _SHORTEST_NUMBER if secret.isdecimal() else _SHORTEST
        return (
            len(secret) >= enough
            and secret not in self._names
            and secret not in _LITERALS
            and not secret.startswith(_COPY)
        )

    def object(self, encoded: bytes) -> bytes:
        """Returns the object with secrets masked; the same bytes if there are none."""
        if not may_hide(encoded) and not self._occurs(encoded):
            return encoded
        tree = _decode(encoded)
        hidden = masked(tree, self._mark)
        if tree.get("kind") == "Secret" and isinstance(data := hidden.get("data"), dict):
            hidden["data"] = {key: base64.b64encode(str(mark).encode()).decode() for key, mark in data.items()}
        if self._find is not None:
            hidden = self._hidden_in(hidden)
        return _encode(hidden)

    def text(self, text: str) -> str:
        """Returns the text with secrets masked."""
        text = masked_text(text, self._mark)
        return text if self._find is None else self._find.sub(lambda found: self._marks[found[0]], text)

    def output(self, data: bytes) -> bytes:
        """Returns complete lines of output with secrets masked."""
        if not may_hide(data) and not self._occurs(data):
            return data
        return self.text(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")

    def _occurs(self, data: bytes) -> bool:
        return self._find_encoded is not None and self._find_encoded.search(data) is not None

    def _hidden_in(self, tree: Object) -> Object:
        """Returns the object with secrets masked, except in its kind, name and labels."""
        found: Object = {}
        for key, value in tree.items():
            if key == "metadata" and isinstance(value, dict):
                annotations = value.get("annotations")
                found[key] = {**value, "annotations": self._walked(annotations)} if annotations else value
            else:
                found[key] = value if key in ("apiVersion", "kind") else self._walked(value)
        return found

    def _walked(self, value: Any) -> Json:
        if isinstance(value, dict):
            return {key: self._walked(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._walked(item) for item in value]
        return self.text(value) if isinstance(value, str) else value
