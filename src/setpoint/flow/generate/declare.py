"""`@generates` and `@status_of`: make a controller of a function. What cannot work is refused where it is said."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

from setpoint.client.kinds import Kind, KindRef, kind_of
from setpoint.controller.declare import Declaration
from setpoint.controller.options import Settings
from setpoint.controller.suspension import SUSPENDED
from setpoint.controller.watch import Watch
from setpoint.flow.apply_set import Transform
from setpoint.flow.generate.generator import Choices, GeneratingHandler, StatusHandler
from setpoint.flow.generate.remains import INVENTORIES
from setpoint.flow.generate.rules import Rules
from setpoint.flow.generate.sources import Generated
from setpoint.flow.marks import set_id
from setpoint.flow.policy import PRUNE, Adopt, How, Prune, Replace
from setpoint.flow.record import CONFIG_MAP
from setpoint.objects.names import dns1123_label, qualified_name

_CLUSTER = "Cluster"


def generates(
    kind: Kind[Any] | Watch,
    *,
    kinds: Sequence[Kind[Any] | Watch],
    condition: str = "",
    name: str = "",
    cross_namespace: bool = False,
    cluster_scoped: bool = False,
    owner_references: bool = True,
    adopt: Adopt = Adopt.IF_UNMANAGED,
    prune: Prune | bool = PRUNE,
    force: bool = True,
    ignore: Mapping[Kind[Any], Sequence[str]] | None = None,
    replace: Mapping[Kind[Any], Replace] | None = None,
    transforms: Sequence[Transform] = (),
    namespace: str = "",
    finalizer: str = "",
    **settings: Unpack[Settings],
) -> Callable[[Callable[..., Any]], GeneratingHandler]:
    """Makes a controller of a function that gives the children of an object.

    * `kinds` are the kinds that it may give, and no others: they are watched, and the rights follow from them.
    * `condition` is the type of the condition that tells how it went; without it only the log does.
    * `name` is that of the controller and of its sets, by default the kind's. Children belong to the set of that name:
      a handler that is called otherwise later does not know them.
    * `cross_namespace` allows children in other namespaces than the parent's, `cluster_scoped` those in none.
    * `owner_references` are set where they are legal; without them, or where they are not, inventories know the
      children, and a parent that is gone is cleaned up after by those.
    * `adopt` says what happens to objects that are there already, `prune` when children go that are no longer given
      (False: never), `force` whether fields are taken over from other managers, `ignore` which fields are left to
      others, `replace` what happens where a field cannot change, and `transforms` change every child before it is
      written.
    * `namespace` is where inventories are kept, if not with the parents. Parents in no namespace need it; their
      children that name none are made there, too.
    * `finalizer` keeps a parent until its children are gone: they are deleted before it, the last written first.

    The settings are those of every controller. Raises TypeError and ValueError for what cannot work.
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
            raise TypeError(f"{option} is {value!r}: say True or False")
    if not isinstance(adopt, Adopt):
        raise TypeError(f"adopt is {adopt!r}: say Adopt.NEVER, Adopt.IF_UNMANAGED or Adopt.ALWAYS")
    if isinstance(prune, bool):
        prune = Prune(enabled=prune)
    if not isinstance(prune, Prune):
        raise TypeError(f"prune is {prune!r}: say True, False, or Prune(limit=..., grace=...)")
    if namespace and (errors := dns1123_label(namespace)):
        raise ValueError(f"namespace is {namespace!r}: {errors[0]}")
    if finalizer and ("/" not in finalizer or (errors := qualified_name(finalizer))):
        raise ValueError(f"finalizer is {finalizer!r}: it should read DOMAIN/NAME, such as example.com/apps")
    declared = [_kind_of(each) for each in kinds]
    if not declared:
        raise ValueError("kinds is empty: name the kinds of the children that are given")
    in_no_namespace = _scope(parent) == _CLUSTER
    if in_no_namespace and not namespace:
        raise ValueError(f"{parent} lives in no namespace: say in which one inventories are kept, namespace='system'")
    if not in_no_namespace and not cluster_scoped:
        for each in declared:
            if _scope(each) == _CLUSTER:
                raise ValueError(f"kinds has {each}, which lives in no namespace: say cluster_scoped=True")
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
    rules = Rules(name, frozenset(each.gvk for each in declared), cross_namespace, cluster_scoped)
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
    settings.setdefault("condition_events", ())  # it tells of its condition by itself
    declaration = Declaration(name, kind, settings)
    return lambda function: GeneratingHandler(function, parent, rules, choices, declaration)


def status_of(
    kind: Kind[Any] | Watch,
    *,
    condition: str = "",
    name: str = "",
    **settings: Unpack[Settings],
) -> Callable[[Callable[..., Any]], StatusHandler]:
    """Makes a controller of a function from an object and its status to its status.

    The function writes into the status that it is given, or returns another; the fields that differ are reported, and
    no others. `name` is by default that of the kind, and `-status`. Raises ValueError for what cannot work.
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
    """Where a class says that its objects live; nothing of a kind without one."""
    return "" if ref.cls is None else ref.cls.__resource__.scope


def _check_condition(condition: str) -> None:
    if condition and qualified_name(condition):
        raise ValueError(f"condition is {condition!r}: use a word in CamelCase, such as Deployed")
    if condition == SUSPENDED:
        raise ValueError(f"the condition {SUSPENDED} is told by itself: give the handler another one")
