"""Amounts of several resources by name, such as usage, requests and limits."""

from collections.abc import Collection, Mapping

from setpoint.objects.quantity import Quantity
from setpoint.objects.tree import Json
from setpoint.server.registry.kinds.validation.values import amount

Amounts = Mapping[str, Quantity]
ONE, NOTHING = Quantity(1), Quantity(0)


def read(resources: Mapping[str, Json] | None) -> dict[str, Quantity]:
    return {name: amount(value) for name, value in (resources or {}).items()}


def written(amounts: Amounts) -> dict[str, str]:
    return {name: str(quantity) for name, quantity in amounts.items()}


def shown(amounts: Amounts) -> str:
    """Formats amounts for messages, such as `pods=1,requests.cpu=2`."""
    return ",".join(f"{name}={amounts[name]}" for name in sorted(amounts))


def only(amounts: Amounts, names: Collection[str]) -> dict[str, Quantity]:
    return {name: quantity for name, quantity in amounts.items() if name in names}


def plus(one: Amounts, other: Amounts) -> dict[str, Quantity]:
    found = dict(one)
    for name, quantity in other.items():
        found[name] = found[name] + quantity if name in found else quantity
    return found


def difference(after: Amounts, before: Amounts) -> dict[str, Quantity]:
    """Returns the changes of amounts, negative for decreases. Unchanged amounts are omitted."""
    found = {
        name: after.get(name, NOTHING) - before[name] if name in before else after[name] for name in {*after, *before}
    }
    return {name: quantity for name, quantity in found.items() if quantity.sign}
