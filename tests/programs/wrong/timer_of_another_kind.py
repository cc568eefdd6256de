"""A timer with the context of another kind."""

from tests.programs.kinds import Site, Team

import setpoint as sp


@sp.timer(Team, interval=60)  # wrong
def remind(ctx: sp.SyncContext[Site], request: sp.Request) -> None:
    ctx.object()
