"""One function for each mistake: its docstring names the mistake, the lines marked with `# wrong` make it, and the
returned text is the message that the author sees."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import setpoint as sp
from setpoint import testing
from setpoint.api.core.v1 import ConfigMap
from setpoint.api.rbac.v1 import ClusterRole

Case = Callable[[], Awaitable[str]]
CASES: list[Case] = []


class TeamSpec(sp.Model):
    """The desired state of a team."""

    members: list[str]
    desks: int = 0


class TeamStatus(sp.Model):
    """The state of a team."""

    text: str = ""


class Team(sp.Resource, group="example.com", version="v1"):
    """A team."""

    spec: TeamSpec
    status: TeamStatus | None = None


class Note(sp.Resource, group="example.com", version="v1"):
    """A kind without a status."""

    text: str = ""


BAKERS = Team(metadata=sp.ObjectMeta(name="bakers", namespace="default"), spec=TeamSpec(members=["Ada"]))
NOTE = Note(metadata=sp.ObjectMeta(name="milk", namespace="default"))


def case(function: Case) -> Case:
    CASES.append(function)
    return function


def text_of(error: BaseException | None) -> str:
    """Returns an error as it is logged."""
    assert error is not None, "the mistake has no error"
    return f"{type(error).__name__}: {error}" + "".join(f"; {note}" for note in getattr(error, "__notes__", ()))


async def reconciled(controller: object, obj: Any, **how: Any) -> str:
    """Reconciles an object once, and returns the error."""
    async with testing.world(crds=[Team, Note], **how) as world:
        return text_of((await world.run_once(controller, obj)).error)


@asynccontextmanager
async def client_of(*crds: type[sp.Resource]) -> AsyncIterator[sp.Client]:
    async with testing.world(crds=crds) as world:
        yield world.client


@contextmanager
def logged(name: str) -> Iterator[list[str]]:
    """Collects the messages of a logger."""
    found: list[str] = []

    class Collecting(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(record.getMessage())

    handler = Collecting(logging.WARNING)
    logging.getLogger(name).addHandler(handler)
    try:
        yield found
    finally:
        logging.getLogger(name).removeHandler(handler)


@case
async def forgotten_owns() -> str:
    """A child of a kind that the controller does not watch: its changes would not be noticed."""

    @sp.controller(Team)  # wrong
    async def team(ctx: sp.Context[Team], request: sp.Request) -> None:
        await ctx.client.apply(ctx.own(ConfigMap(metadata=sp.ObjectMeta(name="list"))))  # wrong

    return await reconciled(team, BAKERS)


@case
async def cluster_scoped_child() -> str:
    """A cluster-scoped child of a namespaced object."""

    @sp.controller(Team, owns=[ClusterRole])
    async def team(ctx: sp.Context[Team], request: sp.Request) -> None:
        await ctx.client.apply(ctx.own(ClusterRole(metadata=sp.ObjectMeta(name="bakers"))))  # wrong

    return await reconciled(team, BAKERS)


@case
async def child_without_namespace() -> str:
    """An object that is applied without a namespace and without `ctx.own`."""

    @sp.controller(Team, owns=[ConfigMap])
    async def team(ctx: sp.Context[Team], request: sp.Request) -> None:
        await ctx.client.apply(ConfigMap(metadata=sp.ObjectMeta(name="list")))  # wrong

    return await reconciled(team, BAKERS)


@case
async def read_without_namespace() -> str:
    """A read of a namespaced object without its namespace."""

    @sp.controller(Team, reads=[ConfigMap])
    async def team(ctx: sp.Context[Team], request: sp.Request) -> None:
        await ctx.client.find(ConfigMap, "list")  # wrong

    return await reconciled(team, BAKERS)


@case
async def class_without_status() -> str:
    """A status of a class without a field `status`."""

    @sp.controller(Note)
    async def note(ctx: sp.Context[Note], request: sp.Request) -> None:
        ctx.status["text"] = "bought"  # wrong

    return await reconciled(note, NOTE)


@case
async def server_without_status() -> str:
    """A status of a kind that the server serves without a status subresource."""

    @sp.controller("example.com/v1/Note")
    async def note(ctx: sp.Context[dict[str, Any]], request: sp.Request) -> None:
        ctx.status["text"] = "bought"  # wrong

    return await reconciled(note, NOTE)


@case
async def builtin_kind_without_status() -> str:
    """A status of a built-in kind that has none."""

    @sp.controller(ConfigMap)
    async def maps(ctx: sp.Context[ConfigMap], request: sp.Request) -> None:
        ctx.condition("Ready", True, "Seen")  # wrong

    return await reconciled(maps, ConfigMap(metadata=sp.ObjectMeta(name="list", namespace="default")))


@case
async def unknown_status_field() -> str:
    """A misspelled field of the status."""

    @sp.controller(Team)
    async def team(ctx: sp.Context[Team], request: sp.Request) -> None:
        ctx.status.txt = "seated"  # type: ignore[attr-defined]  # wrong

    return await reconciled(team, BAKERS)


@case
async def status_field_of_another_type() -> str:
    """A value of another type in a field of the status."""

    @sp.controller(Team)
    async def team(ctx: sp.Context[Team], request: sp.Request) -> None:
        ctx.status.text = 3  # type: ignore[assignment]  # wrong

    return await reconciled(team, BAKERS)


@case
async def changed_object_of_the_cache() -> str:
    """A change of an object from the cache, which all reconciles share."""

    @sp.controller(Team)
    async def team(ctx: sp.Context[Team], request: sp.Request) -> None:
        found = await ctx.object()
        if found is not None:
            found.spec.desks = 3  # wrong

    return await reconciled(team, BAKERS)


@case
async def apply_of_a_read_object() -> str:
    """An apply of an object that was read from the server."""

    @sp.controller(Team)
    async def team(ctx: sp.Context[Team], request: sp.Request) -> None:
        found = await ctx.api.get(Team, request.name, request.namespace)
        found.spec.desks = 3
        await ctx.client.apply(found)  # wrong

    return await reconciled(team, BAKERS)


@case
async def edit_that_returns_a_value() -> str:
    """An edit whose function returns a value."""
    async with testing.world(crds=[Team], objects=[BAKERS]) as world:
        client = world.client
        try:
            await client.edit(Team, "bakers", "default", lambda team: team.spec.members.pop())  # type: ignore[arg-type, return-value]  # wrong
        except TypeError as error:
            return text_of(error)
    raise AssertionError("the mistake has no error")


@case
async def apply_without_a_manager() -> str:
    """An apply by a client without a field manager."""
    async with client_of(Team) as client:
        try:
            await client.apply(BAKERS)  # wrong
        except ValueError as error:
            return text_of(error)
    raise AssertionError("the mistake has no error")


@case
async def requeue_without_a_pause() -> str:
    """A result that asks for the next reconcile without a pause."""

    @sp.controller(Team)
    async def team(ctx: sp.Context[Team], request: sp.Request) -> sp.Result:
        return sp.Result(requeue_after=0)  # wrong

    with logged("setpoint.controller.outcome") as messages:
        async with testing.world(crds=[Team]) as world:
            await world.run_once(team, BAKERS)
    return messages[0]


@case
async def missing_definition() -> str:
    """A request for a kind whose definition is not installed."""
    async with client_of() as client:
        try:
            await client.create(BAKERS)  # wrong
        except LookupError as error:
            return text_of(error)
    raise AssertionError("the mistake has no error")


@case
async def controller_of_a_missing_definition() -> str:
    """A controller of a kind whose definition is not installed."""

    @sp.controller(Team)  # wrong
    async def team(ctx: sp.Context[Team], request: sp.Request) -> None: ...

    with logged("setpoint.cache.reflector") as messages:
        async with testing.world() as world:
            await world.run(team)
    return messages[0].partition("; retrying")[0]


@case
async def write_of_an_undeclared_kind() -> str:
    """A write of a kind that is not in `owns`, on a cluster that grants the declared rights."""

    @sp.controller(Team, reads=[ConfigMap])  # wrong
    async def team(ctx: sp.Context[Team], request: sp.Request) -> None:
        await ctx.client.apply(ConfigMap(metadata=sp.ObjectMeta(name="list", namespace="default")))

    return await reconciled(team, BAKERS, rights="declared")


@case
async def undeclared_write_in_a_test() -> str:
    """A write of a kind that is not in `owns`, in a test; the test fails."""

    @sp.controller(Team, reads=[ConfigMap])  # wrong
    async def team(ctx: sp.Context[Team], request: sp.Request) -> None:
        await ctx.client.apply(ConfigMap(metadata=sp.ObjectMeta(name="list", namespace="default")))

    async with testing.world(crds=[Team], objects=[BAKERS]) as world:
        with world.expect(testing.UndeclaredWrite) as expected:
            await world.run(team)
    return text_of(expected.problems[0])


@case
async def loop_in_a_test() -> str:
    """A reconcile that changes its own child each time, and so triggers the next one, in a test; the test fails."""

    @sp.controller(Team, owns=[ConfigMap])
    async def team(ctx: sp.Context[Team], request: sp.Request) -> None:
        child = ConfigMap(metadata=sp.ObjectMeta(name="list"), data={"run": ctx.id})  # wrong
        await ctx.client.apply(ctx.own(child))

    async with testing.world(crds=[Team], objects=[BAKERS]) as world:
        with world.expect(testing.ReconcileLoop) as expected:
            await world.run(team)
    return text_of(expected.problems[0])


@case
async def missing_rights() -> str:
    """A manager whose account lacks a right of a declared kind; the warning comes at the start."""

    @sp.controller(Team)
    async def team(ctx: sp.Context[Team], request: sp.Request) -> None: ...

    with logged("setpoint.controller.manager") as messages:
        async with testing.world(crds=[Team], rights=[], tolerate=testing.MissingRight) as world:
            await world.run(team, preflight=True)
    return messages[0]


@case
async def undeclared_controller() -> str:
    """A function that is given to a manager without `@sp.controller`."""

    async def team(ctx: sp.Context[Team], request: sp.Request) -> None: ...

    async with client_of(Team) as client:
        try:
            sp.Manager(client, controllers=[team])  # wrong
        except TypeError as error:
            return text_of(error).replace(repr(team), "<function team>")
    raise AssertionError("the mistake has no error")


@case
async def reconcile_that_returns_another_value() -> str:
    """A reconcile that returns seconds instead of a `Result`."""

    async def team(ctx: sp.Context[Team], request: sp.Request) -> Any:
        return 60  # wrong

    return await reconciled(sp.Controller("team", team, kind=Team), BAKERS)
