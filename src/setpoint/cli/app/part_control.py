"""The common code of `setpoint stop`, `start` and `restart`: selects the parts, orders them, and waits for each."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import click

from setpoint.cli.output.terminal import terminal
from setpoint.cli.support.completion import workload_names
from setpoint.cli.support.connection import FIELD_MANAGER, Server, connect, server_options
from setpoint.cli.support.durations import seconds_option
from setpoint.cli.support.errors import FAILED, TIMED_OUT, USAGE, Failure
from setpoint.cli.support.group_option import group_option
from setpoint.objects import conditions

if TYPE_CHECKING:
    from setpoint.cli.output.progress import ProgressLine
    from setpoint.cli.workloads.inventory import Workload
    from setpoint.client.client import Client

# The interval at which the state of a part is polled.
_LOOK_SECONDS = 0.1
HowFar: TypeAlias = Literal["there", "under way", "failed"]


class ControlOptions(NamedTuple):
    """The options of the command line besides the names."""

    everything: bool
    waits: bool
    seconds: float | None
    groups: tuple[str, ...] = ()


class Deed(NamedTuple):
    """An action on parts, performed on each of them in order."""

    # The command, and the participle of its action, present and past ("stopping", "stopped").
    command: str
    doing: str
    done: str
    # True if the dependencies of a part come first.
    forwards: bool
    # Returns True if --all includes the part.
    is_one_of_all: "Callable[[Workload], bool]"
    # Returns the reason why no action is needed, or an empty string. Raises Failure if the action is not possible.
    idle: "Callable[[Workload, Sequence[Workload]], str]"
    # Performs the action. Returns a token that identifies the request.
    act: "Callable[[Client, Workload], Awaitable[str]]"
    reached: "Callable[[Workload, str], HowFar]"


def steering_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the arguments of such a command: `names`, `how` and `server`."""

    def inner(
        names: tuple[str, ...],
        groups: tuple[str, ...],
        everything: bool,
        waits: bool,
        seconds: float | None,
        server: Server,
    ) -> Any:
        if bool(names or groups) == everything:
            raise Failure("specify NAME..., --group or --all", USAGE)
        return command(names, ControlOptions(everything, waits, seconds, groups), server)

    inner.__doc__, inner.__name__ = command.__doc__, command.__name__
    inner = server_options(inner)
    inner = seconds_option("--timeout", "seconds", default="60s", help="Time to wait; 0 waits indefinitely.")(inner)
    inner = click.option("--wait/--no-wait", "waits", default=True, help="Wait until the action has completed.")(inner)
    inner = group_option(inner)
    inner = click.option("-a", "--all", "everything", is_flag=True, help="Select all parts of the app.")(inner)
    return click.argument("names", metavar="[NAME...]", nargs=-1, shell_complete=workload_names)(inner)


async def steer(server: Server, names: Sequence[str], how: ControlOptions, deed: Deed) -> "list[Workload]":
    """Performs the action on the parts and returns the affected ones. Raises Failure if some do not reach the wanted
    state.
    """
    from setpoint.cli.workloads.inventory import find, in_groups, read_workloads

    async with connect(server) as connected:
        # `why` shows the field manager as the cause of the change.
        client = connected.with_options(field_manager=f"{FIELD_MANAGER} {deed.command}")
        workloads = await read_workloads(client)
        every = filter(deed.is_one_of_all, in_groups(workloads, how.groups))
        found = list(every) if how.everything or how.groups else []
        found += [each for name in names for each in find(workloads, name)]
        chosen = list({each.tree["metadata"]["uid"]: each for each in found}.values())
        doings = [_Operation(client, deed, each, how.waits, deed.idle(each, workloads)) for each in chosen]
        await _run_in_order(client, deed, doings, how)
        troubles = [each for each in doings if each.problem]
        if troubles:
            raise Failure("\n".join(each.problem for each in troubles), max(each.code for each in troubles))
        return [each.workload for each in doings if not each.idle]


async def _run_in_order(client: "Client", deed: Deed, doings: "Sequence[_Operation]", how: ControlOptions) -> None:
    from setpoint.cli.output.progress import progress
    from setpoint.objects.clock import timeout
    from setpoint.workload.dependencies import stop_order

    by_uid = {each.workload.tree["metadata"]["uid"]: each for each in doings}
    layers = stop_order([each.workload.tree for each in doings])
    if deed.forwards:
        layers.reverse()
    names = ", ".join(each.workload.called for each in doings if not each.idle)
    async with progress(f"{deed.doing} {names}", client.clock) as shown:
        try:
            async with timeout(client.clock, how.seconds) if how.seconds and how.waits else nullcontext():
                for layer in layers:
                    await asyncio.gather(*(by_uid[tree["metadata"]["uid"]].run(shown) for tree in layer))
        except TimeoutError:
            for each in doings:
                each.is_late(how.seconds or 0.0)


