"""A validating webhook with an object of another kind."""

from tests.programs.kinds import Site, Team

import setpoint as sp


@sp.validate(Team)  # wrong
def check(site: Site) -> None:
    if site.replicas > 10:
        raise sp.Denied("at most 10 replicas")
