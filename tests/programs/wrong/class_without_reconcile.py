"""A class that is declared as a controller without a method `reconcile`."""

from tests.programs.kinds import Team

import setpoint as sp


@sp.controller(Team)  # wrong
class Teams:
    async def reconcil(self, ctx: sp.Context[Team], request: sp.Request) -> None: ...
