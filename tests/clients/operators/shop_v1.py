"""An operator: each Shop has a ConfigMap with its sign."""

import setpoint as sp
from setpoint.api.core.v1 import ConfigMap


class ShopSpec(sp.Model):
    """The desired state of a Shop."""

    sign: str = "open"


class ShopStatus(sp.Model):
    """The observed state of a Shop."""

    text: str = ""


class Shop(sp.Resource, group="example.com", version="v1"):
    """A shop."""

    spec: ShopSpec
    status: ShopStatus | None = None


@sp.controller(Shop, owns=[ConfigMap])
async def reconcile_shop(ctx: sp.Context, request: sp.Request) -> None:
    shop: Shop | None = await ctx.object()
    if shop is None:
        return
    sign = ConfigMap(metadata=sp.ObjectMeta(name=request.name), data={"sign": shop.spec.sign})
    await ctx.client.apply(ctx.own(sign))
    ctx.status["text"] = shop.spec.sign
    ctx.status.condition("Ready", True, "Written", "the sign is written")
