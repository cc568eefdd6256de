"""The kinds of the programs."""

import setpoint as sp


class TeamSpec(sp.Model):
    """The desired state of a team."""

    members: list[str]
    desks: int = 0


class TeamStatus(sp.Model):
    """The state of a team."""

    text: str = ""
    desks: int = 0


class Team(sp.Resource, group="example.com", version="v1"):
    """A team."""

    spec: TeamSpec
    status: TeamStatus | None = None


class SiteStatus(sp.Model):
    """The state of a site."""

    url: str = ""


class Site(sp.Resource, group="example.com", version="v1"):
    """A site."""

    replicas: int = 1
    status: SiteStatus | None = None
