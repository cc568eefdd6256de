"""`setpoint crd`: prints the CustomResourceDefinitions of Python classes as YAML."""

import click

from setpoint.cli.output.terminal import echo
from setpoint.cli.support.errors import Failure
from setpoint.cli.support.user_modules import import_here
from setpoint.objects import yamltext
from setpoint.objects.tree import Object
from setpoint.schema.types import ModelError, Resource, crd_of


@click.command()
@click.argument("targets", metavar="MODULE:CLASS...", nargs=-1, required=True)
@click.option("--storage", metavar="VERSION", help="Storage version, if there are several versions.")
def crd(targets: tuple[str, ...], storage: str | None) -> None:
    """Print the CustomResourceDefinitions of Python classes.

    MODULE:CLASS names a subclass of Resource, such as shop.api:Widget; MODULE alone selects all of its subclasses of
    Resource. Classes with the same group and kind become versions of one definition. Modules are searched on Python's
    path and in the current directory.
    """
    found: dict[tuple[str, str], list[type[Resource]]] = {}
    for target in targets:
        for cls in _classes(target):
            config = cls.__resource__
            versions = found.setdefault((config.group, config.kind), [])
            if cls not in versions:
                versions.append(cls)
    documents = [_definition(classes, storage) for classes in found.values()]
    echo("---\n".join(map(yamltext.dump, documents)), nl=False)


def _definition(classes: list[type[Resource]], storage: str | None) -> Object:
    try:
        return crd_of(*classes, storage=storage)
    except ModelError as error:
        raise Failure(str(error)) from None


def _classes(target: str) -> list[type[Resource]]:
    module_name, colon, class_name = target.partition(":")
    if not module_name or (colon and not class_name):
        raise click.BadParameter(
            f"invalid target {target!r}: expected MODULE:CLASS, e.g. shop.api:Widget", param_hint="MODULE:CLASS"
        )
    module = vars(import_here(module_name))
    if not colon:
        classes = [found for found in module.values() if _is_kind(found) and found.__module__ == module_name]
        if not classes:
            raise Failure(f"{module_name} has no subclass of Resource with a group")
        return classes
    if class_name not in module:
        known = sorted(name for name, found in module.items() if _is_kind(found))
        hint = f"; available classes: {', '.join(known)}" if known else ""
        raise Failure(f"{module_name} has no class {class_name}{hint}")
    found = module[class_name]
    if not _is_kind(found):
        raise Failure(
            f"{target} is not a resource class: derive the class from Resource with a group and a version, as in "
            '`class Widget(Resource, group="example.com", version="v1")`'
        )
    return [found]


def _is_kind(found: object) -> bool:
    return isinstance(found, type) and issubclass(found, Resource) and bool(found.__resource__.kind)
