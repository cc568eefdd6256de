"""A class whose `def` method `reconcile` has the context of another kind."""

from tests.programs.kinds import Site, Team

import setpoint as sp


@sp.controller(Team)  # wrong
class Teams:
    def reconcile(self, ctx: sp.SyncContext[Site], request: sp.Request) -> None: ...
