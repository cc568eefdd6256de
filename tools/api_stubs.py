"""Writes the modules of `setpoint/api` and their stubs, which tell editors and mypy what the classes are.

The classes themselves are made when a program runs, by the rules in `setpoint/schema/types/builtin.py`; the stubs are
written by the same rules, with the published descriptions. OpenAPI does not say which words a field of Go's `+enum`
types may be; the published Go modules do, and are read as text.

Run `make data`, or `python -m tools.api_stubs`; it needs Go, to fetch the modules, and nothing of them is run.
"""

import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from setpoint.schema import builtin
from setpoint.schema.types.builtin import (
    BuiltinField,
    Type,
    definitions_in,
    fields_of,
    gvk_of,
    is_kind,
    module_of,
    type_text,
)
from tools.go_fields import Package
from tools.go_fields import fields_of as go_fields_of
from tools.protobuf_tables import download

TARGET = Path(__file__).parent.parent / "src/setpoint/api"
META = "io.k8s.apimachinery.pkg.apis.meta.v1"
# Classes that are written by hand and stand elsewhere.
WRITTEN = ("ObjectMeta", "OwnerReference")

MODULE = '''"""The types of `{place}`; the stub beside this module declares their fields."""

from typing import Any

from setpoint.schema.types.builtin import lookup


def __getattr__(name: str) -> Any:
    return lookup(__name__, name)


def __dir__() -> list[str]:
    return list(lookup(__name__, "__all__"))
'''

_ENUM = re.compile(r"^// \+enum\n(?://.*\n)*type (\w+) string$", re.M)
_CONSTANT = re.compile(r'^\s*(?:const )?\w+\s+(\w+)\s*=\s*"([^"]*)"', re.M)

# The words that fields may be, by definition and field.
Words = dict[str, dict[str, list[str]]]


class ExactPackage(Package):
    """The struct types of a folder of Go files, with the full names of the types of their fields, and its enums."""

    def __init__(self, folder: Path, prefix: str) -> None:
        super().__init__(folder, prefix)
        self.enums: dict[str, list[str]] = {}
        text = "\n".join(file.read_text(encoding="utf-8") for file in sorted(folder.glob("types*.go")))
        for name in _ENUM.findall(text):
            self.enums[name] = [value for kind, value in _CONSTANT.findall(text) if kind == name and value]

    def go_type(self, text: str) -> str:
        qualifier, _, name = text.strip("*[]").rpartition(".")
        path = self.imports.get(qualifier, "").removeprefix("k8s.io/").replace("/", ".")
        return f"{f'io.k8s.{path}' if qualifier else self.prefix}.{name}"


def words() -> Words:
    """What the Go modules say about fields that are one of a few words."""
    packages: dict[str, ExactPackage] = {}
    for path, root in download():
        for folder in sorted({file.parent for file in root.rglob("types*.go")}):
            prefix = ".".join((f"io.k8s.{path.removeprefix('k8s.io/')}", *folder.relative_to(root).parts))
            packages[prefix] = ExactPackage(folder, prefix)
    enums = {f"{prefix}.{name}": found for prefix, package in packages.items() for name, found in package.enums.items()}
    found: Words = {}
    for name in sorted(builtin.names()):
        prefix, _, struct = name.rpartition(".")
        if prefix in packages:
            fields = go_fields_of(packages[prefix], struct, packages)
            known = {wire: enums[kind.strip("!?")] for wire, kind in fields.items() if kind.strip("!?") in enums}
            found[name] = {wire: values for wire, values in known.items() if values}
    return found


