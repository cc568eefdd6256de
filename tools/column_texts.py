"""Makes the descriptions of the columns of Tables, `{KIND: {COLUMN: TEXT}}`, in
`setpoint/server/codec/column_texts.json.xz`.

The Go file `pkg/printers/internalversion/printers.go` of the Kubernetes repository defines the columns of the built-in
kinds. A description is a text there, or the documentation of a field in `types_swagger_doc_generated.go`.

Run `make data`, or `python -m tools.column_texts`; this needs Go to fetch the modules, and runs no code of them.
"""

import json
import re
from functools import cache
from pathlib import Path

from tools.openapi_texts import KUBERNETES, SOURCE, write
from tools.protobuf_tables import VERSION, download_modules

TARGET = SOURCE / "server/codec/column_texts.json.xz"
MODULES = (f"k8s.io/api@{VERSION}", f"k8s.io/apimachinery@{VERSION}")

_IMPORT = re.compile(r'^\t(\w+) "(k8s\.io/(?:api|apimachinery))/([\w/]+)"$', re.M)
_LIST = re.compile(r"^\t(\w+) :?= (?:append\(\1, )?\[\]metav1\.TableColumnDefinition\{\n(.*?)^\t\}", re.M | re.S)
_COLUMN = re.compile(r'^\t\t\{Name: "([^"]*)".*?Description: (.*)\},?$', re.M)
_HANDLER = re.compile(r"\.TableHandler\((\w+), (\w+)\)")
_PRINTER = re.compile(r"^func (\w+)\(\w+ \*\w+\.(\w+), options printers\.GenerateOptions\)", re.M)
_DOCUMENTED = re.compile(r'(\w+)\.(\w+)\{\}(?:\.(\w+))?\.SwaggerDoc\(\)\["(\w*)"\]')
_TEXTS = re.compile(r"^var map_(\w+) = map\[string\]string\{\n(.*?)^\}", re.M | re.S)
_TEXT = re.compile(r'^\t"(\w*)":\s+("(?:[^"\\]|\\.)*"),$', re.M)

# The Go type of the only field of a type whose documentation a column has.
FIELD_TYPES = {("Event", "InvolvedObject"): "ObjectReference"}


@cache
def documentation(folder: Path) -> dict[str, dict[str, str]]:
    """Returns the texts of the types of a package and of their fields."""
    source = (folder / "types_swagger_doc_generated.go").read_text(encoding="utf-8")
    return {
        name: {field: json.loads(text) for field, text in _TEXT.findall(body)} for name, body in _TEXTS.findall(source)
    }


def column_texts(source: str, folders: dict[str, Path]) -> dict[str, dict[str, str]]:
    """Returns the descriptions of the columns by kind."""
    packages = {alias: folders[module] / path for alias, module, path in _IMPORT.findall(source)}

    def text(expression: str) -> str:
        if expression.startswith('"'):
            return str(json.loads(expression))
        match = _DOCUMENTED.fullmatch(expression)
        if match is None:
            raise SystemExit(f"no text for {expression!r}; adapt this script to the release")
        alias, name, part, field = match.groups()
        name = FIELD_TYPES[name, part] if part else name
        return documentation(packages[alias]).get(name, {}).get(field, "")

    printed = dict(_PRINTER.findall(source))
    columns: dict[str, dict[str, str]] = {}
    for name, body in _LIST.findall(source):
        columns.setdefault(name, {}).update((column, text(told)) for column, told in _COLUMN.findall(body))
    handlers = [(name, printer) for name, printer in _HANDLER.findall(source) if not printer.endswith("List")]
    return {printed[printer]: columns[name] for name, printer in handlers}


def main() -> None:
    folders = dict(download_modules([*MODULES, KUBERNETES]))
    source = folders["k8s.io/kubernetes"] / "pkg/printers/internalversion/printers.go"
    found = column_texts(source.read_text(encoding="utf-8"), folders)
    write(TARGET, found, f"{sum(map(len, found.values()))} columns of {len(found)} kinds")


if __name__ == "__main__":
    main()
