"""`@sp.controller`: functions and classes that are controllers, as often as somebody runs them."""

import pytest
from tests.controller.core.worlds import CONFIG_MAP, Widget, World, until

import setpoint as sp
from setpoint.controller.declare import controller_of, declaration_of


async def test_a_function_is_a_controller_for_the_kind_and_stays_a_function(world: World) -> None:
    seen: list[str] = []

    @sp.controller(CONFIG_MAP, namespaces=["default"], concurrency=2)
    async def maps(ctx: sp.Context, request: sp.Request) -> sp.Result | None:
        seen.append(request.name)
        return None

    first, second = controller_of(maps), controller_of(maps)
    assert first is not second
    assert (first.name, first.options.concurrency) == ("configmap", 2)
    await world.run(first)
    await world.run(second)
    await world.config_map("a")
    await until(lambda: seen == ["a", "a"])


def test_a_class_is_one_too_with_whatever_it_needs() -> None:
    @sp.controller(Widget, name="polisher")
    class Widgets:
        def __init__(self, polish: str = "wax") -> None:
            self.polish = polish

        async def reconcile(self, ctx: sp.Context, request: sp.Request) -> None: ...

    given = Widgets("oil")
    assert controller_of(given).reconcile == given.reconcile
    assert controller_of(Widgets).name == "polisher"
    declared = declaration_of(given)
    assert declared is not None
    assert declared.kind is Widget


def test_a_controller_is_what_it_is() -> None:
    async def reconcile(ctx: sp.Context, request: sp.Request) -> None: ...

    made = sp.Controller("c", reconcile, kind=CONFIG_MAP)
    assert controller_of(made) is made


def test_what_was_not_declared_and_what_cannot_reconcile_is_a_mistake() -> None:
    async def reconcile(ctx: sp.Context, request: sp.Request) -> None: ...

    with pytest.raises(TypeError, match=r"decorate it with @controller\(Kind\)"):
        controller_of(reconcile)
    with pytest.raises(TypeError, match="Empty has no method `reconcile"):

        @sp.controller(Widget)  # type: ignore[arg-type]
        class Empty: ...  # type: ignore[type-var]
