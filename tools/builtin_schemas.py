"""Makes the schemas of the built-in kinds (`setpoint/schema/builtin/definitions.json.z`) from a published data package.

The package `kubernetes-validate` carries the OpenAPI definitions of a Kubernetes release, rewritten for JSON Schema
validators. This script takes them back to Kubernetes' own form, by rules, and puts the descriptions into a file apart
(`descriptions.json.xz`), which only those read who show them:

- `type: [x, "null"]` is `type: x` again: the API reads a null as an absent field, which is no property of the schema;
- the enums of `kind` and `apiVersion` go: the package added them, `x-kubernetes-group-version-kind` says the same;
- `$ref` points to `#/definitions/NAME`;
- the types whose JSON is not their Go shape get the words our schemas have for them (`OPAQUE` below);
- `default` comes back: the package is made from the OpenAPI v2 document, which has none. Go's zero values follow from
  the shape of the fields (`zero_default`); what does not follow from it stands in `builtin_defaults.yaml`.

Run `make data`. `python -m tools.builtin_schemas --compare DIR` checks the result against the published OpenAPI v3
documents of the release (`api/openapi-spec/v3` in the Kubernetes repository) and prints what differs.
"""

import argparse
import hashlib
import importlib.resources
import json
import lzma
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

RELEASE = "v1.37.0"
TARGET = Path(__file__).parent.parent / "src/setpoint/schema/builtin/definitions.json.z"
DESCRIPTIONS = TARGET.with_name("descriptions.json.xz")
DEFAULTS = Path(__file__).parent / "builtin_defaults.yaml"
PREFIX = "#/definitions/"

# Any JSON, and any JSON object: the server keeps what it finds there.
ANYTHING = {"x-kubernetes-preserve-unknown-fields": True}
ANY_OBJECT = {"type": "object", **ANYTHING}

# Types that write their JSON themselves. A quantity is a string or a number on the wire, and a string when served.
OPAQUE: dict[str, dict[str, Any]] = {
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {"x-kubernetes-int-or-string": True, "format": "int-or-string"},
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {
        "format": "quantity",
        "oneOf": [{"type": "string"}, {"type": "number"}],
    },
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": ANY_OBJECT,
    "io.k8s.apimachinery.pkg.apis.meta.v1.Patch": ANY_OBJECT,
    "io.k8s.apimachinery.pkg.runtime.RawExtension": ANY_OBJECT,
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON": ANYTHING,
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray": ANYTHING,
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool": ANYTHING,
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray": ANYTHING,
}

KEPT = {
    "type",
    "format",
    "required",
    "x-kubernetes-group-version-kind",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
    "x-kubernetes-patch-merge-key",
    "x-kubernetes-patch-strategy",
    "x-kubernetes-unions",
}
DROPPED = {"description", "enum"}
ZERO_VALUES = {"string": "", "integer": 0, "boolean": False}

Definitions = dict[str, dict[str, Any]]


def published() -> Definitions:
    """The definitions as the data package has them."""
    folder = importlib.resources.files("kubernetes_validate") / "kubernetes-json-schema" / f"{RELEASE}-local"
    found: Definitions = json.loads((folder / "_definitions.json").read_bytes())["$defs"]
    return found


def restore(definitions: Definitions) -> Definitions:
    """The definitions in Kubernetes' own form."""
    restored = {name: OPAQUE.get(name) or restore_node(name, node) for name, node in sorted(definitions.items())}
    exceptions = yaml.safe_load(DEFAULTS.read_text())
    for name, node in restored.items():
        set_defaults(restored, node, exceptions.pop(name, {}))
    if exceptions:
        sys.exit(f"{DEFAULTS.name} names definitions that are not there: {', '.join(exceptions)}")
    return restored


def restore_node(path: str, node: dict[str, Any]) -> dict[str, Any]:
    restored: dict[str, Any] = {}
    for keyword, value in sorted(node.items()):
        match keyword:
            case "properties":
                restored[keyword] = {
                    name: restore_node(f"{path}.{name}", child) for name, child in sorted(value.items())
                }
            case "items" | "additionalProperties":
                restored[keyword] = restore_node(f"{path}.{keyword}", value)
            case "$ref":
                restored[keyword] = PREFIX + value.rpartition("/")[2]
            case "type" if isinstance(value, list):
                (restored[keyword],) = (kind for kind in value if kind != "null")
            case _ if keyword in KEPT:
                restored[keyword] = value
            case _ if keyword not in DROPPED or (keyword == "enum" and not path.endswith((".kind", ".apiVersion"))):
                sys.exit(f"{path}: this script does not know the keyword {keyword!r}: {value!r}")
    return restored


