"""A first look: a control plane in this process, a kind of our own, and what the log remembers of it.

Run it with `python examples/first_look.py` where Setpoint is installed. Nothing is left behind.
"""

import asyncio
import json
import time
from typing import Annotated, Any, Literal

import setpoint as sp
from setpoint.schema.types import Maximum, Minimum
from setpoint.server.message import Request

BAKERIES = "/apis/example.com/v1/namespaces/default/bakeries"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class BakerySpec(sp.Model):
    """What a bakery should be."""

    ovens: Annotated[int, Minimum(1), Maximum(4)]
    bread: Literal["rye", "wheat"] = "wheat"


@sp.rule("self.spec.ovens > 1 || self.spec.bread != 'rye'", message="rye needs two ovens")
class Bakery(sp.Resource, group="example.com", version="v1", columns=[sp.Column("Ovens", ".spec.ovens")]):
    """A bakery."""

    spec: BakerySpec


async def main() -> None:
    begin = time.perf_counter()
    async with sp.ControlPlane() as plane:
        print(f"1. A control plane, in this process, in {1000 * (time.perf_counter() - begin):.0f} ms.\n")

        async def ask(method: str, path: str, body: Any = None, query: str = "", kind: str = "application/json") -> Any:
            data = b"" if body is None else json.dumps(body).encode()
            response = await plane.handler(Request(method, path, query, {"content-type": kind}, data))
            assert isinstance(response.body, bytes)
            return json.loads(response.body)

        async def apply(manager: str, spec: dict[str, Any], query: str = "") -> Any:
            query = f"fieldManager={manager}{query}"
            return await ask("PATCH", f"{BAKERIES}/corner", bakery(spec), query, "application/apply-patch+yaml")

        print("2. A class is a kind: its CustomResourceDefinition is served as soon as it is created.\n")
        await ask("POST", DEFINITIONS, Bakery.crd())

        print("3. The server names what is wrong, field by field:\n")
        for spec in ({"ovens": 7, "bread": "oat"}, {"ovens": 1, "bread": "rye"}):
            answer = await ask("POST", BAKERIES, bakery(spec))
            for cause in answer["details"]["causes"]:
                print(f"   {cause['field']}: {cause['message']}")

        print("\n4. Two people apply what they care about. Who owns what is on record, and a conflict has a name:\n")
        await apply("ada", {"ovens": 2})
        await apply("grace", {"bread": "rye"})
        print("  ", (await apply("grace", {"bread": "rye", "ovens": 3}))["message"])
        forced = await apply("grace", {"bread": "rye", "ovens": 3}, "&force=true")
        print("   by force:", json.dumps(forced["spec"]))

        print("\n5. Every write is in the log: who made it, and what it changed.\n")
        past = await ask("GET", "/apis/setpoint.dev/v1/namespaces/default/bakeries.example.com/corner/history")
        for item in past["items"]:
            changes = ", ".join(f"{change['op']} {change['path'] or 'the object'}" for change in item["patch"])
            print(f"   revision {item['revision']:>2} by {item['actor']['fieldManager']:<5} {changes}")
        oldest = past["items"][-1]["revision"]
        before = await ask("GET", f"{BAKERIES}/corner", query=f"at={oldest}")
        print(f"   as it was at revision {oldest}: {json.dumps(before['spec'])}")

    print("\nTo talk to one with kubectl: setpoint serve --kubeconfig ./kubeconfig")


def bakery(spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Bakery", "metadata": {"name": "corner"}, "spec": spec}


if __name__ == "__main__":
    asyncio.run(main())
