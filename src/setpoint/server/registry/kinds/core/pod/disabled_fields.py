"""Fields of pods that belong to features that are off."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from setpoint.objects.tree import Json, Object
from setpoint.server.registry.kinds.printers.cells import lookup

_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HOOKS = ("postStart", "preStop")
# The sources of files with owners, of which only the first one counts.
_FILES = ("secret", "configMap", "downwardAPI", "projected")
_PROJECTED = ("secret", "downwardAPI", "configMap", "serviceAccountToken", "clusterTrustBundle", "podCertificate")

# The objects of a pod spec that may have the fields of one feature.
_Holders = Callable[[Object], Iterator[Object]]


def drop_disabled_pod_fields(tree: Object, old: Object | None, path: Sequence[str]) -> None:
    """Removes the fields of features that are off from the pod spec at a path, in place, unless the stored object has
    fields of the same feature."""
    spec, stored = lookup(tree, *path), lookup(old or {}, *path) or {}
    if not spec:
        return
    for holders, names in _FEATURES:
        found = [holder for holder in holders(spec) if not names.isdisjoint(holder)]
        if found and all(map(names.isdisjoint, holders(stored))):
            for holder in found:
                for name in names & holder.keys():
                    del holder[name]
            if holders is _lifecycles:
                _drop_empty_lifecycles(spec)


def _whole(spec: Object) -> Iterator[Object]:
    yield spec


def _containers(spec: Object) -> Iterator[Object]:
    for field in _CONTAINERS:
        yield from spec.get(field) or ()


def _lifecycles(spec: Object) -> Iterator[Object]:
    return _inside(_containers(spec), "lifecycle")


def _drop_empty_lifecycles(spec: Object) -> None:
    for container in _containers(spec):
        if container.get("lifecycle") == {}:
            del container["lifecycle"]


def _calls(spec: Object) -> Iterator[Object]:
    for name in _PROBES:
        yield from _inside(_inside(_containers(spec), name), "grpc")


def _gets(spec: Object) -> Iterator[Object]:
    for name in _PROBES:
        yield from _inside(_inside(_containers(spec), name), "httpGet")
    for name in _HOOKS:
        yield from _inside(_inside(_lifecycles(spec), name), "httpGet")


def _mounts(spec: Object) -> Iterator[Object]:
    for container in _containers(spec):
        yield from container.get("volumeMounts") or ()


def _directories(spec: Object) -> Iterator[Object]:
    return _inside(spec.get("volumes") or (), "emptyDir")


def _files(spec: Object) -> Iterator[Object]:
    """Yields the volumes, sources and files that may name their owner."""
    for volume in spec.get("volumes") or ():
        source = _first(volume, _FILES)
        yield source
        yield from source.get("items") or ()
        for projection in source.get("sources") or ():
            part = _first(projection, _PROJECTED)
            yield part
            yield from part.get("items") or ()


def _first(tree: Object, names: Sequence[str]) -> Object:
    found: Json = next((tree[name] for name in names if tree.get(name) is not None), {})
    return found if type(found) is dict else {}


def _inside(trees: Iterable[Object], name: str) -> Iterator[Object]:
    for tree in trees:
        if type(found := tree.get(name)) is dict:
            yield found


_FEATURES: Sequence[tuple[_Holders, frozenset[str]]] = (
    (_whole, frozenset(("schedulingGroup",))),
    (_whole, frozenset(("evictionResponders",))),
    (_lifecycles, frozenset(("stopSignal",))),
    (_calls, frozenset(("mode",))),
    (_gets, frozenset(("protocol",))),
    (_mounts, frozenset(("bindMountOptions",))),
    (_directories, frozenset(("mode",))),
    (_files, frozenset(("defaultUser", "user"))),
)
