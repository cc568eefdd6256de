"""The operator of the comparison on our SDK: `python -m bench.operators.ours WORKERS`, against KUBECONFIG."""

import sys

import setpoint as sp
from bench.operators.tank import Tank, TankStatus
from setpoint.api.core.v1 import ConfigMap
from setpoint.controller.program import run
from setpoint.schema.types import ObjectMeta


async def reconcile(ctx: sp.Context, request: sp.Request) -> None:
    tank = await ctx.object()
    if tank is None:
        return
    label = f"{tank.spec.capacity}{tank.spec.unit}"
    await ctx.client.apply(ctx.own(ConfigMap(metadata=ObjectMeta(name=request.name), data={"label": label})))
    ctx.status.put(TankStatus(label=label))


def controller(workers: int) -> sp.Controller:
    return sp.Controller("tank", reconcile, kind=Tank, owns=[ConfigMap], concurrency=workers)


if __name__ == "__main__":
    run(controller(int(sys.argv[1])))
