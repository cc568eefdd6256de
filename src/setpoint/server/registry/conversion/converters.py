"""Who converts the objects of a definition: a function in this process, its webhook, or nobody but the version."""

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
    """Converts nothing: objects are served in the version that they are stored in, and in no other."""

    def __init__(self, crd: CustomResourceDefinition, why: str) -> None:
        self._name = crd.name
        self._why = why

    def convert(self, tree: Object, from_version: str, to_version: str) -> Object:
        """The object, where it has that version. Raises NotAcceptable."""
        if from_version == to_version:
            return tree
        name = (tree.get("metadata") or {}).get("name", "")
        raise NotAcceptable(
            f'{self._name} "{name}" is stored as {from_version}, and no conversion webhook is called to make it '
            f"{to_version} ({self._why}): read it at /apis/{from_version}"
        )


class Converters:
    """The converters of one server. `functions` are those in this process, by the names of the definitions; they take
    the place of whatever the definition says of conversion. `offline` says why no webhook is called, where none is."""

    def __init__(self, functions: "Mapping[str, ConversionFunction] | None" = None, *, offline: str = "") -> None:
        """Raises TypeError for what is no function to convert with."""
        self._services: Caller
        self._functions = dict(functions or {})
        self._offline = offline
        for name, function in self._functions.items():
            from setpoint.server.registry.conversion.functions import check_function

            check_function(name, function)

    def attach(self, services: Caller) -> None:
        """Tells whose converters these are."""
        self._services = services

    def of(self, crd: CustomResourceDefinition) -> Converter:
        """The converter of a definition, as it stands."""
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

    def forget(self) -> None:
        """Forgets the converted objects."""
        if "_shared" in self.__dict__:
            self._shared.memory.clear()

    @cached_property
    def _shared(self) -> "Shared":
        """What all webhooks have together. Most servers have none."""
        from setpoint.server.registry.conversion.cache import Memory
        from setpoint.server.registry.conversion.metrics import ConversionMetrics
        from setpoint.server.registry.conversion.webhook import Shared

        services, measures = self._services, ConversionMetrics()
        services.measured.append(measures)
        return Shared(services, Memory(services.clock), measures)
