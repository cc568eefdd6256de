"""Sets of field paths, stored as the trie that FieldsV1 encodes.

A set is a dict from path elements (see `pathelement`) to nodes, so decoding `managedFields` costs no conversion and the
set operations are traversals of dicts. In a node, `{}` means that the path is a member without members below; `"."`
marks a path that is a member and has members below; a node with children and without a mark is only an intermediate
one. No node is empty without being a member. The empty set is the empty dict.

Sets are immutable: every operation returns a set that may share nodes with its operands. The order of elements in a
dict has no meaning; encoders sort the set.
"""

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from setpoint.merge import pathelement
from setpoint.merge.pathelement import PathElementError
from setpoint.objects.tree import Json

FieldSet: TypeAlias = dict[str, Any]
Path: TypeAlias = tuple[str, ...]

# Marks, inside its node, a member that has members below.
MEMBER = "."

# The node of a member without members below. Shared, so it must never be changed.
LEAF: FieldSet = {}
EMPTY: FieldSet = {}


class FieldSetError(ValueError):
    """The value is not a set of fields in the FieldsV1 encoding."""


def is_member(node: FieldSet) -> bool:
    """Returns True if the path of the node is itself in the set."""
    return not node or MEMBER in node


def as_member(node: FieldSet) -> FieldSet:
    """Returns the node with its own path in the set."""
    return node if not node or MEMBER in node else {MEMBER: LEAF, **node}


def from_paths(*paths: Sequence[str]) -> FieldSet:
    """Returns the set of these paths, each a sequence of elements. The path of the whole object is never a member."""
    found: FieldSet = EMPTY
    for path in paths:
        if path:
            node = LEAF
            for element in reversed(path):
                node = {element: node}
            found = union(found, node)
    return found


def has(fields: FieldSet, path: Sequence[str]) -> bool:
    """Returns True if exactly this path is a member."""
    node: FieldSet | None = fields
    for element in path:
        node = node.get(element) if node else None
        if node is None:
            return False
    return bool(path) and node is not None and is_member(node)


def below(fields: FieldSet, element: str) -> FieldSet:
    """Returns the members below an element, without the element itself."""
    node: FieldSet = fields.get(element, EMPTY)
    return {key: child for key, child in node.items() if key != MEMBER} if MEMBER in node else node


def union(left: FieldSet, right: FieldSet) -> FieldSet:
    """Returns the paths in either set."""
    if not left or left is right:
        return right
    if not right:
        return left
    return _union(left, right)


def union_all(sets: Sequence[FieldSet]) -> FieldSet:
    """Returns the paths in any of the sets. Combined in pairs, because a running union would be copied repeatedly."""
    found = list(sets)
    while len(found) > 1:
        pairs = zip(found[::2], found[1::2], strict=False)
        found = [*(union(left, right) for left, right in pairs), *(found[-1:] if len(found) % 2 else ())]
    return found[0] if found else EMPTY


def nodes_of(elements: FieldSet, owners: Sequence[FieldSet]) -> dict[str, list[FieldSet]]:
    """Returns, for each element, its nodes in the sets that contain the element, in order. The cost depends on the size
    of the sets, not on their number."""
    found: dict[str, list[FieldSet]] = {}
    for owner in owners:
        for element in owner if len(owner) < len(elements) else elements:
            if element in owner and element in elements:
                found.setdefault(element, []).append(owner[element])
    return found


def _union(left: FieldSet, right: FieldSet) -> FieldSet:
    if left is right:
        return left
    if not left:
        return as_member(right)
    if not right:
        return as_member(left)
    found = left.copy()
    for element, node in right.items():
        other = found.get(element)
        found[element] = node if other is None else _union(other, node)
    return found


def difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """Returns the paths of the left set that are not in the right one; a path does not include the paths below."""
    if not right or not left:
        return left
    return _difference(left, right) or EMPTY


