"""The types and functions of the authorizer in policies.

The evaluator of a policy provides the value of the variable `authorizer`; the value has the methods listed here, and
each returns the next value of the chain. Rules of custom resources have no such variable.
"""

from typing import Any

from setpoint.schema.cel.functions import Library

AUTHORIZER = Library()

_PREFIX = "kubernetes.authorization."
# id, receiver, method, arguments and result, without the package of the types.
_METHODS = (
    ("authorizer_path", "Authorizer", "path", "string", "PathCheck"),
    ("authorizer_group", "Authorizer", "group", "string", "GroupCheck"),
    ("authorizer_serviceaccount", "Authorizer", "serviceAccount", "string, string", "Authorizer"),
    ("groupcheck_resource", "GroupCheck", "resource", "string", "ResourceCheck"),
    ("resourcecheck_subresource", "ResourceCheck", "subresource", "string", "ResourceCheck"),
    ("resourcecheck_namespace", "ResourceCheck", "namespace", "string", "ResourceCheck"),
    ("resourcecheck_name", "ResourceCheck", "name", "string", "ResourceCheck"),
    ("authorizer_fieldselector", "ResourceCheck", "fieldSelector", "string", "ResourceCheck"),
    ("authorizer_labelselector", "ResourceCheck", "labelSelector", "string", "ResourceCheck"),
    ("pathcheck_check", "PathCheck", "check", "string", "Decision"),
    ("resourcecheck_check", "ResourceCheck", "check", "string", "Decision"),
    ("decision_allowed", "Decision", "allowed", "", "bool"),
    ("decision_reason", "Decision", "reason", "", "string"),
    ("decision_error", "Decision", "error", "", "string"),
    ("decision_errored", "Decision", "errored", "", "bool"),
)


def _declare(overload_id: str, receiver: str, method: str, args: str, result: str) -> None:
    def call(target: Any, *values: Any) -> Any:
        return getattr(target, method)(*values)

    shown = result if result in ("bool", "string") else _PREFIX + result
    AUTHORIZER.overload(f"{overload_id}: ({_PREFIX}{receiver}).{method}({args}) -> {shown}")(call)


for _method in _METHODS:
    _declare(*_method)
