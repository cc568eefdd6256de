"""A state of a machine with an object of another kind."""

from tests.programs.kinds import Site, Team

import setpoint as sp

fsm = sp.FSM(Team)


@fsm.state("Seated")  # wrong
async def seated(ctx: sp.Context[Site], site: Site, out: sp.Outputs) -> sp.Next:
    return sp.Done()
