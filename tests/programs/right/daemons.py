"""Daemons and timers of a kind."""

from tests.programs.kinds import Team

import setpoint as sp


@sp.daemon(Team, when=lambda team: team.spec.desks > 0, finalizer="example.com/patrol")
async def patrol(ctx: sp.DaemonContext[Team], request: sp.Request) -> None:
    while not await ctx.wait_stopped(60):
        team = await ctx.object()
        if team is not None:
            ctx.status.desks = team.spec.desks
            await ctx.save_status()


@sp.daemon(Team, name="blocking")
def blocking(ctx: sp.SyncDaemonContext[Team], request: sp.Request) -> None:
    while not ctx.wait_stopped(60):
        team = ctx.object()
        if team is not None:
            ctx.status.text = ctx.stop_reason
            ctx.save_status()


@sp.daemon("example.com/v1/Team", when=lambda team: bool(team["spec"]))
async def untyped(ctx: sp.DaemonContext, request: sp.Request) -> None:
    ctx.status["text"] = "seen"


@sp.timer(Team, interval=60, idle=10, when=lambda team: team.spec.desks > 0)
async def remind(ctx: sp.Context[Team], request: sp.Request) -> sp.Result | None:
    return sp.Result(requeue_after=10) if await ctx.object() else None