def stub(module: str, known: Words) -> str:
    """The stub of a module."""
    classes = definitions_in(module)
    body = "\n".join(
        _class(name, definition, module, known.get(definition, {}))
        for name, definition in classes.items()
        if name not in WRITTEN
    )
    lines = [
        f'"""The types of `{module.replace(".", "/")}`. Made by `tools/api_stubs.py`: change that, not this."""',
        "",
    ]
    if "datetime" in body:
        lines.append("from datetime import datetime")
    typing = [name for name in ("Any", "Literal") if re.search(rf"\b{name}\b", body)]
    if typing:
        lines.append(f"from typing import {', '.join(typing)}")
    lines.append("")
    for group, version in sorted(set(re.findall(r"\b_(\w+)_(v\w+)\.", body))):
        lines.append(f"from setpoint.api.{group} import {version} as _{group}_{version}")
    bases = [name for name in ("Model", "MicroTime", "Quantity", "Resource") if re.search(rf"\b{name}\b", body)]
    if bases:
        lines.append(f"from setpoint.schema.types import {', '.join(bases)}")
    if any(name in classes for name in WRITTEN):
        lines.append(
            "from setpoint.schema.types.meta import ObjectMeta as ObjectMeta, OwnerReference as OwnerReference"
        )
    return "\n".join([*lines, "", body])


def _class(name: str, definition: str, module: str, known: dict[str, list[str]]) -> str:
    texts = builtin.descriptions(definition)
    base = "Resource" if is_kind(definition) else "Model"
    lines = [f"class {name}({base}):", *_docstring(texts.get("", _summary(definition)))]
    for field in fields_of(definition):
        default = "" if field.is_required else " = ..."
        lines.append(f"    {field.name}: {_field_text(field, module, known)}{default}")
        lines += _docstring(texts.get(field.wire, ""))
    return "\n".join([*lines, "", ""])


def _summary(definition: str) -> str:
    return f"The kind {gvk_of(definition)}." if is_kind(definition) else ""


def _field_text(field: BuiltinField, module: str, known: dict[str, list[str]]) -> str:
    text = _type_text(field.type, module)
    if field.wire in known:
        literal = f"Literal[{', '.join(map(_quoted, known[field.wire]))}] | str"
        text = re.sub(r"\bstr\b(?!,)", literal, text)
    return f"{text} | None" if field.is_optional else text


def _quoted(text: str) -> str:
    return f'"{text}"'


def _type_text(type_: Type, module: str) -> str:
    """A type as the stub of a module writes it: what is of another module has that before it."""
    if type_[0] == "model":
        home = module_of(type_[1])
        return type_text(type_) if home == module else f"_{home.replace('.', '_')}.{type_text(type_)}"
    match type_:
        case ("list", of):
            return f"list[{_type_text(of, module)}]"
        case ("dict", of):
            return f"dict[str, {_type_text(of, module)}]"
        case ("union", *parts):
            return " | ".join(_type_text(part, module) for part in parts)
    return type_text(type_)


def _docstring(text: str) -> list[str]:
    if not text:
        return []
    text = text.replace('"""', "'''").strip()
    lines: list[str] = []
    for line in text.splitlines():
        lines += textwrap.wrap(line, 112, break_long_words=False, break_on_hyphens=False) or [""]
    if len(lines) == 1 and len(lines[0]) <= 108 and not lines[0].endswith(('"', "\\")):
        quoted = [f'"""{lines[0]}"""']
    else:
        quoted = [f'"""{lines[0]}', *lines[1:], '"""']
    if "\\" in text:
        quoted[0] = f"r{quoted[0]}"
    return [f"    {line}".rstrip() for line in quoted]


def modules() -> list[str]:
    """The modules there are."""
    found = {module_of(name) for name in builtin.names()} - {""}
    return sorted(module for module in found if definitions_in(module))


def files(known: Words) -> Iterator[tuple[Path, str]]:
    """Every file, by its path below the package."""
    for module in modules():
        place = Path(*module.split("."))
        yield place.with_suffix(".py"), MODULE.format(place=module.replace(".", "/"))
        yield place.with_suffix(".pyi"), stub(module, known)
    for group in sorted({module.partition(".")[0] for module in modules()}):
        yield Path(group, "__init__.py"), ""


def main() -> None:
    written = 0
    for path, text in files(words()):
        target = TARGET / path
        target.parent.mkdir(exist_ok=True)
        target.write_text(text, encoding="utf-8")
        written += len(text)
    subprocess.run([sys.executable, "-m", "ruff", "check", "--quiet", "--fix", TARGET], check=True)
    subprocess.run([sys.executable, "-m", "ruff", "format", "--quiet", TARGET], check=True)
    print(f"{TARGET.name}: {len(modules())} modules, {written:,} bytes")


if __name__ == "__main__":
    main()
