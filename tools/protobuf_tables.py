"""Makes the tables of the protobuf messages of the built-in kinds (`setpoint/server/codec/protobuf/messages.json.z`).

Two files of each published Go package say together what a message means as JSON. `generated.proto` has the numbers and
the types of the fields; the struct of the same name in the Go files has their JSON names, and what Go writes when they
are empty: whether a field is a pointer, `omitempty`, `omitzero`, or embedded, its fields being those of the struct
around it. A message without a struct stands for a list in Go; its JSON is that of its one field.

The table is `{"messages": {NAME: [FIELD, ...]}, "kinds": {GROUP/VERSION: {KIND: NAME}}}`. A FIELD is
`[number, JSON name, type, flags]`, with the name of the Go field behind it where it is not the JSON name with a capital
letter. The type is a scalar of protobuf or the name of a message; it is that of the values where the field is a map.
The flags:

    r  repeated            *  a pointer in Go         z  left out when it is zero
    m  a map               o  left out when empty     i  embedded: its fields are those of the message around it
                                                      w  the one field of a message that stands for a list

Run `make data`, or `python -m tools.protobuf_tables`; it needs Go, to fetch the modules, and nothing of them is run.
"""

import hashlib
import json
import re
import subprocess
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

VERSION = "v0.37.2"
MODULES = ("api", "apimachinery", "apiextensions-apiserver", "kube-aggregator")
TARGET = Path(__file__).parent.parent / "src/setpoint/server/codec/protobuf/messages.json.z"

SCALARS = {"string", "bytes", "bool", "int32", "int64", "double"}
META = "k8s.io.apimachinery.pkg.apis.meta.v1"
# Kinds of the core group although they stand with the metadata of all groups.
UNVERSIONED = ("Status", "APIVersions", "APIGroup", "APIGroupList", "APIResourceList")

_PACKAGE = re.compile(r"^package ([\w.-]+);$", re.M)
_MESSAGE = re.compile(r"^message (\w+) \{\n(.*?)^\}", re.M | re.S)
_PROTO_FIELD = re.compile(r"^  (optional |repeated |map<string, )([\w.-]+)>? (\w+) = ([0-9]+)(?: \[[^]]*\])?;$", re.M)
_ANY_FIELD = re.compile(r"^  (?!//)\S.*;$", re.M)
_STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.M | re.S)
_GO_FIELD = re.compile(r"^\t(?:(\w+)[ \t]+)?([^\s`/][^\n`/]*?)[ \t]+`([^`]*)`", re.M)
_TAG = re.compile(r'(\w+):"([^"]*)"')
_IMPORT = re.compile(r'^\s*(?:import\s+)?(\w+)?\s*"([\w./-]+)"$', re.M)
_SAME_AS = re.compile(r"^type (\w+) (\w+)\.(\w+)$", re.M)
_TYPE_META = re.compile(r"^\t(?:\w+\.)?TypeMeta\b", re.M)
_GROUP = re.compile(r'^\s*(?:const )?GroupName\s*=\s*"([^"]*)"', re.M)

Field = list[Any]


class GoField(NamedTuple):
    """What the Go struct says about a field of the message."""

    name: str
    json_name: str
    flags: str


class Package(NamedTuple):
    """What one folder has to say: its messages, its Go structs, and structs it takes over under a name of its own."""

    name: str
    proto: str
    structs: dict[str, str]
    same_as: dict[str, tuple[str, str]]
    groups: set[str]


class Table(NamedTuple):
    messages: dict[str, list[Field]]
    kinds: dict[str, dict[str, str]]


def download() -> Iterator[tuple[str, Path]]:
    """The modules of this script with their folders."""
    return download_modules(f"k8s.io/{module}@{VERSION}" for module in MODULES)


def download_modules(wanted: Iterable[str]) -> Iterator[tuple[str, Path]]:
    """The modules with their folders, fetched where Go does not have them yet."""
    with tempfile.TemporaryDirectory() as outside:
        done = subprocess.run(
            ["go", "mod", "download", "-json", *wanted], cwd=outside, stdout=subprocess.PIPE, check=True, text=True
        )
    rest = done.stdout.strip()
    while rest:
        found, end = json.JSONDecoder().raw_decode(rest)
        yield found["Path"], Path(found["Dir"])
        rest = rest[end:].strip()


def read_package(proto: Path) -> Package:
    text = proto.read_text(encoding="utf-8")
    name = _PACKAGE.search(text)
    if name is None:
        raise SystemExit(f"{proto} names no package")
    package = Package(name[1], text, {}, {}, set())
    for file in sorted(proto.parent.glob("*.go")):
        if file.name.endswith(("_test.go", ".pb.go")) or file.name.startswith("zz_"):
            continue
        source = file.read_text(encoding="utf-8")
        package.structs.update(_STRUCT.findall(source))
        package.groups.update(_GROUP.findall(source))
        imports = {alias or path.rpartition("/")[2]: path for alias, path in _IMPORT.findall(source)}
        package.same_as.update(
            {own: (imports.get(qualifier, ""), other) for own, qualifier, other in _SAME_AS.findall(source)}
        )
    return package


