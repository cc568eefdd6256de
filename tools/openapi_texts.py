"""Makes the data of the OpenAPI documents that neither a rule nor the definitions of the built-in kinds contain.

- `setpoint/server/publish/openapi/parameters.json.xz`: the query parameters, `{OPTIONS TYPE: {NAME: [TYPE, TEXT]}}`.
  A parameter is a scalar field of an options type in Go; its text is in `types_swagger_doc_generated.go`. As in the
  real server, a list is described as one of its values.
- `setpoint/schema/builtin/enums.json.xz`: the enumerations, `{DEFINITION: {FIELD: [VALUES, TEXT]}}`. The text is
  appended to the description of the field. The name of the field ends with `[]` or `{}` if the enumeration is of the
  values of a list or a map; the empty name stands for the description of the definition itself, if the data of
  `builtin_schemas` has none. The published OpenAPI documents omit enumerations; the generated Go file behind these
  documents (`pkg/generated/openapi` of the Kubernetes repository) contains them.

Run `make data`, or `python -m tools.openapi_texts`; this needs Go to fetch the modules, and runs no code of them.
"""

import json
import lzma
import re
from collections.abc import Iterator
from pathlib import Path

from setpoint.schema import builtin
from tools.protobuf_tables import VERSION, download_modules

KUBERNETES = "k8s.io/kubernetes@v1.37.1"
META, CORE = f"k8s.io/apimachinery@{VERSION}", f"k8s.io/api@{VERSION}"
SOURCE = Path(__file__).parent.parent / "src/setpoint"
PARAMETERS = SOURCE / "server/publish/openapi/parameters.json.xz"
ENUMS = SOURCE / "schema/builtin/enums.json.xz"

OPTIONS = {
    META: ("CreateOptions", "DeleteOptions", "GetOptions", "ListOptions", "PatchOptions", "UpdateOptions"),
    CORE: (
        *("NodeProxyOptions", "PodAttachOptions", "PodExecOptions", "PodLogOptions", "PodPortForwardOptions"),
        *("PodProxyOptions", "ServiceProxyOptions"),
    ),
}
FOLDERS = {META: "pkg/apis/meta/v1", CORE: "core/v1"}
TYPES = {
    **dict.fromkeys(("bool", "*bool"), "boolean"),
    **dict.fromkeys(("int64", "*int64", "[]int32"), "integer"),
    **dict.fromkeys(("string", "*string", "[]string", "*DeletionPropagation", "ResourceVersionMatch"), "string"),
}
# Structs are not parameters.
STRUCTS = ("*Preconditions", "*metav1.Time")
# Definitions without a description in the package of `builtin_schemas`.
UNDESCRIBED = ("io.k8s.apimachinery.pkg.api.resource.Quantity", "io.k8s.apimachinery.pkg.util.intstr.IntOrString")
HEADER = "Possible enum values:"

_STRUCT = r"^type {} struct \{{\n(.*?)^\}}"
_FIELD = re.compile(r'^\t\w+\s+(\S+)\s+`json:"(\w+)', re.M)
_TEXTS = r"^var map_{} = map\[string\]string\{{\n(.*?)^\}}"
_TEXT = re.compile(r'^\t"(\w*)":\s+("(?:[^"\\]|\\.)*"),$', re.M)
_DEFINITION = re.compile(r"^func schema_(\w+)\(.*?^\}", re.M | re.S)
_PROPERTY = re.compile(r'^\t{5}"(\S+)": \{\n(.*?)^\t{5}\},', re.M | re.S)
_DESCRIPTION = re.compile(r'^\t{7}Description:\s+("(?:[^"\\]|\\.)*"),$', re.M)
_OWN_TEXT = r'^func schema_\w*{}\(.*?^\t{{4}}Description:\s+("(?:[^"\\]|\\.)*"),$'
_ENUM = re.compile(r"^(\t+)Enum:\s+\[\]interface\{\}\{(.*)\},$", re.M)

Parameters = dict[str, dict[str, tuple[str, str]]]
Enums = dict[str, dict[str, tuple[list[str], str]]]


def parameters(folder: Path, names: tuple[str, ...]) -> Iterator[tuple[str, dict[str, tuple[str, str]]]]:
    """Yields the options types of a package with their parameters."""
    types = (folder / "types.go").read_text(encoding="utf-8")
    texts = (folder / "types_swagger_doc_generated.go").read_text(encoding="utf-8")
    for name in names:
        told = {field: json.loads(text) for field, text in _TEXT.findall(_found(_TEXTS.format(name), texts))}
        found: dict[str, tuple[str, str]] = {}
        for kind, field in _FIELD.findall(_found(_STRUCT.format(name), types)):
            if kind not in STRUCTS:
                found[field] = (TYPES[kind], told.get(field, ""))
        yield name, found


def _found(pattern: str, text: str) -> str:
    match = re.search(pattern, text, re.M | re.S)
    if match is None:
        raise SystemExit(f"the sources have no match for {pattern!r}; adapt this script to the release")
    return match[1]


def enums(source: str) -> Enums:
    """Returns the enumerations in the generated Go file."""
    names = {_function(name): name for name in builtin.names()}
    found: Enums = {}
    for name in UNDESCRIBED:
        found[name] = {"": ([], json.loads(_found(_OWN_TEXT.format(_function(name)), source)))}
    for definition in _DEFINITION.finditer(source):
        if definition[1] not in names:
            continue
        for field, body in _PROPERTY.findall(definition[0]):
            enum = _ENUM.search(body)
            if enum is None:
                continue
            text = _DESCRIPTION.search(body)
            description = json.loads(text[1]) if text else ""
            plain = description.partition(HEADER)[0].strip()
            place = field + _suffix(enum[1], body)
            values = json.loads(f"[{enum[2]}]")
            found.setdefault(names[definition[1]], {})[place] = (values, description[len(plain) :])
    return found


def _suffix(indent: str, body: str) -> str:
    if len(indent) == 7:
        return ""
    return "[]" if "Items:" in body else "{}"


def _function(name: str) -> str:
    """Returns the end of the name of the Go function that creates a definition."""
    rest = name.removeprefix("io.k8s.")
    return ("k8sio_" + rest if rest.startswith("api.") else rest.partition(".")[2]).replace(".", "_")


def write(target: Path, content: object, what: str) -> None:
    text = json.dumps(content, separators=(",", ":"), sort_keys=True, ensure_ascii=False).encode()
    target.write_bytes(lzma.compress(text, preset=9 | lzma.PRESET_EXTREME))
    print(f"{target.name}: {what}, {len(text):,} bytes, {target.stat().st_size:,} compressed")


def main() -> None:
    folders = dict(download_modules([META, CORE, KUBERNETES]))
    told: Parameters = {}
    for module, names in OPTIONS.items():
        told |= parameters(folders[module.partition("@")[0]] / FOLDERS[module], names)
    write(PARAMETERS, told, f"{sum(map(len, told.values()))} parameters of {len(told)} types")
    source = folders["k8s.io/kubernetes"] / "pkg/generated/openapi/zz_generated.openapi.go"
    listed = enums(source.read_text(encoding="utf-8"))
    write(ENUMS, listed, f"{sum(map(len, listed.values()))} enumerations of {len(listed)} definitions")


if __name__ == "__main__":
    main()
