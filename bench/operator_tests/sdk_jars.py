"""The same operator, written with Setpoint's SDK."""

import setpoint as sp


class JarSpec(sp.Model):
    """What a jar should be."""

    size: int = 0
    stuck: bool = False
    ticking: bool = False


class JarStatus(sp.Model):
    """What a jar is."""

    filled: int = 0
    ticks: int = 0
    tries: int = 0
    observed_generation: int = 0


class Jar(sp.Resource, group="example.com", version="v1"):
    """A jar."""

    spec: JarSpec
    status: JarStatus | None = None


async def emptied() -> None:
    return None


@sp.controller(Jar)
async def jars(ctx: sp.Context[Jar], request: sp.Request) -> sp.Result | None:
    jar = await ctx.object()
    if jar is None or await ctx.finalize("example.com/empty", emptied):
        return None
    status = jar.status or JarStatus()
    if jar.spec.stuck and status.tries < 2:
        ctx.status.tries = status.tries + 1
        return sp.Result(requeue_after=1)
    ctx.status.filled = jar.spec.size
    if jar.spec.ticking:
        ctx.status.ticks = status.ticks + 1
        return sp.Result(requeue_after=1)
    return None
