"""The next version of the operator of shops: a Shop has several signs, and a webhook checks them."""

import setpoint as sp
from setpoint.api.core.v1 import ConfigMap


class ShopSpecV1(sp.Model):
    """The desired state of a Shop in version v1."""

    sign: str = "open"


class ShopSpec(sp.Model):
    """The desired state of a Shop."""

    signs: list[str]


class ShopStatus(sp.Model):
    """The observed state of a Shop."""

    text: str = ""


class ShopV1(sp.Resource, group="example.com", version="v1", kind="Shop"):
    """A shop with one sign."""

    spec: ShopSpecV1
    status: ShopStatus | None = None


class Shop(sp.Resource, group="example.com", version="v2"):
    """A shop with several signs."""

    spec: ShopSpec
    status: ShopStatus | None = None


def to_v2(shop: ShopV1) -> Shop:
    return Shop(metadata=shop.metadata, spec=ShopSpec(signs=[shop.spec.sign]), status=shop.status)


def to_v1(shop: Shop) -> ShopV1:
    return ShopV1(metadata=shop.metadata, spec=ShopSpecV1(sign="; ".join(shop.spec.signs)), status=shop.status)


versions = sp.hub_and_spokes(Shop, {ShopV1: (to_v2, to_v1)})


@sp.validate(Shop)
def check_signs(shop: Shop) -> None:
    if "" in shop.spec.signs:
        raise sp.Denied("a sign must not be empty: see spec.signs")


@sp.controller(Shop, owns=[ConfigMap])
async def reconcile_shop(ctx: sp.Context, request: sp.Request) -> None:
    shop: Shop | None = await ctx.object()
    if shop is None:
        return
    sign = ConfigMap(metadata=sp.ObjectMeta(name=request.name), data={"sign": "; ".join(shop.spec.signs)})
    await ctx.client.apply(ctx.own(sign))
    ctx.status["text"] = f"{len(shop.spec.signs)} signs"
    ctx.status.condition("Ready", True, "Written", "the signs are written")
