"""Loads the modules of an operator: their controllers, kinds and webhooks."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from setpoint.cli.support.errors import Failure

if TYPE_CHECKING:
    from setpoint.controller.controller import Controller
    from setpoint.controller.webhook.admission import AdmissionWebhook
    from setpoint.controller.webhook.conversion import ConversionWebhook
    from setpoint.objects.tree import Object
    from setpoint.schema.types.resource import Resource

modules_argument = click.argument("modules", metavar="MODULE...", nargs=-1, required=True, type=click.Path())


class OperatorModules(NamedTuple):
    """The contents of the modules of an operator."""

    controllers: "list[Controller]"
    kinds: "list[type[Resource]]"
    webhooks: "list[AdmissionWebhook]"
    conversions: "list[ConversionWebhook]"

    def definitions(self) -> "list[Object]":
        """Returns the CustomResourceDefinitions of the kinds. Raises Failure."""
        from setpoint.session.controllers.crd_installation import DefinitionError, definitions_of

        try:
            return definitions_of(self.kinds)
        except DefinitionError as error:
            raise Failure(str(error)) from None


def load_modules(modules: Sequence[str]) -> OperatorModules:
    """Imports files or modules, relative to the current directory. Raises Failure."""
    from setpoint.session.controllers.loader import LoadError, load

    found = OperatorModules([], [], [], [])
    for module in modules:
        path, _, name = module.partition(":")
        try:
            contents = load(path, Path.cwd(), name)
        except LoadError as error:
            raise Failure(str(error)) from None
        found.controllers.extend(contents.controllers)
        found.webhooks.extend(each for each in contents.webhooks if each not in found.webhooks)
        found.conversions.extend(each for each in contents.conversions if each not in found.conversions)
        # An installed package is not part of the project, but the kinds that its controllers reconcile are its own.
        primary = [
            each.primary.cls for each in contents.controllers if each.primary is not None and each.primary.is_custom
        ]
        found.kinds.extend(each for each in (*contents.kinds, *primary) if each is not None and each not in found.kinds)
    names = [each.name for each in found.controllers]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise Failure(
            f"two modules have a controller named {twice[0]!r}: rename one, as in @sp.controller(Kind, name=…)"
        )
    return found


def operator_name(modules: Sequence[str]) -> str:
    """Returns the default name of an operator: the name of its first module, as a DNS label."""
    path = modules[0].partition(":")[0]
    stem = Path(path).stem if path.endswith(".py") else path.rpartition(".")[2]
    return stem.replace("_", "-").lower().strip("-")
