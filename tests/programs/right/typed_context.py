# pyright: strict
"""A context of a kind: the object, the status and all reads are typed."""

from typing import assert_type

from tests.programs.kinds import Site, Team, TeamStatus

import setpoint as sp
from setpoint.api.core.v1 import ConfigMap


@sp.controller(Team, owns=[ConfigMap], reads=[Site])
async def team(ctx: sp.Context[Team], request: sp.Request) -> None:
    found = await ctx.object()
    if found is None:
        return
    assert_type(found, Team)
    assert_type(ctx.status, TeamStatus)
    await ctx.load_status()
    assert_type(await ctx.client.find(Site, "a", request.namespace), Site | None)
    assert_type(ctx.lookup(Site, "a", request.namespace), Site | None)
    assert_type(await ctx.client.get(Site, "a", request.namespace), Site)
    assert_type((await ctx.client.list(Site, request.namespace)).items, list[Site])
    made = await ctx.client.apply(ctx.own(ConfigMap(metadata=sp.ObjectMeta(name=request.name))))
    assert_type(made, ConfigMap)
    assert_type(await ctx.client.edit(Site, "a", request.namespace, grow), Site)
    ctx.status.text = f"{len(found.spec.members)} people"
    ctx.status = TeamStatus(desks=found.spec.desks)
    ctx.condition("Ready", True, "Seated")


def grow(site: Site) -> None:
    site.replicas += 1


@sp.controller(Team)
class Teams:
    """A class with a method `reconcile`."""

    def __init__(self, limit: int = 3) -> None:
        self.limit = limit

    async def reconcile(self, ctx: sp.Context[Team], request: sp.Request) -> sp.Result | None:
        ctx.status.desks = self.limit
        return None


assert_type(Teams(limit=4).limit, int)
controller = sp.Controller("team", team, kind=Team)
