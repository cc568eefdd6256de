"""The common code of the history commands: finding the object, parsing moments, and reporting missing history."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from setpoint.cli.support.errors import FAILED, NOT_FOUND, USAGE, Failure

if TYPE_CHECKING:
    from setpoint.client.client import Client
    from setpoint.client.discovery import APIResource
    from setpoint.past.moment import Moment
    from setpoint.past.object_ref import ObjectReference

# The kinds that run processes.
_RUNNING = frozenset({"Executable", "ExecutableReplicaSet", "Container", "ContainerExec", "Task"})


class Times(NamedTuple):
    """The current time and the local time zone."""

    now: datetime
    zone: tzinfo

    @classmethod
    def of(cls, client: "Client") -> "Times":
        now = client.clock.now()
        zone = now.astimezone().tzinfo
        assert zone is not None
        return cls(now, zone)

    def moment(self, text: str) -> "Moment | None":
        """Returns the moment that an option names, or None if the option is empty. Raises MomentError."""
        from setpoint.past.moment import parse_moment

        return parse_moment(text, self.now, self.zone) if text else None

    def shown(self, moment: datetime) -> str:
        from setpoint.past.why.explanation_text import clock_time

        return clock_time(moment, self.zone, self.now)


def moment_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options `--since` and `--until` to a command."""
    command = click.option(
        "--until", metavar="WHEN", default="", help="Only changes up to a revision or time, such as 14:03 or 5m (ago)."
    )(command)
    return click.option(
        "--since", metavar="WHEN", default="", help="Only changes since a revision or time, such as 14:03 or 5m (ago)."
    )(command)


@contextmanager
def history_failures() -> Iterator[None]:
    """Turns errors about moments and missing history into Failures."""
    from setpoint.past.moment import MomentError
    from setpoint.past.queries import NoHistory, NotInHistory

    try:
        yield
    except MomentError as error:
        raise Failure(str(error), USAGE) from None
    except NotInHistory as error:
        raise Failure(str(error), NOT_FOUND) from None
    except NoHistory as error:
        raise Failure(str(error), FAILED) from None


async def find(client: "Client", words: Sequence[str]) -> "ObjectReference":
    """Returns the object that `KIND/NAME`, `KIND NAME` or the bare `NAME` of a workload selects. Raises Failure."""
    from setpoint.cli.support.resource_args import Kinds
    from setpoint.past.object_ref import place_of

    kinds = await Kinds.of(client)
    if len(words) == 1 and "/" not in words[0]:
        return await _by_name(client, kinds, words[0])
    kind, _, name = words[0].partition("/")
    rest = [name, *words[1:]] if name else list(words[1:])
    if len(rest) != 1 or not rest[0]:
        raise Failure("expected exactly one object: KIND/NAME or KIND NAME", USAGE)
    found = kinds.one(kind)
    if found is None:
        [found, *_] = kinds.find(kind)
        raise Failure(f"{kind} is a category: specify one kind, e.g. {found.plural}/{rest[0]}", USAGE)
    return place_of(found, rest[0], client.namespace)


async def _by_name(client: "Client", kinds: Any, name: str) -> "ObjectReference":
    """Returns the workload of this name. Raises Failure."""
    from setpoint.past.object_ref import WORKLOADS, ObjectReference

    workloads = [each for each in kinds.listable() if WORKLOADS in each.categories]
    known: list[str] = []
    found: list[ObjectReference] = []
    # A Service often has the name of its workload: kinds that run processes take precedence.
    for runs in (True, False):
        for each in workloads:
            if (each.gvk.kind in _RUNNING) is runs:
                names = await _names(client, each)
                known += names
                found += [ObjectReference(each, names[name])] if name in names else []
        if found:
            break
    if len(found) == 1:
        return found[0]
    if found:
        choices = " or ".join(f"{kinds.word_for(each.resource)}/{name}" for each in found)
        raise Failure(f"{name} is ambiguous: specify {choices}", USAGE)
    raise Failure(_unknown_message(kinds, name, known), NOT_FOUND)


async def _names(client: "Client", resource: "APIResource") -> dict[str, str]:
    """Returns the names of objects, also by the numbers of replicas (api.2)."""
    from setpoint.cli.workloads.inventory import replica_name
    from setpoint.client.kinds import KindRef
    from setpoint.objects.errors import APIError

    try:
        listed = await client.list(KindRef(resource.gvk, metadata_only=True))
    except APIError:
        return {}  # kinds that the user may not list are skipped
    found = {number: item["metadata"]["name"] for item in listed.items if (number := replica_name(item))}
    return found | {item["metadata"]["name"]: item["metadata"]["name"] for item in listed.items}


def _unknown_message(kinds: Any, name: str, known: Sequence[str]) -> str:
    if kinds.one(name) is not None:
        return f"no {name} selected: specify {name}/NAME"
    import difflib

    close = difflib.get_close_matches(name, sorted(set(known)), 1)
    hint = f"did you mean {close[0]}?" if close else "use KIND/NAME for other kinds and deleted objects"
    return f"no workload named {name!r}; {hint}"
