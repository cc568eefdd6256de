"""The smallest controller: a kind, and a function that brings what is to what should be.

`python examples/minimal_controller.py` runs it in one process with a control plane of its own.
"""

import asyncio

import setpoint as sp


class GreetingSpec(sp.Model):
    """What should be said."""

    to: str


class GreetingStatus(sp.Model):
    """What is said."""

    text: str = ""
    observed_generation: int = 0


class Greeting(sp.Resource, group="example.com", version="v1"):
    """A greeting."""

    spec: GreetingSpec
    status: GreetingStatus | None = None


@sp.controller(Greeting)
async def greet(ctx: sp.Context[Greeting], request: sp.Request) -> None:
    greeting = await ctx.object()
    if greeting is None:
        return  # it is gone, and there is nothing to clean up
    ctx.status.text = f"Hello, {greeting.spec.to}!"


async def main() -> None:
    async with sp.ControlPlane() as plane, plane.client() as client:
        await client.install(Greeting)
        async with sp.Manager(client, controllers=[greet]):
            metadata = sp.ObjectMeta(name="first", namespace="default")
            await client.create(Greeting(metadata=metadata, spec=GreetingSpec(to="world")))
            found = await client.wait_for(Greeting, "first", "default", is_said)
            assert found is not None
            assert found.status is not None
            print(found.status.text)


def is_said(greeting: Greeting | None) -> bool:
    return greeting is not None and greeting.status is not None and bool(greeting.status.text)


if __name__ == "__main__":
    asyncio.run(main())
