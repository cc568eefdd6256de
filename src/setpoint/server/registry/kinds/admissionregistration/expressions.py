"""CEL for admission: the variables of the expressions of policies and webhooks, and their compilation.

Objects and parameters are untyped here: their types are known only for a request.
"""

from collections.abc import Mapping, Sequence
from functools import cache

from setpoint.objects.field import FieldError, invalid
from setpoint.schema.cel.declarations import Declaration
from setpoint.schema.cel.environment import Environment, Variable
from setpoint.schema.cel.evaluate import ProgramError
from setpoint.schema.cel.parser import parse
from setpoint.schema.cel.program import Program
from setpoint.schema.cel.source_text import CompileError
from setpoint.schema.cel.types import BOOL, DYN, INT, NULL, STRING, TIMESTAMP, Type, list_of, map_of, struct

_PACKAGE = "kubernetes.authorization."
_TEXTS, _TEXT_MAP, _TEXT_LISTS = list_of(STRING), map_of(STRING, STRING), map_of(STRING, list_of(STRING))
_KIND = {"group": STRING, "version": STRING, "kind": STRING}
_RESOURCE = {"group": STRING, "version": STRING, "resource": STRING}
_USER = {"username": STRING, "uid": STRING, "groups": _TEXTS, "extra": _TEXT_LISTS}
_CONDITION = {
    "status": STRING,
    "type": STRING,
    "lastTransitionTime": TIMESTAMP,
    "message": STRING,
    "reason": STRING,
}
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
    """Declares an object type with these fields."""
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


def _list_of(elements: Declaration) -> Declaration:
    made = Declaration(list_of(elements.type), 1)
    made.elements = elements
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
    conditions = _list_of(_object("kubernetes.NamespaceCondition", **_CONDITION))
    return _object(
        "kubernetes.Namespace",
        metadata=_object("kubernetes.NamespaceMetadata", **_METADATA),
        spec=_object("kubernetes.NamespaceSpec", finalizers=_TEXTS),
        status=_object("kubernetes.NamespaceStatus", conditions=conditions, phase=STRING),
    )


def environment(
    *,
    params: bool,
    authorizer: bool = True,
    variables: Mapping[str, Type] | None = None,
    messages: bool = False,
    objects: Declaration | None = None,
    param: Declaration | None = None,
) -> Environment:
    """Returns the variables of an expression. `variables` are those of a policy; None if there are none. With
    `messages` the expression can create patches. `objects` and `param` are the types of the object and the parameter,
    if known."""
    untyped = Variable(DYN)
    seen = untyped if objects is None else Variable(objects.type, objects)
    known = {
        "object": seen,
        "oldObject": seen,
        "request": Variable(_request().type, _request()),
        "namespaceObject": Variable(_namespace().type, _namespace()),
    }
    if params:
        known["params"] = untyped if param is None else Variable(param.type, param)
    if authorizer:
        known["authorizer"] = Variable(struct(f"{_PACKAGE}Authorizer"))
        known["authorizer.requestResource"] = Variable(struct(f"{_PACKAGE}ResourceCheck"))
    if variables is not None:
        composed = _object("kubernetes.variables", **variables)
        known["variables"] = Variable(composed.type, composed)
    return Environment(known, messages=messages)


def compile_expression(
    expression: str, path: str, known: Environment, wanted: Sequence[Type], shown: str | None = None
) -> list[FieldError]:
    """Returns the errors of an expression, whose type must be one of `wanted`. `shown` is the value in the error."""
    _, problem = compiled(expression, known, wanted)
    return [invalid(path, expression if shown is None else shown, problem)] if problem else []


def compiled(expression: str, known: Environment, wanted: Sequence[Type] = ()) -> tuple[Program | None, str]:
    """Returns the compiled expression, or an error message. If `wanted` is not empty, the type must be one of these."""
    try:
        program = Program(expression, known)
    except CompileError as error:
        return None, f"compilation failed: {error}"
    except ProgramError as error:
        return None, f"program instantiation failed: {error}"
    if not wanted or program.type in wanted:
        return program, ""
    texts = [_type_name(each) for each in wanted]
    one = texts[0] if len(texts) == 1 else f"one of [{' '.join(texts)}]"
    return None, f"must evaluate to {one} but got {_type_name(program.type)}"


def composed_type(program: Program | None) -> Type:
    """Returns the type of a variable for other expressions. An invalid variable is dynamic, so that its users do not
    fail too; types that only some expressions can handle are checked at run time."""
    return DYN if program is None else _declared(program.type)


def _declared(found: Type) -> Type:
    if found.kind in ("struct", "opaque", "type"):
        return DYN
    return found._replace(params=tuple(map(_declared, found.params)))


def syntax_problem(expression: str) -> str:
    """Returns the syntax error of an expression; empty if there is none."""
    try:
        parse(expression)
    except CompileError as error:
        return f"compilation failed: {error}"
    except RecursionError:
        return "compilation failed: ERROR: <input>:-1:0: expression recursion limit exceeded: 250"
    return ""


def _type_name(found: Type) -> str:
    return "null_type" if found == NULL else str(found)