def _difference(left: FieldSet, right: FieldSet) -> FieldSet | None:
    if left is right:
        return None
    if not right:
        return {element: node for element, node in left.items() if element != MEMBER} if MEMBER in left else left
    found = {}
    for element, node in left.items():
        other = right.get(element)
        if other is None:
            found[element] = node
        elif not node:  # a leaf, and so is the mark
            if other and MEMBER not in other:
                found[element] = node
        elif (rest := _difference(node, other)) is not None:
            found[element] = rest
    return _node(found)


def _node(found: FieldSet) -> FieldSet | None:
    """Returns the members below an element as its node; None if there are none."""
    if not found:
        return None
    return LEAF if len(found) == 1 and MEMBER in found else found


def recursive_difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """Returns the paths of the left set that are neither in the right one nor below one of its paths."""
    if not right or not left:
        return left
    found = {}
    for element, node in left.items():
        other = right.get(element)
        if other is None:
            found[element] = node
        elif not is_member(other) and element != MEMBER:
            rest = _node(recursive_difference(node, other)) if node else node
            if rest is not None:
                found[element] = rest
    return found


def is_subset(left: FieldSet, right: FieldSet) -> bool:
    """Returns True if every path of the left set is in the right one."""
    for element, node in left.items():
        other = right.get(element)
        if other is None:
            return False
        if node is other or node == other:
            continue
        if not (is_member(other) if not node else is_subset(node, other)):
            return False
    return True


def intersection(left: FieldSet, right: FieldSet) -> FieldSet:
    """Returns the paths in both sets."""
    if not left or not right:
        return EMPTY
    return _intersection(left, right) or EMPTY


def _intersection(left: FieldSet, right: FieldSet) -> FieldSet | None:
    if left is right:
        return left
    if not left:
        return LEAF if is_member(right) else None
    if not right:
        return LEAF if MEMBER in left else None
    if len(left) > len(right):
        left, right = right, left
    found = {}
    for element, node in left.items():
        other = right.get(element)
        if other is not None:
            both = _intersection(node, other)
            if both is not None:
                found[element] = both
    return _node(found)


def leaves(fields: FieldSet) -> FieldSet:
    """Returns the members without members below them."""
    return {element: leaves(node) for element, node in fields.items() if element != MEMBER}


def paths(fields: FieldSet) -> Iterator[Path]:
    """Yields every member, in the order of conflict messages: at each level first its members, then those below."""
    return _paths(fields, ())


def _paths(fields: FieldSet, prefix: Path) -> Iterator[Path]:
    elements = sorted((element for element in fields if element != MEMBER), key=pathelement.sort_key)
    for element in elements:
        if is_member(fields[element]):
            yield (*prefix, element)
    for element in elements:
        if fields[element]:
            yield from _paths(fields[element], (*prefix, element))


def path_text(path: Sequence[str]) -> str:
    """Formats a path for messages: `.spec.ports[port=80,protocol="TCP"].name`."""
    return "".join(map(pathelement.element_text, path))


def parse(fields: Json) -> FieldSet:
    """Parses FieldsV1 JSON to a set in canonical form. Elements of unknown kinds are omitted."""
    found, _ = _parse(fields)
    return found


def _parse(fields: Json) -> tuple[FieldSet, bool]:
    """Returns the members below a node, and True if the node itself is marked as a member."""
    if fields is None:
        return EMPTY, False
    if type(fields) is not dict:
        raise FieldSetError(f"expected an object of path elements, got {type(fields).__name__}")
    found: FieldSet = {}
    marked = False
    for text, value in fields.items():
        if text == MEMBER:
            marked = True
            continue
        try:
            element = pathelement.parse(text)
        except PathElementError as error:
            raise FieldSetError(f"parsing key as path element: {error}") from None
        if element is None:
            continue
        children, member = _parse(value)
        node = as_member(children) if member else children
        found[element] = _union(found[element], node) if element in found else node
    return found, marked
