"""Renames extensions that became attributes of the Compose specification."""

from typing import Any

from setpoint.app.compose.merging import Merger
from setpoint.app.compose.tree import place_of


def promote(tree: Any, merger: Merger) -> None:
    """Renames the extensions of all services, in place. An attribute takes precedence over its extension."""
    services = tree.get("services")
    for name, service in services.items() if isinstance(services, dict) else ():
        if not isinstance(service, dict):
            continue
        _rename(service, "x-develop", "develop", ("services", name, "develop"), merger)
        develop = service.get("develop")
        rules = develop.get("watch") if isinstance(develop, dict) else None
        for index, rule in enumerate(rules if isinstance(rules, list) else ()):
            if isinstance(rule, dict):
                path = ("services", name, "develop", "watch", index, "initial_sync")
                _rename(rule, "x-initialSync", "initial_sync", path, merger)


def _rename(value: Any, old: str, new: str, path: tuple[str | int, ...], merger: Merger) -> None:
    if old not in value:
        return
    place = place_of(value, old)
    extension = value.pop(old)
    if value.get(new) is None:
        value.put(new, extension, place)
    else:
        value[new] = merger.merge(extension, value[new], path)
