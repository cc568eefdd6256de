"""The terms of pod affinity and anti-affinity, compiled once for each pod template."""

from functools import lru_cache
from typing import NamedTuple

import msgspec

from setpoint.objects.labels import Labels, Selector, from_object
from setpoint.objects.tree import Object

_REQUIRED, _PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)
_encode = msgspec.json.Encoder(order="sorted").encode
_NO_LABELS: Labels = {}


class AffinityTerm(NamedTuple):
    """The pods of a term, and the label of nodes with the topology domains as values."""

    topology_key: str
    selector: Selector
    namespaces: frozenset[str]
    # None without a selector; an empty one selects all namespaces.
    namespace_selector: Selector | None
    # The weight of a preferred term.
    weight: int

    def matches(self, namespace: str, labels: Labels, namespace_labels: Labels) -> bool:
        """Returns True if a pod is selected."""
        if namespace not in self.namespaces and not (
            self.namespace_selector is not None and self.namespace_selector.matches(namespace_labels)
        ):
            return False
        return self.selector.matches(labels)


class AffinityTerms(NamedTuple):
    """All terms of a pod."""

    required: tuple[AffinityTerm, ...] = ()
    required_anti: tuple[AffinityTerm, ...] = ()
    preferred: tuple[AffinityTerm, ...] = ()
    preferred_anti: tuple[AffinityTerm, ...] = ()

    @property
    def has_namespace_selectors(self) -> bool:
        return any(term.namespace_selector is not None for terms in self for term in terms)


NO_TERMS = AffinityTerms()


def terms_of(pod: Object) -> AffinityTerms:
    """Returns the terms of a pod."""
    affinity = pod["spec"].get("affinity")
    if not affinity or not (affinity.get("podAffinity") or affinity.get("podAntiAffinity")):
        return NO_TERMS
    given = affinity.get("podAffinity"), affinity.get("podAntiAffinity")
    return _compiled(pod["metadata"].get("namespace", ""), _encode(given))


@lru_cache(maxsize=4096)
def _compiled(namespace: str, encoded: bytes) -> AffinityTerms:
    together, apart = msgspec.json.decode(encoded)

    def required(affinity: Object | None) -> tuple[AffinityTerm, ...]:
        return tuple(_term(each, namespace, 0) for each in (affinity or {}).get(_REQUIRED) or ())

    def preferred(affinity: Object | None) -> tuple[AffinityTerm, ...]:
        found = (affinity or {}).get(_PREFERRED) or ()
        return tuple(_term(each["podAffinityTerm"], namespace, each["weight"]) for each in found)

    return AffinityTerms(required(together), required(apart), preferred(together), preferred(apart))


def _term(term: Object, namespace: str, weight: int) -> AffinityTerm:
    named, chosen = term.get("namespaces") or (), term.get("namespaceSelector")
    namespaces = frozenset(named if named or chosen is not None else (namespace,))
    return AffinityTerm(
        term["topologyKey"],
        from_object(term.get("labelSelector")),
        namespaces,
        None if chosen is None else from_object(chosen),
        weight,
    )


def labels_of(pod: Object) -> Labels:
    """Returns the labels of a pod."""
    found: Labels = pod["metadata"].get("labels") or _NO_LABELS
    return found
