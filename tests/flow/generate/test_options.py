"""The options of generating handlers mean what they say, and what cannot work is refused with what to do instead."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.flow.generate.worlds import (
    CONFIG_MAP,
    App,
    AppSpec,
    AppStatus,
    Site,
    World,
    app,
    config_map,
    namespace,
    rendering,
    until,
)

from setpoint.api.core.v1 import ConfigMap, Namespace, Secret
from setpoint.client.kinds import kind_of
from setpoint.controller.watch import Watch, for_none
from setpoint.flow.generate import generates
from setpoint.flow.generate.remains import INVENTORIES
from setpoint.flow.policy import Adopt, Prune, Replace
from setpoint.objects.tree import Object
from setpoint.schema.types import ObjectMeta


def with_namespace(parent: App, status: AppStatus) -> Iterator[Object]:
    """A namespace for each child."""
    for name in parent.spec.children:
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


@pytest.mark.feature("G26")
@pytest.mark.parametrize("owner_references", [True, False])
async def test_owner_references_are_there_exactly_if_they_are_wanted(world: World, owner_references: bool) -> None:
    world.run(rendering(owner_references=owner_references))
    await world.client.create(app("a"))
    await world.is_so("True/Applied")
    found = await world.client.get(CONFIG_MAP, "a", "default")
    assert bool(found["metadata"].get("ownerReferences")) is owner_references


@pytest.mark.feature("G26", "E53")
@pytest.mark.parametrize("cross_namespace", [True, False])
async def test_children_in_another_namespace_are_there_exactly_if_they_are_allowed(
    world: World, cross_namespace: bool
) -> None:
    await namespace(world.client, "other")
    world.run(rendering(cross_namespace=cross_namespace))
    await world.client.create(app("a", "other/b"))
    if cross_namespace:
        await world.is_so("True/Applied")
        found = await world.client.get(CONFIG_MAP, "b", "other")
        assert "ownerReferences" not in found["metadata"]
        assert await world.names() == {"a"}
    else:
        told = (await world.is_so("False/Error"))["message"]
        assert told == "app returned ConfigMap other/b, but its parent is in default: set cross_namespace=True"
        assert await world.names() == set(), "nothing is written of what is refused in part"


@pytest.mark.feature("G26", "E53")
@pytest.mark.parametrize("cluster_scoped", [True, False])
async def test_children_in_no_namespace_are_there_exactly_if_they_are_allowed(
    world: World, cluster_scoped: bool
) -> None:
    world.run(rendering(with_namespace, kinds=["v1/Namespace"], cluster_scoped=cluster_scoped))
    await world.client.create(app("shop-1"))
    if cluster_scoped:
        await world.is_so("True/Applied")
        assert "ownerReferences" not in (await world.client.get("v1/Namespace", "shop-1"))["metadata"]
    else:
        told = (await world.is_so("False/Error"))["message"]
        assert told.endswith("which is cluster-scoped, but its parent is in default: set cluster_scoped=True")
        assert not (await world.client.list("v1/Namespace", fields={"metadata.name": "shop-1"})).items


async def test_a_parent_without_namespace_has_children_anywhere_which_it_owns(world: World) -> None:
    await namespace(world.client, "system")
    controller = world.run(rendering(kind=Site, namespace="system"))
    await world.client.create(Site(metadata=ObjectMeta(name="s"), spec=AppSpec(children=["a", "default/b"])))
    await until(lambda: any(run.result == "success" and run.has_writes for run in controller.runs))
    for name, where in (("a", "system"), ("b", "default")):
        found = await world.client.get(CONFIG_MAP, name, where)
        assert [each["kind"] for each in found["metadata"]["ownerReferences"]] == ["Site"]
    assert [each["metadata"]["namespace"] for each in await world.inventories()] == ["system"]


async def test_a_kind_that_was_not_declared_is_refused(world: World) -> None:
    world.run(rendering(kinds=[Secret]))
    await world.client.create(app("a"))
    told = (await world.is_so("False/Error"))["message"]
    assert told == "app returned a v1/ConfigMap, which is not declared: add it to `kinds`"


GIVEN: list[tuple[Any, str]] = [
    (None, "returned None: yield the children, or return a list (empty for none)"),
    (config_map("a"), "returned a dict: yield the children"),
    ([None], "returned a NoneType: expected a Resource"),
    ([[config_map("a")]], "returned a list: expected a Resource"),
    ([{"metadata": {"name": "a"}}], "returned an invalid child: the object has no apiVersion and kind"),
    (
        [config_map("a"), config_map("default/a")],
        "returned ConfigMap default/a twice: use a unique name for each child",
    ),
    ([ConfigMap(metadata=ObjectMeta(generate_name="a-"))], "needs a name"),
]


@pytest.mark.parametrize(("given", "says"), GIVEN, ids=[says.partition(":")[0] for _, says in GIVEN])
async def test_what_are_no_children_is_refused_and_removes_nothing(world: World, given: Any, says: str) -> None:
    def strange(parent: App, status: AppStatus) -> Any:
        return given if parent.spec.uses else [config_map("a")]

    world.run(rendering(strange))
    await world.client.create(app())
    await world.is_so("True/Applied")
    await world.change(lambda found: setattr(found.spec, "uses", "something strange"))
    await world.client.wait_for(
        App,
        "shop",
        "default",
        lambda found: found is not None and says in str(found.status.conditions),
    )
    assert await world.names() == {"a"}


def no_parameters() -> None: ...


def one(parent: object) -> None: ...


def four(a: object, b: object, c: object, d: object) -> None: ...


def named(parent: object, *, status: object) -> None: ...


@pytest.mark.parametrize("function", [no_parameters, one, four, named])
def test_a_function_with_other_parameters_is_refused_at_once(function: Any) -> None:
    with pytest.raises(TypeError, match=r"expected \(parent, status\) or \(ctx, parent, status\)"):
        generates(App, kinds=[ConfigMap])(function)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"kinds": []}, "kinds is empty: list the kinds"),
    ({"kinds": ["ConfigMap"]}, "invalid kind 'ConfigMap'"),
    ({"kinds": [Namespace]}, "kinds contains v1/Namespace, which is cluster-scoped: set cluster_scoped=True"),
    ({"cross_namespace": "yes"}, "invalid cross_namespace 'yes': expected True or False"),
    ({"cluster_scoped": 1}, "invalid cluster_scoped 1: expected True or False"),
    ({"owner_references": None}, "invalid owner_references None: expected True or False"),
    ({"adopt": "always"}, "invalid adopt 'always': expected Adopt.NEVER"),
    ({"prune": "no"}, "invalid prune 'no': expected True, False, or Prune"),
    ({"condition": "not a word"}, "invalid condition 'not a word': use a word in CamelCase"),
    ({"condition": "Suspended"}, "the condition Suspended is reserved"),
    ({"name": "Not A Name"}, "invalid set name 'Not A Name'"),
    ({"namespace": "Not A Name"}, "invalid namespace 'Not A Name'"),
    ({"finalizer": "mine"}, "invalid finalizer 'mine': expected DOMAIN/NAME"),
    ({"kind": Site}, "is cluster-scoped: set the namespace of the inventories"),
]


@pytest.mark.parametrize(("how", "says"), REFUSED, ids=[next(iter(how)) for how, _ in REFUSED])
def test_an_option_that_cannot_work_is_refused_with_its_name_and_a_remedy(how: dict[str, Any], says: str) -> None:
    with pytest.raises((TypeError, ValueError)) as error:
        rendering(**how)
    assert says in str(error.value)


@pytest.mark.feature("E57")
@pytest.mark.parametrize(
    ("adopt", "told"), [(Adopt.NEVER, "False/Refused"), (Adopt.IF_UNMANAGED, "True/Applied")], ids=lambda it: str(it)
)
async def test_what_is_there_already_is_adopted_by_policy(world: World, adopt: Adopt, told: str) -> None:
    await world.client.create(config_map("default/a", "mine"))
    world.run(rendering(adopt=adopt))
    await world.client.create(app("a", "b"))
    await world.is_so(told)
    text = (await world.client.get(CONFIG_MAP, "a", "default"))["data"]["text"]
    assert text == ("mine" if adopt is Adopt.NEVER else "hello")
    assert "b" in await world.names(), "one that is refused does not keep the others from being written"


@pytest.mark.feature("E11")
async def test_two_handlers_of_one_kind_have_sets_of_their_own(world: World) -> None:
    def secrets(parent: App, status: AppStatus) -> Iterator[Object]:
        yield {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": f"{parent.metadata.name}-key"}}

    world.run(rendering())
    world.run(rendering(secrets, name="app-keys", kinds=[Secret], condition="Keyed"))
    await world.client.create(app("a", "b"))
    await world.is_so("True/Applied")
    await world.is_so("True/Applied", condition="Keyed")
    await world.want("b")
    await world.is_so("True/Applied")
    assert (await world.names(), await world.names(kind="v1/Secret")) == ({"b"}, {"shop-key"})


@pytest.mark.feature("E55")
async def test_pruning_can_be_off(world: World) -> None:
    world.run(rendering(prune=False))
    await world.client.create(app("a", "b"))
    await world.is_so("True/Applied")
    await world.want("c")
    await world.is_so("True/Applied")
    assert await world.names() == {"a", "b", "c"}


@pytest.mark.feature("E55")
async def test_more_than_the_limit_is_not_pruned_and_the_condition_says_so(world: World) -> None:
    world.run(rendering(prune=Prune(limit=1)))
    await world.client.create(app("a", "b", "c"))
    await world.is_so("True/Applied")
    await world.want("a")
    told = await world.is_so("False/PruneWithheld")
    assert "more than the limit of 1" in told["message"]
    assert await world.names() == {"a", "b", "c"}


@pytest.mark.feature("E59", "E58", "E61")
async def test_fields_are_ignored_objects_replaced_and_children_transformed_as_the_options_say(world: World) -> None:
    def sealed(parent: App, status: AppStatus) -> Iterator[Object]:
        yield {**config_map("sealed", parent.spec.text), "immutable": True}
        yield config_map("shared", parent.spec.text)

    def with_label(tree: Object) -> None:
        tree["metadata"].setdefault("labels", {})["team"] = "shop"

    how = {"ignore": {CONFIG_MAP: ["/data/extra"]}, "replace": {CONFIG_MAP: Replace.LATER}}
    world.run(rendering(sealed, transforms=[with_label], **how))
    await world.client.create(app())
    await world.is_so("True/Applied")
    before = await world.client.get(CONFIG_MAP, "sealed", "default")
    assert before["metadata"]["labels"]["team"] == "shop"
    await world.client.edit(CONFIG_MAP, "shared", "default", lambda found: found["data"].update(extra="theirs"))
    await world.change(lambda found: setattr(found.spec, "text", "bye"))
    await world.client.wait_for(CONFIG_MAP, "sealed", "default", "jsonpath={.data.text}=bye")
    await world.is_so("True/Applied")
    after = await world.client.get(CONFIG_MAP, "sealed", "default")
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert (await world.client.get(CONFIG_MAP, "shared", "default"))["data"] == {"text": "bye", "extra": "theirs"}


MAPS, SECRETS = (CONFIG_MAP, (), None), ("v1/Secret", (), None)


@pytest.mark.parametrize(
    ("how", "watched"),
    [
        ({"kinds": [CONFIG_MAP]}, [MAPS]),
        ({"kinds": ["v1/Secret"]}, [SECRETS, (CONFIG_MAP, (), INVENTORIES)]),
        ({"kinds": ["v1/Secret"], "namespace": "system"}, [SECRETS, (CONFIG_MAP, ("system",), INVENTORIES)]),
        (
            {"kinds": [Watch(CONFIG_MAP, for_none, labels="a=b")]},
            [(CONFIG_MAP, (), "a=b"), (CONFIG_MAP, (), INVENTORIES)],
        ),
        (
            {"kinds": [CONFIG_MAP], "namespaces": ["default"]},
            [(CONFIG_MAP, ("default",), None), (CONFIG_MAP, ("default",), INVENTORIES)],
        ),
        ({"kinds": [CONFIG_MAP], "namespaces": ["default"], "cross_namespace": True}, [MAPS]),
    ],
)
def test_inventories_are_watched_once(how: dict[str, Any], watched: list[tuple[str, tuple[str, ...], Any]]) -> None:
    owns: Any = rendering(**how).__controller__.settings["owns"]
    assert [(kind_name(each), tuple(each.namespaces), each.labels or None) for each in owns] == watched


def kind_name(watch: Watch) -> str:
    gvk = kind_of(watch.kind).gvk
    return f"{gvk.api_version}/{gvk.kind}"
