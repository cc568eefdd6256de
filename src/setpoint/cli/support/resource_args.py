"""Parses arguments such as `pods`, `deploy/web` or `executables,tasks` to resources and names.

Kinds are resolved as by kubectl: by plural, singular, kind or short name, with the group (and version) if ambiguous
(`services.usvc-dev.developer.microsoft.com`), and by category (`all`, `workloads`).
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from setpoint.cli.support.errors import NOT_FOUND, USAGE, Failure
from setpoint.client.discovery import APIResource, Discovered
from setpoint.client.kinds import KindRef

if TYPE_CHECKING:
    from setpoint.client.client import Client


class Selection(NamedTuple):
    """Objects of one resource: those with these names, or all. `word` is the shortest unambiguous name of the
    resource.
    """

    resource: APIResource
    names: tuple[str, ...] = ()
    word: str = ""

    @property
    def ref(self) -> KindRef:
        return KindRef(self.resource.gvk)


class Kinds:
    """The resources of a server, by name."""

    def __init__(self, resources: Iterable[APIResource]) -> None:
        # The preferred version of a kind comes first.
        self.resources = list(resources)
        self._found = Discovered(self.resources, {})

    @classmethod
    async def of(cls, client: "Client") -> "Kinds":
        """Returns the resources of the server."""
        return cls(await client.mapper.resources())

    def find(self, word: str) -> list[APIResource]:
        """Returns the resource of a name, or all resources of a category. Raises Failure."""
        if found := self.matching(word):
            return found
        raise Failure(f"the server doesn't have a resource type {word!r}{self._suggestion(word)}", NOT_FOUND)

    def matching(self, word: str) -> list[APIResource]:
        """Returns the resources of a name or category; an empty list if unknown."""
        found = self.one(word)
        if found is not None:
            return [found]
        return [each for each in self.listable() if word.lower() in each.categories]

    def one(self, word: str) -> APIResource | None:
        """Returns the resource of a name, or None."""
        return self._found.named(word)

    def word_for(self, resource: APIResource) -> str:
        """Returns the shortest unambiguous name of a resource: its kind, with as much of the group as needed."""
        kind, parts = resource.gvk.kind.lower(), resource.gvk.group.split(".")
        words = (".".join((kind, *parts[:length])) for length in range(len(parts) + 1))
        return next((word for word in words if self.one(word) == resource), f"{kind}.{resource.gvk.group}")

    def selection(self, resource: APIResource, names: tuple[str, ...] = ()) -> Selection:
        return Selection(resource, names, self.word_for(resource))

    def listable(self) -> list[APIResource]:
        """Returns all resources that can be listed, each in one version."""
        return [each for each in self._found.preferred() if "list" in each.verbs]

    def _suggestion(self, word: str) -> str:
        from setpoint.cli.output.words import did_you_mean

        name = word.partition(".")[0].lower()
        known = {known for each in self.resources for known in (each.plural, *each.short_names) if known}
        return f"; {did_you_mean(name, known) or 'is its definition installed?'}"


def select(kinds: Kinds, arguments: Sequence[str], *, needs_names: bool = False) -> list[Selection]:
    """Parses the arguments of a command: `KIND[,KIND…] [NAME…]`, or `KIND/NAME…`. Raises Failure."""
    if not arguments:
        raise Failure("specify KIND, KIND NAME or KIND/NAME", USAGE)
    if any("/" in argument for argument in arguments):
        found = [_pair(kinds, argument) for argument in arguments]
        return merged(found)
    words, names = arguments[0].split(","), tuple(arguments[1:])
    found = [kinds.selection(resource, names) for word in words if word for resource in kinds.find(word)]
    if needs_names and not names:
        raise Failure(f"no {arguments[0]} selected: specify a name, e.g. {arguments[0]}/NAME", USAGE)
    return merged(found)


def _pair(kinds: Kinds, argument: str) -> Selection:
    word, slash, name = argument.partition("/")
    if not slash or not word or not name:
        raise Failure(f"invalid argument {argument!r}: expected KIND/NAME like the others", USAGE)
    found = kinds.one(word)
    if found is None:
        [found, *_] = kinds.find(word)
        raise Failure(f"{argument!r}: {word} is a category; specify one kind, e.g. {found.plural}/{name}", USAGE)
    return kinds.selection(found, (name,))


def merged(selections: Iterable[Selection]) -> list[Selection]:
    """Merges the selections: one per resource, in order, each name once."""
    found: dict[tuple[str, str, str], Selection] = {}
    for each in selections:
        key = (each.resource.gvk.group, each.resource.gvk.version, each.resource.plural)
        known = found.get(key)
        names = each.names if known is None else (*known.names, *each.names)
        found[key] = each._replace(names=tuple(dict.fromkeys(names)))
    return list(found.values())