def set_defaults(definitions: Definitions, node: dict[str, Any], exceptions: dict[str, Any]) -> None:
    """Gives each field its default: the exception for it, where null means none, else what its shape implies."""
    for name, field in node.get("properties", {}).items():
        required = name in node.get("required", ())
        default = exceptions[name] if name in exceptions else zero_default(definitions, name, field, required)
        if default is not None:
            field["default"] = default


def zero_default(definitions: Definitions, name: str, field: dict[str, Any], required: bool) -> Any:
    """The zero value that Go's types imply: a required scalar is never absent, nor is a struct that is no pointer."""
    if "$ref" not in field:
        return ZERO_VALUES.get(field.get("type", "")) if required and field.get("format") != "byte" else None
    target = field["$ref"].removeprefix(PREFIX)
    is_struct = definitions[target].get("type") == "object" and target not in OPAQUE
    return {} if is_struct and (required or name in ("metadata", "spec", "status")) else None


def kinds(definitions: Definitions) -> Iterator[list[str]]:
    """Group, version, kind and the definition's name, of all of them in order."""
    for name, node in definitions.items():
        for entry in node.get("x-kubernetes-group-version-kind", ()):
            yield [entry["group"], entry["version"], entry["kind"], name]


def descriptions(definitions: Definitions) -> dict[str, dict[str, str]]:
    """The description of each definition, under "", and those of its fields, under their names."""
    found: dict[str, dict[str, str]] = {}
    for name, node in sorted(definitions.items()):
        texts = {"": node.get("description", "")}
        texts |= {field: child.get("description", "") for field, child in node.get("properties", {}).items()}
        if kept := {field: text for field, text in texts.items() if text}:
            found[name] = kept
    return found


def document(definitions: Definitions) -> bytes:
    """What the file holds, before it is compressed."""
    content = {"release": RELEASE, "kinds": sorted(kinds(definitions)), "definitions": definitions}
    return json.dumps(content, separators=(",", ":"), sort_keys=True, ensure_ascii=False).encode()


def compare(definitions: Definitions, folder: Path) -> Iterator[str]:
    """Every keyword of a field in which the definitions differ from the published OpenAPI v3 documents."""
    openapi: Definitions = {}
    for file in sorted(folder.glob("*.json")):
        openapi.update(json.loads(file.read_bytes()).get("components", {}).get("schemas", {}))
    for name in sorted(openapi.keys() | definitions.keys()):
        if name not in OPAQUE:
            yield from compare_nodes(name, definitions.get(name, {}), openapi.get(name, {}))


def compare_nodes(path: str, ours: dict[str, Any], theirs: dict[str, Any]) -> Iterator[str]:
    theirs = {keyword: value for keyword, value in theirs.items() if keyword not in DROPPED}
    for part in theirs.pop("allOf", ()):
        theirs |= part
    if "$ref" in theirs:
        theirs["$ref"] = PREFIX + theirs["$ref"].rpartition("/")[2]
    for keyword in sorted(ours.keys() | theirs.keys()):
        mine, other = ours.get(keyword), theirs.get(keyword)
        if keyword == "properties":
            for name in sorted((mine or {}).keys() | (other or {}).keys()):
                yield from compare_nodes(f"{path}.{name}", (mine or {}).get(name, {}), (other or {}).get(name, {}))
        elif keyword in ("items", "additionalProperties"):
            yield from compare_nodes(f"{path}.{keyword}", mine or {}, other or {})
        elif keyword == "x-kubernetes-group-version-kind" and all(entry in (mine or ()) for entry in other or ()):
            continue  # each document names only the kinds of its own group
        elif mine != other:
            yield f"{path}: {keyword}: {json.dumps(mine)}, published: {json.dumps(other)}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Makes the schemas of the built-in kinds.")
    parser.add_argument("--compare", type=Path, metavar="DIR", help="check against published OpenAPI v3 documents")
    chosen = parser.parse_args()
    described = published()
    definitions = restore(described)
    if chosen.compare:
        print("\n".join(compare(definitions, chosen.compare)) or "nothing differs")
        return
    content = document(definitions)
    TARGET.write_bytes(zlib.compress(content, 9))
    print(
        f"{TARGET.name}: {len(definitions)} definitions, {len(content):,} bytes, {TARGET.stat().st_size:,} compressed; "
        f"sha256 of the content {hashlib.sha256(content).hexdigest()}"
    )
    texts = json.dumps(descriptions(described), separators=(",", ":"), sort_keys=True, ensure_ascii=False).encode()
    DESCRIPTIONS.write_bytes(lzma.compress(texts, preset=9 | lzma.PRESET_EXTREME))
    print(f"{DESCRIPTIONS.name}: {len(texts):,} bytes, {DESCRIPTIONS.stat().st_size:,} compressed")


if __name__ == "__main__":
    main()
