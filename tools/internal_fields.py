"""Makes the table of the server's own Go structs (`setpoint/server/registry/kinds/gotypes/internal_fields.json.z`).

Where an update changes what it must not, the real server shows the difference as a diff of its internal structs, which
no published module has; other errors show a rejected struct. This reads them as text from the sources of Kubernetes,
`pkg/apis/GROUP/types.go`, and the names their fields have in JSON from `k8s.io/api/GROUP/v1`. Structs of other groups
than the core have the group before their name.

For each struct the table has its fields in order: the name in Go, the name in JSON, and the kind of the value: a struct
of the table, `*` before it for a pointer, `[]` for a list, `{}` for a map, or the JSON of its zero value.
`LabelSelector` and the embedded `ObjectMeta` are published structs with JSON names.

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
ROOTS = {
    "core": (
        *("PodSpec", "PersistentVolumeClaimSpec", "PersistentVolumeSource", "EphemeralContainer"),
        *("PodTemplateSpec", "PersistentVolumeClaim", "EventSource", "ObjectReference", "VolumeNodeAffinity"),
    ),
    "batch": ("PodFailurePolicy", "SuccessPolicy", "UncountedTerminatedPods"),
    "resource": ("ResourceClaimTemplateSpec",),
    "flowcontrol": ("FlowSchemaSpec", "PriorityLevelConfigurationSpec"),
    "admissionregistration": ("AuditAnnotation",),
}

_STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.M | re.S)
_NAMED = re.compile(r"^type (\w+) (string|bool|u?int\d*|map\[.*|\[\].*)$", re.M)
_FIELD = re.compile(r"^\t(\w+)(?:[ \t]+([^`/\n]+?))?[ \t]*(?:`[^`]*`)?[ \t]*(?://.*)?$", re.M)
_EMBEDDED = re.compile(r"^\tmetav1\.ObjectMeta$", re.M)
_TAGGED = re.compile(r'^\t(\w+)\s+[^`/]+?\s+`[^`]*json:"(\w+)', re.M)
_ZERO = {
    "string": '""',
    "types.UID": '""',
    "types.NodeName": '""',
    "bool": "false",
    "resource.Quantity": '"0"',
    "intstr.IntOrString": "0",
}

Row = tuple[str, str, str]


class Tables:
    """The structs of a group of the server, and their names in JSON. `core` are the structs of the core group."""

    def __init__(self, group: str, internal: str, published: str, core: "Tables | None" = None) -> None:
        self.prefix = "" if core is None else f"{group}."
        self.core = core or self
        self.structs = dict(_STRUCT.findall(internal))
        self.named = dict(_NAMED.findall(internal))
        self.json_names = {name: dict(_TAGGED.findall(body)) for name, body in _STRUCT.findall(published)}
        self.all_names = {go: name for names in self.json_names.values() for go, name in names.items()}
        self.made: dict[str, list[Row]] = {} if core is None else core.made

    def make(self, struct: str) -> None:
        name = self.prefix + struct
        if name not in self.made:
            self.made[name] = []
            self.made[name] = self.rows(struct)

    def rows(self, struct: str) -> list[Row]:
        found: list[Row] = [("", "metadata", "ObjectMeta")] if _EMBEDDED.search(self.structs[struct]) else []
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
            return self.prefix + text
        if text == "metav1.LabelSelector":
            return "LabelSelector"
        if text.startswith(("api.", "core.")) and self.core is not self:
            return self.core.kind(text.partition(".")[2])
        return _ZERO.get(text, "0" if "int" in text else "null")


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the table of the server's own Go structs.")
    parser.add_argument("sources", type=Path, help="a checkout of Kubernetes")
    parser.add_argument("root", type=Path, help="the folder `k8s.io` of Go's module cache")
    given = parser.parse_args()
    core: Tables | None = None
    made: dict[str, list[Row]] = {}
    for group, names in ROOTS.items():
        tables = Tables(
            group,
            (given.sources / f"pkg/apis/{group}/types.go").read_text(encoding="utf-8"),
            (given.root / f"api@{VERSION}/{group}/v1/types.go").read_text(encoding="utf-8"),
            core,
        )
        core = core or tables
        for name in names:
            tables.make(name)
        made = tables.made
    TARGET.write_bytes(zlib.compress(json.dumps(made, sort_keys=True, separators=(",", ":")).encode(), 9))
    print(f"{TARGET.name}: {len(made)} structs, {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