def read(modules: Iterable[tuple[str, Path]]) -> Table:
    packages = {
        "/".join((module, *proto.parent.relative_to(folder).parts)): read_package(proto)
        for module, folder in modules
        for proto in sorted(folder.rglob("generated.proto"))
        if "testapigroup" not in proto.parts
    }
    table = Table({}, {})
    for package in packages.values():
        for message, body in _MESSAGE.findall(package.proto):
            path, name = package.same_as.get(message, ("", ""))
            struct = packages[path].structs[name] if path in packages else package.structs.get(message)
            table.messages[f"{package.name}.{message}"] = list(fields(package.name, message, body, struct))
        version = package.name.rpartition(".")[2]
        for group in package.groups:
            table.kinds[f"{group}/{version}" if group else version] = {
                name: f"{package.name}.{name}"
                for name, body in package.structs.items()
                if _TYPE_META.search(body) and f"{package.name}.{name}" in table.messages
            }
    return table


def fields(package: str, message: str, body: str, struct: str | None) -> Iterator[Field]:
    known = go_fields(struct) if struct is not None else {}
    parsed = _PROTO_FIELD.findall(body)
    if len(parsed) != len(_ANY_FIELD.findall(body)):
        raise SystemExit(f"{package}.{message} has a field that this script does not understand")
    for label, kind, name, number in parsed:
        go = known.get(int(number), GoField(capitalized(name), name, "*o" if struct is not None else "w"))
        flags = {"repeated ": "r", "map<string, ": "m"}.get(label, "") + go.flags
        if kind not in SCALARS:
            kind = kind.removeprefix(".") if "." in kind else f"{package}.{kind}"
        if "z" in go.flags and not kind.endswith(".Time"):
            raise SystemExit(f"{package}.{message}.{name}: only a Time is known to be left out when it is zero")
        field = [int(number), go.json_name, kind, flags]
        if go.name != capitalized(go.json_name):
            field.append(go.name)
        yield field


def go_fields(struct: str) -> dict[int, GoField]:
    """The fields of a struct by their numbers in the message."""
    found = {}
    for name, kind, tags in _GO_FIELD.findall(struct):
        tag = dict(_TAG.findall(tags))
        number = tag.get("protobuf", "").partition(",")[2].partition(",")[0]
        if not number.isdecimal():
            continue
        json_name, *options = tag.get("json", "").split(",")
        go_name = name or kind.rpartition(".")[2]
        flags = "*" if kind.startswith("*") else ""
        if json_name in ("", "-"):
            # Without a name, an embedded struct gives its fields away; a plain field bears the name it has in Go.
            flags += "" if name else "i"
            json_name = go_name[:1].lower() + go_name[1:]
        flags += ("o" if "omitempty" in options else "") + ("z" if "omitzero" in options else "")
        found[int(number)] = GoField(go_name, json_name, flags)
    return found


def capitalized(name: str) -> str:
    return name[:1].upper() + name[1:]


def complete(table: Table) -> Table:
    """Adds the kinds that are registered apart from their package, and leaves out what no kind reaches."""
    core = table.kinds["v1"]
    core.update({name: f"{META}.{name}" for name in (*UNVERSIONED, "WatchEvent")})
    core.update({name: f"{META}.{name}" for name in table.kinds["meta.k8s.io/v1"] if name.endswith("Options")})
    reached: dict[str, list[Field]] = {}
    waiting = sorted({name for kinds in table.kinds.values() for name in kinds.values()})
    waiting.append("k8s.io.apimachinery.pkg.runtime.Unknown")
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached[name] = table.messages[name]
            waiting += [field[2] for field in reached[name] if field[2] not in SCALARS]
    return Table(dict(sorted(reached.items())), {name: kinds for name, kinds in sorted(table.kinds.items()) if kinds})


def main() -> None:
    table = complete(read(download()))
    content = json.dumps(table._asdict(), separators=(",", ":"), sort_keys=True).encode()
    TARGET.write_bytes(zlib.compress(content, 9))
    print(
        f"{TARGET.name}: {len(table.messages)} messages, {sum(map(len, table.kinds.values()))} kinds, "
        f"{len(content):,} bytes, {TARGET.stat().st_size:,} compressed; "
        f"sha256 of the content {hashlib.sha256(content).hexdigest()}"
    )


if __name__ == "__main__":
    main()
