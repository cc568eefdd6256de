"""A write that is never sent, because `await` is missing."""

from tests.programs.kinds import Team

import setpoint as sp
from setpoint.api.core.v1 import ConfigMap


@sp.controller(Team, owns=[ConfigMap])
async def team(ctx: sp.Context[Team], request: sp.Request) -> None:
    child = ConfigMap(metadata=sp.ObjectMeta(name=request.name))
    ctx.client.apply(ctx.own(child))  # wrong
