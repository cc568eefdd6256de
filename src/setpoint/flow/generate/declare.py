"""`@generates` and `@status_of`: make a controller of a function. Invalid options are rejected at the declaration."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar, Unpack

from setpoint.client.kinds import Kind, KindRef, kind_of
from setpoint.controller.context import Context
from setpoint.controller.declare import Declaration
from setpoint.controller.options import Settings
from setpoint.controller.suspension import SUSPENDED
from setpoint.controller.sync_context import SyncContext
from setpoint.controller.watch import Watch
from setpoint.flow.apply_set import Transform
from setpoint.flow.generate.generator import Choices, GeneratingHandler, StatusHandler
from setpoint.flow.generate.remains import INVENTORIES
from setpoint.flow.generate.rules import GeneratedKinds
from setpoint.flow.generate.sources import Generated
from setpoint.flow.marks import set_id
from setpoint.flow.policy import PRUNE, Adopt, How, Prune, Replace
from setpoint.flow.record import CONFIG_MAP
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.names import dns1123_label, qualified_name

_CLUSTER = "Cluster"
# The class of the objects.
K = TypeVar("K")
# A function of an object and its status, preceded by the context if there is a third parameter.
FunctionOf: TypeAlias = (
    Callable[[K, Any], Any] | Callable[[Context[K], K, Any], Any] | Callable[[SyncContext[K], K, Any], Any]
)


def generates(
    kind: type[K] | GroupVersionKind | str | KindRef | Watch,
    *,
    # The permitted kinds of children: they are watched, and RBAC rules are derived from them.
    kinds: Sequence[Kind[Any] | Watch],
    # The type of the condition that reports the result; empty: only the log does.
    condition: str = "",
    # The name of the controller and of its apply sets; by default that of the kind. Children belong to the set of that
    # name: after a change of the name, the handler does not know its earlier children.
    name: str = "",
    # True permits children in other namespaces than the parent's.
    cross_namespace: bool = False,
    # True permits cluster-scoped children.
    cluster_scoped: bool = False,
    # True sets owner references where permitted. The children of a deleted parent that have none are deleted by means
    # of the inventory.
    owner_references: bool = True,
    # The policy for objects that already exist.
    adopt: Adopt = Adopt.IF_UNMANAGED,
    # The policy for children that are no longer returned; False: never delete.
    prune: Prune | bool = PRUNE,
    # True takes over fields from other managers.
    force: bool = True,
    # Fields of existing children that are left to other managers, as JSON Pointers.
    ignore: Mapping[Kind[Any], Sequence[str]] | None = None,
    # The policy for changes of immutable fields, by kind.
    replace: Mapping[Kind[Any], Replace] | None = None,
    # Functions that change every child before the write.
    transforms: Sequence[Transform] = (),
    # The namespace of the inventories; by default that of the parent. Required for cluster-scoped parents, whose
    # children without a namespace are created there, too.
    namespace: str = "",
    # The finalizer that keeps a parent until its children are deleted, in reverse order of their creation; empty: none.
    finalizer: str = "",
    **settings: Unpack[Settings],
) -> Callable[[FunctionOf[K]], GeneratingHandler]:
    """Makes a controller of a function that returns the children of an object.

    `docs/options.md` describes the options; the other settings are those of every controller. Raises TypeError and
    ValueError for invalid options.

        @generates(App, kinds=[Deployment], condition="Deployed")
        def render(app: App, status: AppStatus) -> Iterator[Resource]:
            yield Deployment(metadata=child(app), spec=...)
    """
    parent = _kind_of(kind)
    name = name or parent.gvk.kind.lower()
    set_id(name, None)
    _check_condition(condition)
    for option, value in (
        ("cross_namespace", cross_namespace),
        ("cluster_scoped", cluster_scoped),
        ("owner_references", owner_references),
        ("force", force),
    ):
        if not isinstance(value, bool):
            raise TypeError(f"invalid {option} {value!r}: expected True or False")
    if not isinstance(adopt, Adopt):
        raise TypeError(f"invalid adopt {adopt!r}: expected Adopt.NEVER, Adopt.IF_UNMANAGED or Adopt.ALWAYS")
    if isinstance(prune, bool):
        prune = Prune(enabled=prune)
    if not isinstance(prune, Prune):
        raise TypeError(f"invalid prune {prune!r}: expected True, False, or Prune(limit=..., grace=...)")
    if namespace and (errors := dns1123_label(namespace)):
        raise ValueError(f"invalid namespace {namespace!r}: {errors[0]}")
    if finalizer and ("/" not in finalizer or (errors := qualified_name(finalizer))):
        raise ValueError(f"invalid finalizer {finalizer!r}: expected DOMAIN/NAME, e.g. example.com/apps")
    declared = [_kind_of(each) for each in kinds]
    if not declared:
        raise ValueError("kinds is empty: list the kinds of the children")
    in_no_namespace = _scope(parent) == _CLUSTER
    if in_no_namespace and not namespace:
        raise ValueError(f"{parent} is cluster-scoped: set the namespace of the inventories, namespace='system'")
    if not in_no_namespace and not cluster_scoped:
        for each in declared:
            if _scope(each) == _CLUSTER:
                raise ValueError(f"kinds contains {each}, which is cluster-scoped: set cluster_scoped=True")
    where = () if cross_namespace else tuple(settings.get("namespaces", ()))
    cluster = kind.cluster if isinstance(kind, Watch) else ""
    children = [
        Generated.like(each) if isinstance(each, Watch) else Generated(each, namespaces=where, cluster=cluster)
        for each in kinds
    ]
    if not any(_is_all_of(each, CONFIG_MAP) for each in children):
        at = (namespace,) if namespace else tuple(settings.get("namespaces", ()))
        children.append(Generated(CONFIG_MAP, namespaces=at, labels=INVENTORIES, cluster=cluster))
    settings["owns"] = [*children, *settings.get("owns", ())]
    rules = GeneratedKinds(name, frozenset(each.gvk for each in declared), cross_namespace, cluster_scoped)
    choices = Choices(
        condition,
        How(force=force, owner_references=owner_references, adopt=adopt),
        prune,
        ignore or {},
        replace or {},
        tuple(transforms),
        namespace,
        finalizer,
    )
    settings.setdefault("condition_events", ())  # the handler records events of its condition itself
    declaration = Declaration(name, kind, settings)
    return lambda function: GeneratingHandler(function, parent, rules, choices, declaration)


def status_of(
    kind: type[K] | GroupVersionKind | str | KindRef | Watch,
    *,
    condition: str = "",
    name: str = "",
    **settings: Unpack[Settings],
) -> Callable[[FunctionOf[K]], StatusHandler]:
    """Makes a controller of a function that computes the status of an object.

    The function changes the given status, or returns another; only changed fields are reported. `name` is by default
    that of the kind with `-status`. Raises ValueError for invalid options.

        @status_of(App, condition="Checked")
        def checked(app: App, status: AppStatus) -> None:
            status.url = f"http://{app.metadata.name}"
    """
    ref = _kind_of(kind)
    _check_condition(condition)
    settings.setdefault("condition_events", ())
    declaration = Declaration(name or f"{ref.gvk.kind.lower()}-status", kind, settings)
    return lambda function: StatusHandler(function, ref, condition, declaration)


def _kind_of(kind: Kind[Any] | Watch) -> KindRef:
    return kind_of(kind.kind if isinstance(kind, Watch) else kind)


def _is_all_of(watch: Watch, kind: KindRef) -> bool:
    return kind_of(watch.kind).gvk == kind.gvk and not (watch.namespaces or watch.labels or watch.fields)


def _scope(ref: KindRef) -> str:
    """Returns the scope in the class of a kind; empty without a class."""
    return "" if ref.cls is None else ref.cls.__resource__.scope


def _check_condition(condition: str) -> None:
    if condition and qualified_name(condition):
        raise ValueError(f"invalid condition {condition!r}: use a word in CamelCase, e.g. Deployed")
    if condition == SUSPENDED:
        raise ValueError(f"the condition {SUSPENDED} is reserved: choose another one")
