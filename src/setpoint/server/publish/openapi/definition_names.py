"""The names in OpenAPI documents: of definitions, operations and tags."""

import re

from setpoint.objects.gvk import GroupVersion, GroupVersionKind

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
OBJECT_META, LIST_META = _META + "ObjectMeta", _META + "ListMeta"
STATUS, DELETE_OPTIONS, PATCH = _META + "Status", _META + "DeleteOptions", _META + "Patch"
WATCH_EVENT = _META + "WatchEvent"

_SEPARATORS = re.compile(r"[^0-9A-Za-z]+")
_K8S = ".k8s.io"


def definition_name(kind: GroupVersionKind) -> str:
    """Returns the name of a custom resource's definition: the reversed group, the version, the kind."""
    group = ".".join(reversed(kind.group.split(".")))
    return f"{group}.{kind.version}.{kind.kind}"


def tag(gv: GroupVersion) -> str:
    """Returns the common tag of the operations of a group and version: `apps_v1`, `exampleCom_v1`."""
    first, *others = _words(gv)
    return f"{first}{''.join(_title(word) for word in others)}_{gv.version}"


def operation_id(gv: GroupVersion, verb: str, rest: str) -> str:
    """Returns an operation ID: `list` and `PodForAllNamespaces` in the core group are
    `listCoreV1PodForAllNamespaces`."""
    group = "".join(_title(word) for word in _words(gv))
    return f"{verb}{group}{_title(gv.version)}{rest}"


def _words(gv: GroupVersion) -> list[str]:
    return _SEPARATORS.split(gv.group.removesuffix(_K8S) or "core")


def _title(word: str) -> str:
    return word[:1].upper() + word[1:]


def root_path(gv: GroupVersion) -> str:
    """Returns the path of a group and version, without the first slash: `api/v1`, `apis/apps/v1`."""
    return f"apis/{gv}" if gv.group else f"api/{gv}"
