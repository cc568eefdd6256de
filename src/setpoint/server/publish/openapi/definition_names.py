"""The names in OpenAPI documents: of definitions, operations and tags."""

from setpoint.objects.gvk import GroupVersion, GroupVersionKind

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
OBJECT_META, LIST_META = _META + "ObjectMeta", _META + "ListMeta"
STATUS, DELETE_OPTIONS, PATCH = _META + "Status", _META + "DeleteOptions", _META + "Patch"
WATCH_EVENT = _META + "WatchEvent"
API_VERSIONS, API_GROUPS = _META + "APIVersions", _META + "APIGroupList"
API_GROUP, API_RESOURCES = _META + "APIGroup", _META + "APIResourceList"
VERSION_INFO = "io.k8s.apimachinery.pkg.version.Info"

_K8S = ".k8s.io"


def definition_name(kind: GroupVersionKind) -> str:
    """Returns the name of a custom resource's definition: the reversed group, the version, the kind."""
    group = ".".join(reversed(kind.group.split(".")))
    return f"{group}.{kind.version}.{kind.kind}"


def group_tag(group: str) -> str:
    """Returns the tag of the operations of a group: `apps`, `exampleCom`."""
    return _identifier(_short(group), capital=False)


def tag(gv: GroupVersion) -> str:
    """Returns the common tag of the operations of a group and version: `apps_v1`, `exampleCom_v1`."""
    return f"{group_tag(gv.group)}_{_identifier(gv.version, capital=False)}"


def group_operation_id(group: str, verb: str, suffix: str) -> str:
    """Returns the ID of an operation on a group: `getAppsAPIGroup`."""
    return f"{verb}{_identifier(_short(group), capital=True)}{suffix}"


def operation_id(gv: GroupVersion, verb: str, suffix: str) -> str:
    """Returns an operation ID: `list` and `PodForAllNamespaces` in the core group are
    `listCoreV1PodForAllNamespaces`."""
    return group_operation_id(gv.group, verb, _identifier(gv.version, capital=True) + suffix)


def _short(group: str) -> str:
    return group.removesuffix(_K8S) or "core"


def _identifier(text: str, *, capital: bool) -> str:
    """Returns the letters and digits of a text in camel case; a digit at the start is dropped."""
    found = []
    for position, letter in enumerate(text):
        if letter.isalpha() or letter == "_" or (position and letter.isdigit()):
            found.append(letter.upper() if capital else letter)
            capital = False
        else:
            capital = True
    return "".join(found)


def root_path(gv: GroupVersion) -> str:
    """Returns the path of a group and version, without the first slash: `api/v1`, `apis/apps/v1`."""
    return f"apis/{gv}" if gv.group else f"api/{gv}"
