"""Controllers that are classes."""

from typing import Any, assert_type

from tests.programs.kinds import Team

import setpoint as sp


@sp.controller(Team, concurrency=2)
class Teams:
    def __init__(self, most: int) -> None:
        self.most = most

    async def reconcile(self, ctx: sp.Context[Team], request: sp.Request) -> sp.Result | None:
        return None if await ctx.object() is None else sp.Result(requeue_after=self.most)


@sp.controller(Team)
class Blocking:
    def reconcile(self, ctx: sp.SyncContext[Team], request: sp.Request) -> None:
        ctx.object()


@sp.controller(Team)
class Bare:
    async def reconcile(self, ctx: sp.Context, request: sp.Request) -> None:
        ctx.status["text"] = "seen"


@sp.controller("example.com/v1/Team")
class Untyped:
    async def reconcile(self, ctx: sp.Context[dict[str, Any]], request: sp.Request) -> None: ...


@sp.controller(Team)
class Inherited(Teams): ...


assert_type(Teams(3), Teams)
assert_type(Inherited(most=3).most, int)