class _Operation:
    """An action on one part."""

    def __init__(self, client: "Client", deed: Deed, workload: "Workload", waits: bool, idle: str) -> None:
        self._client, self._deed, self._waits = client, deed, waits
        self.workload, self.idle = workload, idle
        self._done = bool(idle)
        # The error message if the action failed, and its exit code.
        self.problem, self.code = "", FAILED

    async def run(self, shown: "ProgressLine") -> None:
        clock, place, called = self._client.clock, terminal(), self.workload.called
        if self.idle:
            place.echo(f"{called} {self.idle}")
            return
        began = clock.monotonic()
        request = await self._deed.act(self._client, self.workload)
        if not self._waits:
            self._done = True
            place.echo(f"{called} is {self._deed.doing}")
            return
        how_far: HowFar = "under way"
        while how_far == "under way":
            how_far = await self._progress(request)
            if how_far == "under way":
                shown.text = f"{self._deed.doing} {called}: {self.workload.judgement.text}"
                await clock.sleep(_LOOK_SECONDS)
        self._done = True
        if how_far == "failed":
            self.problem = f"{called} is not {self._deed.done}: {_why(self.workload)} · setpoint why {called}"
        else:
            seconds = clock.monotonic() - began
            place.echo(f"{called} {place.paint(self._deed.done, 'good')} ({seconds:.1f}s)")

    async def _progress(self, request: str) -> HowFar:
        from setpoint.cli.workloads.inventory import read_again

        found = await read_again(self._client, self.workload)
        if found is None:
            raise Failure(f"{self.workload.called} was deleted in the meantime")
        self.workload = found
        return self._deed.reached(found, request)

    def is_late(self, seconds: float) -> None:
        if not self._done:
            says = self.workload.judgement.text
            called = self.workload.called
            self.problem = f"{called} is not {self._deed.done} after {seconds:g} s: {says} · setpoint why {called}"
            self.code = TIMED_OUT


def _why(workload: "Workload") -> str:
    """Returns the reason of the failure, from the part or from its first failed replica."""
    failed = next((child for child in workload.children if has_failed(child)), workload)
    text = failed.judgement.why or failed.judgement.state
    return text if failed is workload else f"{failed.called}: {text}"


# Predicates on parts that the actions use


def reports_suspended(workload: "Workload") -> bool:
    """Returns True if the Ready condition has the reason Suspended."""
    return bool(conditions.of(workload.tree, "Ready").get("reason") == "Suspended")


def is_current(workload: "Workload") -> bool:
    """Returns True if the status reflects the current generation and the last requested restart."""
    from setpoint.objects import meta
    from setpoint.workload.kinds.api_names import RESTART_REQUESTED

    requested = meta.annotations(workload.tree).get(RESTART_REQUESTED, "")
    return has_seen(workload) and requested in ("", workload.status.get("observedRestart", ""))


def has_seen(workload: "Workload") -> bool:
    """Returns True if the status reflects the current generation."""
    generation: int = workload.tree["metadata"].get("generation", 0)
    return bool(workload.status.get("observedGeneration", 0) >= generation)


def is_over(workload: "Workload") -> bool:
    """Returns True if the workload has run, or failed to start, and does not run any more."""
    return workload.status.get("state") in ("Finished", "Terminated", "FailedToStart", "Exited", "Unknown")


def has_failed(workload: "Workload") -> bool:
    """Returns True if a process or container has ended and will not be restarted, although the spec says to run."""
    from setpoint.workload.progress import is_suspended

    should_run = not is_suspended(workload.tree) and not has_stopped_for_good(workload)
    if not should_run or not is_current(workload) or reports_suspended(workload):
        return False
    return is_over(workload) and not workload.judgement.done


def has_stopped_for_good(workload: "Workload") -> bool:
    """Returns True if the workload was stopped with DCP's `spec.stop`, which cannot be undone."""
    return bool(workload.tree["spec"].get("stop"))


def refuse_stopped(workload: "Workload") -> None:
    """Raises Failure if the workload was stopped permanently."""
    if has_stopped_for_good(workload):
        what = "was stopped permanently (spec.stop): delete and recreate the object"
        raise Failure(f"{workload.called} {what}", USAGE)


def is_up(workload: "Workload", request: str) -> HowFar:
    """Returns the progress of a part that should run. A task is up once the requested run has begun."""
    if workload.kind == "Task":
        return "there" if not request or workload.status.get("observedRestart") == request else "under way"
    if any(map(has_failed, workload.children or (workload,))):
        return "failed"
    return "there" if all(map(_is_well, (workload, *workload.children))) else "under way"


def _is_well(workload: "Workload") -> bool:
    """Returns True if the part is ready, has ended with exit code 0, or is permanently stopped. The status that a set
    reports of its replicas may be stale.
    """
    return has_stopped_for_good(workload) or (is_current(workload) and workload.judgement.is_settled)
