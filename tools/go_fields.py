"""Makes the table of the Go fields of the built-in kinds (`setpoint/server/registry/kinds/gotypes/go_fields.json.z`).

OpenAPI does not say which fields Go keeps when they are empty, nor what Go calls their types when a value does not fit.
The published Go modules do: this reads the struct types of `k8s.io/api`, `apimachinery`, `kube-aggregator` and
`apiextensions-apiserver` as text, from where `go mod download` puts them.

For each definition the table has its fields by their JSON names, each as the text of its Go type: with `*` before it
where it is a pointer, `!` behind it where the field is written even when it is empty, and `?` where even an empty
struct is left out.

Run `python -m tools.go_fields DIR`, where DIR is the folder `k8s.io` of Go's module cache.
"""

import argparse
import json
import re
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from setpoint.schema import builtin

VERSION = "v0.37.2"
TARGET = Path(__file__).parent.parent / "src/setpoint/server/registry/kinds/gotypes/go_fields.json.z"
MODULES = ("api", "apimachinery", "apiextensions-apiserver", "kube-aggregator")

_IMPORT = re.compile(r'^\s*(?:import\s+)?(\w+)?\s*"([\w./-]+)"$', re.M)
_STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.M | re.S)
_ALIAS = re.compile(r"^type (\w+) =? ?([\w.]+)$", re.M)
_FIELD = re.compile(r'^\t(\w+)\s+([^`/]+?)\s+`[^`]*json:"([^"]*)"[^`]*`', re.M)
_EMBEDDED = re.compile(r'^\t(\*?[\w.]+)\s+`[^`]*json:"([^"]*)"[^`]*`', re.M)
_NAME = re.compile(r"(?<![\w.])([A-Za-z_]\w*)(?:\.(\w+))?")
_BASIC = {"string", "bool", "int", "int32", "int64", "uint8", "float64", "byte", "map", "interface"}

Fields = dict[str, str]


class Package:
    """The struct types of one folder of Go files."""

    def __init__(self, folder: Path, prefix: str) -> None:
        self.name = folder.name
        self.prefix = prefix
        self.imports: dict[str, str] = {}
        self.structs: dict[str, str] = {}
        self.aliases: dict[str, str] = {}
        for file in sorted(folder.glob("*.go")):
            if not file.name.endswith("_test.go") and not file.name.startswith("zz_"):
                text = file.read_text(encoding="utf-8")
                for alias, path in _IMPORT.findall(text.partition("\ntype ")[0]):
                    self.imports[alias or path.rpartition("/")[2]] = path
                self.structs.update(_STRUCT.findall(text))
                self.aliases.update(_ALIAS.findall(text))

    def go_type(self, text: str) -> str:
        """A type as Go's error texts have it: with the name of its package, never an alias."""

        def named(found: re.Match[str]) -> str:
            first, second = found.groups()
            if second:
                return f"{self.imports.get(first, first).rpartition('/')[2]}.{second}"
            return first if first in _BASIC else f"{self.name}.{first}"

        return _NAME.sub(named, text.replace("byte", "uint8"))


def packages(root: Path) -> Iterator[Package]:
    for module in MODULES:
        base = root / f"{module}@{VERSION}"
        for folder in sorted({file.parent for file in base.rglob("*.go")}):
            place = ".".join(folder.relative_to(base).parts)
            yield Package(folder, f"io.k8s.{module}.{place}" if place else f"io.k8s.{module}")


def tables(root: Path) -> dict[str, Fields]:
    found = {package.prefix: package for package in packages(root)}
    return {
        f"{package.prefix}.{name}": fields
        for package in found.values()
        for name in (*package.structs, *package.aliases)
        if (fields := fields_of(package, name, found))
    }


def fields_of(package: Package, name: str, known: Mapping[str, Package]) -> Fields:
    """The fields of a struct, those of the structs inside it included; none where it is no struct."""
    if name not in package.structs:
        alias = package.aliases.get(name, "")
        return fields_elsewhere(package, alias, known) if alias and alias not in _BASIC else {}
    body = package.structs[name]
    found: Fields = {}
    for embedded, tag in _EMBEDDED.findall(body):
        json_name = tag.partition(",")[0]
        if json_name:
            found[json_name] = package.go_type(embedded)
        else:
            found.update(fields_elsewhere(package, embedded.removeprefix("*"), known))
    for _, kind, tag in _FIELD.findall(body):
        json_name, *options = tag.split(",")
        if json_name and json_name != "-":
            kept = "?" if "omitzero" in options else "" if "omitempty" in options else "!"
            found[json_name] = package.go_type(kind) + kept
    return found


def fields_elsewhere(package: Package, name: str, known: Mapping[str, Package]) -> Fields:
    """The fields of a struct that is named from within a package, and may be of another."""
    qualifier, _, inner = name.rpartition(".")
    if not qualifier:
        return fields_of(package, inner, known)
    path = package.imports.get(qualifier, "").removeprefix("k8s.io/").replace("/", ".")
    holder = known.get(f"io.k8s.{path}")
    return {} if holder is None else fields_of(holder, inner, known)


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the table of the Go fields of the built-in kinds.")
    parser.add_argument("root", type=Path, help="the folder `k8s.io` of Go's module cache")
    wanted = builtin.names()
    made = {name: fields for name, fields in tables(parser.parse_args().root).items() if name in wanted}
    TARGET.write_bytes(zlib.compress(json.dumps(made, sort_keys=True, separators=(",", ":")).encode(), 9))
    print(f"{TARGET.name}: {len(made)} structs, {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
