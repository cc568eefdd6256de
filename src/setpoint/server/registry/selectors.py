"""Label and field selectors, compiled for the stored objects of one resource.

Most objects do not match a selector, so the test must be cheap. Names and namespaces are taken from the key. For label
selectors, the bytes are scanned once, and only the labels are decoded. Only field selectors beyond the name and
namespace, which some kinds support, need the whole object.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from setpoint.merge.updater import same_version
from setpoint.objects import fields, labels
from setpoint.objects.errors import BadRequest
from setpoint.objects.tree import Object
from setpoint.server.registry.resource import Resource
from setpoint.server.watch.stored_labels import labels_of
from setpoint.store.cached import Term, Wanted
from setpoint.store.contract import Item

NAME, NAMESPACE = "metadata.name", "metadata.namespace"
# The number of terms of a selector for which indexes are considered.
_MOST_WANTED = 4


class ObjectSelector:
    """Selects the objects of a collection, optionally of one namespace, that match both selectors."""

    def __init__(
        self,
        resource: Resource,
        namespace: str,
        label_selector: labels.Selector = labels.EVERYTHING,
        field_selector: fields.Selector = fields.EVERYTHING,
        read_labels: Callable[[bytes], dict[str, str] | None] = labels_of,
    ) -> None:
        """Raises BadRequest for a field that the kind does not support as a selector."""
        check_fields(resource, field_selector)
        self._resource = resource
        self._start = len(resource.storage.prefix)
        self._labels = None if label_selector.is_everything else label_selector.matches
        self._read_labels = read_labels
        requirements = field_selector.requirements
        # The required and the excluded values by field. A selector may have thousands of terms, and every key is
        # compared with all of them.
        self._by_key: dict[str, tuple[set[str], set[str]]] = {}
        for field, value, equals in requirements:
            if field in (NAME, NAMESPACE):
                wanted, unwanted = self._by_key.setdefault(field, (set(), set()))
                (wanted if equals else unwanted).add(value)
        selectable = resource.strategy.selectable_fields
        self._by_field: list[tuple[Callable[[Object], str], str, bool]] = [
            (selectable[field], value, equals)
            for field, value, equals in requirements
            if field not in (NAME, NAMESPACE)
        ]
        name = field_selector.exact(NAME)
        namespace = namespace or field_selector.exact(NAMESPACE) or ""
        # The only key that can match, if there is one; the prefix of all keys that can match; and the prefix of the
        # collection, to which a continue token is relative. A field selector may reduce the collection to a namespace.
        self.key: str | None = None
        self.prefix = self.scope = resource.storage.scope(namespace)
        if name and (namespace or not resource.namespaced):
            self.key = self.prefix = resource.storage.key(namespace, name)
        # The terms that every match has, as far as they can be read from the stored objects: a conversion may change
        # labels and fields.
        is_stored = resource.fetch is None and (resource.crd is None or resource.convert is same_version)
        self.wanted: Sequence[Wanted] = (
            [
                *(Wanted(_name_term, value) for field, value, equals in requirements if equals and field == NAME),
                *(Wanted(label_term(label), value) for label, value in label_selector.required().items()),
                *(
                    Wanted(Term(field, resource.item, partial(_picked, selectable[field])), value)
                    for field, value, equals in requirements
                    if equals and field in selectable
                ),
            ][:_MOST_WANTED]
            if is_stored and self.key is None
            else ()
        )

    @property
    def is_everything(self) -> bool:
        """True if all objects of the collection match."""
        return self._labels is None and not self._by_key and not self._by_field

    def matches(self, key: str, value: bytes, revision: int) -> bool:
        """Returns True if the stored object matches both selectors."""
        if self._by_key and not self._matches_key(key):
            return False
        if self._labels is None and not self._by_field:
            return True
        resource = self._resource
        if not self._by_field and resource.shows(value, revision):
            return self._labels is None or self._labels(self._read_labels(value))
        tree = resource.decode(value, revision)
        if self._labels is not None and not self._labels(tree["metadata"].get("labels")):
            return False
        return all((read(tree) == wanted) is equals for read, wanted, equals in self._by_field)

    def unread(self, items: Iterable[Item]) -> list[Item]:
        """Returns the items that the key alone does not exclude."""
        return [item for item in items if not self._by_key or self._matches_key(item.key)]

    def _matches_key(self, key: str) -> bool:
        namespace, _, name = key[self._start :].rpartition("/")
        for field, (wanted, unwanted) in self._by_key.items():
            value = name if field == NAME else namespace
            if value in unwanted or (wanted and wanted != {value}):
                return False
        return True


def label_term(name: str) -> Term:
    """Returns the term of a label."""
    return Term(name, _parsed_labels, partial(_picked_label, name))


def _parsed_labels(item: Item) -> dict[str, str] | None:
    return labels_of(item.value)


def _picked_label(name: str, found: dict[str, str] | None) -> Sequence[str]:
    return (found[name],) if found and name in found else ()


def _picked(read: Callable[[Object], str], tree: Object) -> Sequence[str]:
    return (read(tree),)


def _parsed_name(item: Item) -> str:
    return item.key.rpartition("/")[2]


_name_term = Term(NAME, _parsed_name, lambda name: (name,))


def check_fields(resource: Resource, selector: fields.Selector) -> None:
    """Raises BadRequest if the kind does not support a field of the selector."""
    selectable = resource.strategy.selectable_fields
    own_words = resource.is_custom or bool(selectable)
    for requirement in selector.requirements:
        field = requirement.field
        if field == NAME or field in selectable:
            continue
        if field == NAMESPACE and (resource.namespaced or not own_words) and resource.strategy.selects_namespace:
            continue
        if resource.kind == "Job" and resource.group == "batch":
            raise BadRequest(f'field label "{field}" not supported for Job')
        if resource.kind == "ResourceSlice" and not resource.is_custom:
            raise BadRequest(f"field label not supported for {resource.api_version}, Kind={resource.kind}: {field}")
        if own_words:
            raise BadRequest(f"field label not supported: {field}")
        raise fields.unknown_field(field)
