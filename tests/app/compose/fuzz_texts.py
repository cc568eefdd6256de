"""Generates projects with unusual texts: references, files of variables, commands, mounts, ports, durations, sizes."""

import json
import random
from typing import Any

_TOKENS: dict[str, tuple[str, ...]] = {
    "template": (
        *("$", "$$", "${", "}", "{", "A", "SET", "EMPTY", ":-", "-", ":?", "?", ":+", "+", " "),
        *("x", "\n", ":", "1", "_"),
    ),
    "command": (
        *("'", '"', "\\", " ", "a", "bc", ";", "&&", "|", "<", ">", "1>", "(", ")", "$$(", "`"),
        *("\t", "\n", "-x", "{}"),
    ),
    "mount": (
        *(":", "/", ".", "..", "~", "a", "data", "C", "ro", "rw", "z", "Z", ",", "nocopy", "\\"),
        *("rslave", "//", "x y", "c:"),
    ),
    "port": (
        *(":", "-", "/", "80", "8080", "1", "0", "70000", "tcp", "udp", "127.0.0.1", "[::1]"),
        *("::1", "x", "3", "0080"),
    ),
    "duration": (
        *("1", "30", ".5", "s", "m", "h", "ms", "us", "ns", "d", "w", "-", "+", " ", "0", "1.5"),
        *("x"),
    ),
    "size": (
        *("1", "512", ".5", "1.5", "k", "m", "g", "b", "kb", "Mi", "GiB", "t", " ", "-", "B", "x"),
        *("0"),
    ),
    "dotenv": (
        *("A", "B", "=", "'", '"', "\n", "\n", " ", "#", " #", "$A", "${B:-x}", "export ", ":"),
        *("\\", "\\n", "x", "ü", "-", "."),
    ),
    "host": ("a", "b.c", ":", "=", "1.1.1.1", "[::1]", "::1", ",", "host-gateway"),
    "yaml": (
        *("1", "0", "x", "o", "b", ".", "e", "-", "+", "_", ":", "true", "No", "~", "null"),
        *("2001-01-01", "7", "8", "T", "Z", " "),
    ),
    "device": ("/dev/a", ":", "rwm", "/dev/b", "r"),
    "name": ("a", "B", "_", "-", ".", "1", "ü", " "),
}
_ENVIRON = {"SET": "value", "EMPTY": "", "A": "a", "_": "underscore", "x": "lower"}


class TextGenerator:
    """Generates the files of one project."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    def files(self) -> tuple[dict[str, str], dict[str, Any]]:
        """Returns the files of a project, and the options of the case."""
        kind = self._random.choice(sorted(_TOKENS))
        text = self._text(kind, 7)
        service: dict[str, Any] = {"image": "img"}
        files: dict[str, str] = {}
        if kind == "template":
            service["environment"] = {"X": text}
        elif kind == "command":
            service[self._random.choice(["command", "entrypoint"])] = text
        elif kind == "mount":
            service["volumes"] = [text]
        elif kind == "port":
            service["ports"] = [text]
        elif kind == "duration":
            service["stop_grace_period"] = text
        elif kind == "size":
            service["mem_limit"] = text
        elif kind == "dotenv":
            name = self._random.choice([".env", "vars.env"])
            files[name] = self._text(kind, 20)
            service["env_file"] = [{"path": "vars.env", "required": False}]
            service["environment"] = {"X": "${A}|${B}|${x}"}
        elif kind == "host":
            service["extra_hosts"] = [text]
        elif kind == "device":
            service["devices"] = [text]
        elif kind == "name":
            return {"compose.yaml": json.dumps({"name": text, "services": {"a": service}})}, {"environ": _ENVIRON}
        tree = {"services": {"a": service}, "volumes": {"data": None, "a": None}}
        body = json.dumps(tree, ensure_ascii=False)
        if kind == "yaml":
            # The parser refuses a colon at the beginning of a text in brackets, which Go's parser allows.
            plain = self._text(kind, 4).strip().lstrip(":") or "x"
            body = f"services: {{a: {{image: img}}}}\nx-a: {plain}\nx-b: [{plain}]\n"
        return {"compose.yaml": body + "\n", **files}, {"environ": _ENVIRON}

    def _text(self, kind: str, most: int) -> str:
        return "".join(self._random.choice(_TOKENS[kind]) for _ in range(self._random.randint(1, most)))
