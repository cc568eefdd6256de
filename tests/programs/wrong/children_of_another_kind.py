"""A generating function with a parent of another kind."""

from collections.abc import Iterator

from tests.programs.kinds import Site, SiteStatus, Team

import setpoint as sp


@sp.generates(Team, kinds=["v1/ConfigMap"])  # wrong
def render(site: Site, status: SiteStatus) -> Iterator[sp.Resource]:
    yield site
