"""A class whose method `reconcile` has the context of another kind."""

from tests.programs.kinds import Site, Team

import setpoint as sp


@sp.controller(Team)  # wrong
class Teams:
    async def reconcile(self, ctx: sp.Context[Site], request: sp.Request) -> None: ...
