"""Makes the table of the server's own Go structs (`setpoint/server/registry/kinds/gotypes/internal_fields.json.z`).

Where an update changes what it must not, the real server shows the difference as a diff of its internal structs, which
no published module has. This reads them as text from the sources of Kubernetes, `pkg/apis/core/types.go`, and the names
their fields have in JSON from `k8s.io/api/core/v1`.

For each struct the table has its fields in order: the name in Go, the name in JSON, and the kind of the value: a struct
of the table, `*` before it for a pointer, `[]` for a list, `{}` for a map, or the JSON of its zero value.

Run `python -m tools.internal_fields SOURCES DIR`, where SOURCES is a checkout of Kubernetes and DIR the folder `k8s.io`
of Go's module cache.
"""

import argparse
import json
import re
import zlib
from pathlib import Path

TARGET = Path(__file__).parent.parent / "src/setpoint/server/registry/kinds/gotypes/internal_fields.json.z"
VERSION = "v0.37.2"
ROOTS = ("PodSpec", "PersistentVolumeClaimSpec", "PersistentVolumeSource", "EphemeralContainer")

_STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.M | re.S)
_NAMED = re.compile(r"^type (\w+) (string|bool|u?int\d*|map\[.*|\[\].*)$", re.M)
_FIELD = re.compile(r"^\t(\w+)(?:[ \t]+([^`/\n]+?))?[ \t]*(?:`[^`]*`)?[ \t]*(?://.*)?$", re.M)
_TAGGED = re.compile(r'^\t(\w+)\s+[^`/]+?\s+`[^`]*json:"(\w+)', re.M)
_ZERO = {"string": '""', "bool": "false", "resource.Quantity": '"0"', "intstr.IntOrString": "0"}

Row = tuple[str, str, str]


class Tables:
    """The structs of the server, and their names in JSON."""

    def __init__(self, internal: str, published: str) -> None:
        self.structs = dict(_STRUCT.findall(internal))
        self.named = dict(_NAMED.findall(internal))
        self.json_names = {name: dict(_TAGGED.findall(body)) for name, body in _STRUCT.findall(published)}
        self.all_names = {go: name for names in self.json_names.values() for go, name in names.items()}
        self.made: dict[str, list[Row]] = {}

    def make(self, struct: str) -> None:
        if struct not in self.made:
            self.made[struct] = []
            self.made[struct] = self.rows(struct)

    def rows(self, struct: str) -> list[Row]:
        found: list[Row] = []
        for name, kind in _FIELD.findall(self.structs[struct]):
            if kind:
                json_name = self.json_names.get(struct, {}).get(name) or self.all_names.get(name, "")
                found.append((name, json_name, self.kind(kind)))
            elif name in self.structs:
                found += self.rows(name)
        return found

    def kind(self, text: str) -> str:
        if text.startswith("*"):
            return "*" + self.kind(text[1:])
        text = self.named.get(text, text)
        if text.startswith("[]"):
            return "[]" + self.kind(text[2:])
        if text.startswith("map["):
            return "{}"
        if text in self.structs:
            self.make(text)
            return text
        return _ZERO.get(text, "0" if "int" in text else "null")


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the table of the server's own Go structs.")
    parser.add_argument("sources", type=Path, help="a checkout of Kubernetes")
    parser.add_argument("root", type=Path, help="the folder `k8s.io` of Go's module cache")
    given = parser.parse_args()
    tables = Tables(
        (given.sources / "pkg/apis/core/types.go").read_text(encoding="utf-8"),
        (given.root / f"api@{VERSION}/core/v1/types.go").read_text(encoding="utf-8"),
    )
    for name in ROOTS:
        tables.make(name)
    TARGET.write_bytes(zlib.compress(json.dumps(tables.made, sort_keys=True, separators=(",", ":")).encode(), 9))
    print(f"{TARGET.name}: {len(tables.made)} structs, {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
