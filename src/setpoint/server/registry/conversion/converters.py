"""Selects the converter of a definition: a function in this process, its webhook, or none but the change of the
version."""

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from setpoint.merge.updater import same_version
from setpoint.objects.errors import NotAcceptable
from setpoint.objects.tree import Object
from setpoint.schema.crd.definition import CustomResourceDefinition
from setpoint.server.registry.conversion.caller import Caller
from setpoint.server.registry.conversion.pending import Converter

if TYPE_CHECKING:
    from setpoint.server.registry.conversion.functions import ConversionFunction
    from setpoint.server.registry.conversion.webhook import Shared

NOTHING_BUT_THE_VERSION = Converter(same_version)


class _StoredOnly:
    """Converts no objects: they are served only in their storage version."""

    def __init__(self, crd: CustomResourceDefinition, why: str) -> None:
        self._name = crd.name
        self._why = why

    def convert(self, tree: Object, from_version: str, to_version: str) -> Object:
        """Returns the object if the version is the same. Raises NotAcceptable otherwise."""
        if from_version == to_version:
            return tree
        name = (tree.get("metadata") or {}).get("name", "")
        raise NotAcceptable(
            f'{self._name} "{name}" is stored as {from_version}, and no conversion webhook is called to convert to '
            f"{to_version} ({self._why}): read the object at /apis/{from_version}"
        )


class Converters:
    """The converters of one server. `functions` are those in this process, by the names of definitions; they override
    the conversion of the definition. `offline` is the reason why no webhooks are called; empty if they are called."""

    def __init__(self, functions: "Mapping[str, ConversionFunction] | None" = None, *, offline: str = "") -> None:
        """Raises TypeError for an unsuitable function."""
        self._services: Caller
        self._functions = dict(functions or {})
        self._offline = offline
        for name, function in self._functions.items():
            from setpoint.server.registry.conversion.functions import check_function

            check_function(name, function)

    def attach(self, services: Caller) -> None:
        """Sets the server of the converters."""
        self._services = services

    def of(self, crd: CustomResourceDefinition) -> Converter:
        """Returns the converter of a definition."""
        function = self._functions.get(crd.name)
        if function is not None:
            from setpoint.server.registry.conversion.functions import FunctionConverter

            return Converter(FunctionConverter(function).convert)
        conversion = crd.spec.conversion
        if conversion is None or conversion.strategy != "Webhook":
            return NOTHING_BUT_THE_VERSION
        if self._offline:
            return Converter(_StoredOnly(crd, self._offline).convert)
        from setpoint.server.registry.conversion.webhook import WebhookConverter

        converter = WebhookConverter(self._shared, crd)
        return Converter(converter.convert, converter.fetch)

    def clear(self) -> None:
        """Clears the cache of converted objects."""
        if "_shared" in self.__dict__:
            self._shared.memory.clear()

    @cached_property
    def _shared(self) -> "Shared":
        """The state that all webhook converters share. Most servers have none."""
        from setpoint.server.registry.conversion.cache import Memory
        from setpoint.server.registry.conversion.conversion_metrics import ConversionMetrics
        from setpoint.server.registry.conversion.webhook import Shared

        services, measures = self._services, ConversionMetrics()
        services.measured.append(measures)
        return Shared(services, Memory(services.clock), measures)
