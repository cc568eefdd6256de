"""What `pods`, `deploy/web` or `executables,tasks` on a command line mean: resources of the server, and names.

Kinds are found as kubectl finds them: by plural, singular, kind or short name, with the group (and version) where one
alone would not do (`services.usvc-dev.developer.microsoft.com`), and by category (`all`, `workloads`).
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from setpoint.cli.support.errors import NOT_FOUND, USAGE, Failure
from setpoint.client.discovery import APIResource
from setpoint.client.kinds import KindRef

if TYPE_CHECKING:
    from setpoint.client.client import Client


class Selection(NamedTuple):
    """Objects of one resource: those with these names, or all. `word` is the shortest that means it."""

    resource: APIResource
    names: tuple[str, ...] = ()
    word: str = ""

    @property
    def ref(self) -> KindRef:
        return KindRef(self.resource.gvk)


class Kinds:
    """The resources of a server, by what people call them."""

    def __init__(self, resources: Iterable[APIResource]) -> None:
        # A kind in several versions counts in the preferred one, which comes first.
        self.resources = list(resources)

    @classmethod
    async def of(cls, client: "Client") -> "Kinds":
        """Those of the server."""
        return cls(await client.mapper.resources())

    def find(self, word: str) -> list[APIResource]:
        """What a word means: one resource, or all of a category. Raises Failure."""
        if found := self.meant(word):
            return found
        raise Failure(f"the server has no kind {word!r}{self._suggestion(word)}", NOT_FOUND)

    def meant(self, word: str) -> list[APIResource]:
        """The same; nothing where there is no such kind."""
        found = self.one(word)
        if found is not None:
            return [found]
        return [each for each in self.listable() if word.lower() in each.categories]

    def one(self, word: str) -> APIResource | None:
        """The resource that a word means, if there is one."""
        name, _, rest = word.partition(".")
        name = name.lower()
        for test in (_is_named, _is_short):
            for each in self.resources:
                if test(each, name) and _is_of(each, rest):
                    return each
        return None

    def word_for(self, resource: APIResource) -> str:
        """The shortest word that means a resource: its kind, with as much of the group as it takes."""
        kind, parts = resource.gvk.kind.lower(), resource.gvk.group.split(".")
        words = (".".join((kind, *parts[:length])) for length in range(len(parts) + 1))
        return next((word for word in words if self.one(word) == resource), f"{kind}.{resource.gvk.group}")

    def selection(self, resource: APIResource, names: tuple[str, ...] = ()) -> Selection:
        return Selection(resource, names, self.word_for(resource))

    def _preferred(self) -> list[APIResource]:
        found: dict[tuple[str, str], APIResource] = {}
        for each in self.resources:
            found.setdefault((each.gvk.group, each.plural), each)
        return list(found.values())

    def listable(self) -> list[APIResource]:
        """Everything that can be listed, each in one version."""
        return [each for each in self._preferred() if "list" in each.verbs]

    def _suggestion(self, word: str) -> str:
        from setpoint.cli.output.words import did_you_mean

        name = word.partition(".")[0].lower()
        known = {known for each in self.resources for known in (each.plural, *each.short_names) if known}
        return f"; {did_you_mean(name, known) or 'is its definition installed?'}"


def _is_named(resource: APIResource, name: str) -> bool:
    return name in (resource.plural, resource.singular, resource.gvk.kind.lower())


def _is_short(resource: APIResource, name: str) -> bool:
    return name in resource.short_names


def _is_of(resource: APIResource, rest: str) -> bool:
    """Whether what follows the first dot is the group, its beginning, or a version and the group."""
    group, version = resource.gvk.group, resource.gvk.version
    return (
        not rest or rest in (group, f"{version}.{group}", version if not group else "") or group.startswith(f"{rest}.")
    )


def select(kinds: Kinds, arguments: Sequence[str], *, needs_names: bool = False) -> list[Selection]:
    """What the arguments of a command mean: `KIND[,KIND…] [NAME…]`, or `KIND/NAME…`. Raises Failure."""
    if not arguments:
        raise Failure("say which: KIND, KIND NAME or KIND/NAME", USAGE)
    if any("/" in argument for argument in arguments):
        found = [_pair(kinds, argument) for argument in arguments]
        return merged(found)
    words, names = arguments[0].split(","), tuple(arguments[1:])
    found = [kinds.selection(resource, names) for word in words if word for resource in kinds.find(word)]
    if needs_names and not names:
        raise Failure(f"which {arguments[0]}? Give names, as in {arguments[0]}/NAME", USAGE)
    return merged(found)


def _pair(kinds: Kinds, argument: str) -> Selection:
    word, slash, name = argument.partition("/")
    if not slash or not word or not name:
        raise Failure(f"{argument!r} should read KIND/NAME, as the others do", USAGE)
    found = kinds.one(word)
    if found is None:
        [found, *_] = kinds.find(word)
        raise Failure(f"{argument!r}: {word} is a category; name one kind, such as {found.plural}/{name}", USAGE)
    return kinds.selection(found, (name,))


def merged(selections: Iterable[Selection]) -> list[Selection]:
    """One selection for each resource, in the order they were named in, and each name once."""
    found: dict[tuple[str, str, str], Selection] = {}
    for each in selections:
        key = (each.resource.gvk.group, each.resource.gvk.version, each.resource.plural)
        known = found.get(key)
        names = each.names if known is None else (*known.names, *each.names)
        found[key] = each._replace(names=tuple(dict.fromkeys(names)))
    return list(found.values())
