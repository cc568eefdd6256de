"""Apps and their objects as YAML."""

from collections.abc import Iterable

from setpoint.app.model import AppFile
from setpoint.app.profiles import tree_of
from setpoint.objects import yamltext
from setpoint.objects.tree import Object

MASK = "******"


def app_yaml(app: AppFile) -> str:
    """The app as its file, which reads as the same app."""
    return yamltext.dump(tree_of(app), in_order=True)


def objects_yaml(objects: Iterable[Object]) -> str:
    """Objects as a stream of documents, without the values of secrets."""
    # It brings the client with it, which an app that is only written does not need.
    from setpoint.client.manifests import dump_yaml

    return dump_yaml(*map(masked, objects))


def masked(tree: Object) -> Object:
    """An object as it may be shown: of a Secret only the keys."""
    if tree.get("kind") != "Secret" or tree.get("apiVersion") != "v1":
        return tree
    hidden = {field: dict.fromkeys(tree[field], MASK) for field in ("data", "stringData") if tree.get(field)}
    return {**tree, **hidden}
