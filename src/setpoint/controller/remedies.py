"""The errors of common mistakes in controllers. Each message names the fix in the code of the author."""

from collections.abc import Iterable

from setpoint.client.kinds import KindRef, kind_of
from setpoint.controller.source import Source
from setpoint.controller.watch import Owned, Watch
from setpoint.objects.gvk import GroupVersionKind
from setpoint.schema.types.resource import ResourceConfig

# The command that grants the rights which follow from the declarations of controllers.
GRANT = "setpoint controllers rbac MODULE | kubectl apply -f -"
_READS = ("get", "list", "watch")


def has_status(kind: KindRef) -> bool:
    """Returns True unless the class of a kind shows that its objects have no status subresource."""
    if kind.cls is None:
        return True
    return "status" in kind.cls.__struct_fields__ and kind.cls.__resource__.status_subresource is not False


def no_status(kind: KindRef) -> TypeError:
    """Returns the error of a status for a class without one."""
    assert kind.cls is not None
    name = kind.cls.__name__
    config: ResourceConfig = kind.cls.__resource__
    if not kind.is_custom:
        return TypeError(f"{kind} has no status: report with an event, ctx.recorder.normal(obj, REASON, MESSAGE)")
    if config.status_subresource is False:
        return TypeError(f"{name} has no status subresource: remove status_subresource=False from the class")
    return TypeError(
        f"{name} has no status: add a field to the class, `status: {name}Status | None = None`, and install the "
        f"definition again, `await client.install({name})`"
    )


def no_status_on_server(kind: KindRef) -> str:
    """Returns the message for a status that the server does not serve."""
    name = kind.gvk.kind
    return (
        f"the server serves {kind} without a status subresource, and the status cannot be written: install the "
        f"definition with a status, `await client.install({name})` for a class with a field `status`, or add "
        "`subresources: {status: {}}` to its version"
    )


def watches(sources: Iterable[Source], kind: GroupVersionKind) -> bool:
    """Returns True if a source watches the objects of a kind."""
    group_kind = kind.group_kind
    return any(isinstance(each, Watch) and kind_of(each.kind).gvk.group_kind == group_kind for each in sources)


def not_owned(controller: str, kind: KindRef, name: str) -> ValueError:
    """Returns the error of a child of a kind that the controller does not watch."""
    return ValueError(
        f"the controller {controller} does not watch {kind}, and would not notice a change of its child {name}: add "
        f"owns=[{kind.code}] to the controller"
    )


def missing_right(
    controller: str, sources: Iterable[Source], primary: KindRef | None, kind: KindRef, resource: str, verb: str
) -> str:
    """Returns the note about a request that the server forbids."""
    verb = "patch" if verb == "apply" else verb
    is_read, is_part = verb in _READS, "/" in resource
    is_primary = primary is not None and primary.gvk.group_kind == kind.gvk.group_kind
    sources = list(sources)
    is_owned = watches((each for each in sources if isinstance(each, Owned)), kind.gvk)
    # The rules that follow from the declaration, as in `rbac.rules`.
    is_declared = (
        (is_primary and (is_read or verb in ("patch", "update")))
        or (is_owned and not is_part)
        or (is_read and not is_part and watches(sources, kind.gvk))
    )
    if is_declared:
        return f"grant the rules of the controller {controller}, which allow to {verb} {resource}: {GRANT}"
    if is_primary or is_part:
        rule = f'{{"apiGroups": ["{kind.gvk.group}"], "resources": ["{resource}"], "verbs": ["{verb}"]}}'
        return f"add extra_rules=[{rule}] to the controller {controller}, and grant its rules again: {GRANT}"
    option = "reads" if is_read else "owns"
    return (
        f"add {option}=[{kind.code}] to the controller {controller}, and grant its rules again, which then allow to "
        f"{verb} {resource}: {GRANT}"
    )
