"""CEL as admission knows it: what expressions of policies and webhooks may refer to, and whether they compile.

Objects and parameters have no type here: which they are of is only known for a request.
"""

from collections.abc import Sequence
from functools import cache

from setpoint.objects.field import FieldError, invalid
from setpoint.schema.cel.declarations import Declaration
from setpoint.schema.cel.environment import Environment, Variable
from setpoint.schema.cel.evaluate import ProgramError
from setpoint.schema.cel.parser import parse
from setpoint.schema.cel.program import Program
from setpoint.schema.cel.source import CompileError
from setpoint.schema.cel.types import BOOL, DYN, INT, NULL, STRING, TIMESTAMP, Type, list_of, map_of, struct

_PACKAGE = "kubernetes.authorization."
_TEXTS, _TEXT_MAP, _TEXT_LISTS = list_of(STRING), map_of(STRING, STRING), map_of(STRING, list_of(STRING))
_KIND = {"group": STRING, "version": STRING, "kind": STRING}
_RESOURCE = {"group": STRING, "version": STRING, "resource": STRING}
_USER = {"username": STRING, "uid": STRING, "groups": _TEXTS, "extra": _TEXT_LISTS}
_METADATA = {
    "name": STRING,
    "generateName": STRING,
    "namespace": STRING,
    "labels": _TEXT_MAP,
    "annotations": _TEXT_MAP,
    "UID": STRING,
    "creationTimestamp": TIMESTAMP,
    "deletionGracePeriodSeconds": INT,
    "deletionTimestamp": TIMESTAMP,
    "generation": INT,
    "resourceVersion": STRING,
    "finalizers": _TEXTS,
}


def _object(type_name: str, /, **fields: Type | Declaration) -> Declaration:
    """An object with certain fields, under the names they have."""
    made = Declaration(struct(type_name), 2)
    for field, found in fields.items():
        made.fields[field] = found if isinstance(found, Declaration) else _plain(found)
        made.names[field] = field
    return made


def _plain(found: Type) -> Declaration:
    made = Declaration(found, 1)
    if found.kind in ("list", "map"):
        made.elements = Declaration(found.params[-1], 1)
    return made


@cache
def _request() -> Declaration:
    kind = _object("kubernetes.GroupVersionKind", **_KIND)
    resource = _object("kubernetes.GroupVersionResource", **_RESOURCE)
    return _object(
        "kubernetes.AdmissionRequest",
        kind=kind,
        resource=resource,
        subResource=STRING,
        requestKind=kind,
        requestResource=resource,
        requestSubResource=STRING,
        name=STRING,
        namespace=STRING,
        operation=STRING,
        userInfo=_object("kubernetes.UserInfo", **_USER),
        dryRun=BOOL,
        options=DYN,
    )


@cache
def _namespace() -> Declaration:
    return _object(
        "kubernetes.Namespace",
        metadata=_object("kubernetes.NamespaceMetadata", **_METADATA),
        spec=_object("kubernetes.NamespaceSpec", finalizers=_TEXTS),
        status=_object("kubernetes.NamespaceStatus", phase=STRING),
    )


def environment(*, params: bool, authorizer: bool = True, variables: dict[str, Type] | None = None) -> Environment:
    """What an expression may refer to. `variables` are those of a policy; None where it has none."""
    known = {
        "object": Variable(DYN),
        "oldObject": Variable(DYN),
        "request": Variable(_request().type, _request()),
        "namespaceObject": Variable(_namespace().type, _namespace()),
    }
    if params:
        known["params"] = Variable(DYN)
    if authorizer:
        known["authorizer"] = Variable(struct(f"{_PACKAGE}Authorizer"))
        known["authorizer.requestResource"] = Variable(struct(f"{_PACKAGE}ResourceCheck"))
    if variables is not None:
        composed = _object("kubernetes.variables", **variables)
        known["variables"] = Variable(composed.type, composed)
    return Environment(known)


def compile_expression(
    expression: str, path: str, known: Environment, wanted: Sequence[Type], shown: str | None = None
) -> list[FieldError]:
    """What is wrong with an expression that must be of one of some types. `shown` is the value that the error names."""
    value = expression if shown is None else shown
    found, problem = type_of(expression, known)
    if problem:
        return [invalid(path, value, problem)]
    if found in wanted:
        return []
    texts = [_type_name(each) for each in wanted]
    one = texts[0] if len(texts) == 1 else f"one of [{' '.join(texts)}]"
    return [invalid(path, value, f"must evaluate to {one} but got {_type_name(found or DYN)}")]


def type_of(expression: str, known: Environment) -> tuple[Type | None, str]:
    """The type of an expression, or what is wrong with it."""
    try:
        return Program(expression, known).type, ""
    except CompileError as error:
        return None, f"compilation failed: {error}"
    except ProgramError as error:
        return None, f"program instantiation failed: {error}"


def syntax_problem(expression: str) -> str:
    """What is wrong with the form of an expression; empty if it can be read."""
    try:
        parse(expression)
    except CompileError as error:
        return f"compilation failed: {error}"
    except RecursionError:
        return "compilation failed: ERROR: <input>:-1:0: expression recursion limit exceeded: 250"
    return ""


def _type_name(found: Type) -> str:
    return "null_type" if found == NULL else str(found)
