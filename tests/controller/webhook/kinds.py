"""A kind in two versions, and functions that decide about it."""

from setpoint.controller.webhook import Denied, Question, default, hub_and_spokes, validate
from setpoint.objects.errors import Conflict
from setpoint.objects.gvk import GroupResource
from setpoint.objects.tree import Object
from setpoint.schema.types import Model, ObjectMeta, Resource


class SiteSpec(Model):
    """What a site should be."""

    size: int = 1
    color: str = ""


class Site(Resource, group="example.com", version="v1"):
    """A site."""

    spec: SiteSpec


class SizesSpec(Model):
    """The same, as it was once said."""

    dimensions: str = "1"
    color: str = ""


class OldSite(Resource, group="example.com", version="v1beta1", kind="Site"):
    """A site, as it was."""

    spec: SizesSpec


@validate(Site, operations=("CREATE", "UPDATE", "DELETE"))
def checked(site: Site, question: Question) -> list[str]:
    if site.spec.size > 10:
        raise Denied("at most 10", code=422, reason="TooLarge")
    if site.spec.size == 7:
        raise ValueError("7 is unlucky")
    if site.spec.size == 9:
        raise Conflict.of(GroupResource("example.com", "sites"), "x", "9 is taken")
    if site.spec.size == 8:
        raise KeyError("a mistake")
    if question.operation == "UPDATE" and question.old.spec.size > site.spec.size:
        raise Denied(f"{question.user.username} may not shrink it")
    if question.operation == "DELETE" and site.spec.size == 5:
        raise Denied("5 stays")
    return ["it is large"] if site.spec.size > 4 else []


@default(Site)
async def filled(site: Site) -> None:
    site.spec.color = site.spec.color or "red"


@validate("v1/ConfigMap")
def no_secrets(tree: Object) -> None:
    if "password" in (tree.get("data") or {}):
        raise Denied("no passwords here")


def _to_hub(old: OldSite) -> Site:
    spec = SiteSpec(size=int(old.spec.dimensions), color=old.spec.color)
    return Site(metadata=ObjectMeta(name=old.metadata.name), spec=spec)


def _from_hub(site: Site) -> OldSite:
    spec = SizesSpec(dimensions=str(site.spec.size), color=site.spec.color)
    return OldSite(metadata=ObjectMeta(name=site.metadata.name), spec=spec)


conversion = hub_and_spokes(Site, {OldSite: (_to_hub, _from_hub)})


def site(name: str, **spec: object) -> Object:
    metadata = {"name": name, "namespace": "default", "labels": {"a": "b"}}
    return {"apiVersion": "example.com/v1", "kind": "Site", "metadata": metadata, "spec": spec}
