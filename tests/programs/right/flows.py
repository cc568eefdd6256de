# pyright: strict
"""Chains, machines, generating handlers and webhooks of a kind."""

from collections.abc import Iterator
from typing import assert_type

from tests.programs.kinds import Team, TeamStatus

import setpoint as sp
from setpoint.api.core.v1 import ConfigMap

teams = sp.Chain(Team, finalizer="example.com/teams")


@teams.on_change("greet")
async def greet(ctx: sp.HandlerContext[Team], team: Team) -> Team | None:
    ctx.status.text = team.metadata.name
    return None


@teams.on_change("count")
async def count(ctx: sp.HandlerContext, team: Team) -> None:
    ctx.status["desks"] = team.spec.desks


@teams.on_delete("forget")
async def forget(ctx: sp.HandlerContext[Team], gone: sp.Gone[Team]) -> None:
    assert_type(gone.last_known, Team)


fsm = sp.FSM(Team, finalizer="example.com/team")


@fsm.state("Seated")
async def seated(ctx: sp.Context[Team], team: Team, out: sp.Outputs) -> sp.Next:
    out.apply(ConfigMap(metadata=out.child("members"), data={"members": " ".join(team.spec.members)}))
    return sp.Done()


@fsm.finalize("Dissolved")
async def dissolved(ctx: sp.Context, team: Team, out: sp.Outputs) -> sp.Next:
    return sp.Done()


@sp.generates(Team, kinds=[ConfigMap])
def render(team: Team, status: TeamStatus) -> Iterator[sp.Resource]:
    status.desks = team.spec.desks
    yield ConfigMap(metadata=sp.child(team))


@sp.status_of(Team, name="counted")
async def counted(ctx: sp.Context[Team], team: Team, status: TeamStatus) -> None:
    status.text = ctx.request.name


@sp.default(Team)
def fill_in(team: Team) -> None:
    team.spec.desks = team.spec.desks or len(team.spec.members)


@sp.validate("example.com/v1/Team")
def check(team: dict[str, object]) -> None:
    if "spec" not in team:
        raise sp.Denied("a team needs a spec")


controllers = [teams, fsm.controller(), render, counted]
