# pyright: strict
"""`def` functions, which run in threads: contexts and clients without `await`."""

from typing import assert_type

from tests.programs.kinds import Site, Team, TeamStatus

import setpoint as sp


@sp.controller(Team, reads=[Site])
def team(ctx: sp.SyncContext[Team], request: sp.Request) -> sp.Result | None:
    found = ctx.object()
    if found is None:
        return None
    assert_type(found, Team)
    assert_type(ctx.status, TeamStatus)
    assert_type(ctx.client.find(Site, "a", request.namespace), Site | None)
    assert_type(ctx.client.get(Site, "a", request.namespace), Site)
    assert_type(ctx.lookup(Site, "a", request.namespace), Site | None)
    ctx.status.text = f"{len(found.spec.members)} people"
    ctx.condition("Ready", True, "Seated")
    return sp.Result(requeue_after=60)


@sp.controller(Team, name="bare")
def bare(ctx: sp.SyncContext, request: sp.Request) -> None:
    ctx.status["text"] = "x"
    ctx.status.condition("Ready", True, "Seated")


fsm = sp.FSM(Team)


@fsm.state("Seated")
def seated(ctx: sp.SyncContext[Team], team: Team, out: sp.Outputs) -> sp.Next:
    ctx.status.desks = team.spec.desks
    return sp.Done()


@sp.status_of(Team, name="counted")
def counted(ctx: sp.SyncContext[Team], team: Team, status: TeamStatus) -> None:
    status.text = ctx.request.name


controller = sp.Controller("team", team, kind=Team)
