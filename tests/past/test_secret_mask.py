"""No value of a secret leaves the past."""

import base64
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.client.patches import merge
from setpoint.objects.tree import Object
from setpoint.past.as_of import as_of
from setpoint.past.blame import blame
from setpoint.past.change import compare
from setpoint.past.difference import fields, unified
from setpoint.past.moment import Moment
from setpoint.past.queries import read_history
from setpoint.past.secret_mask import MASK, masked, masked_change, masked_pair, masked_text

from .world import past

_SECRETS = st.text("qxzjQXZJ0123456789", min_size=8, max_size=20)


def _secret(**data: str) -> dict[str, Any]:
    return {"kind": "Secret", "metadata": {"name": "s"}, "data": data}


@given(_SECRETS, _SECRETS)
def test_the_data_of_secrets_is_told_nowhere(old: str, new: str) -> None:
    applied = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps({"stringData": {"p": new}})}
    before, after = _secret(p=old), _secret(p=new)
    after["metadata"]["annotations"] = applied
    told = [
        json.dumps([masked(before), masked(after), *masked_pair(before, after)]),
        str([str(masked_change(change, is_secret=True)) for change in compare(before, after)]),
        str([change.to_json() for change in fields(before, after)]),
        "\n".join(unified(before, after, "a", "b")),
    ]
    for text in told:
        assert old not in text
        assert new not in text


def test_a_secret_that_changed_is_seen_to_have_changed() -> None:
    lines = unified(_secret(p="1"), _secret(p="2"), "a", "b")
    assert f"-  p: '{MASK} (before)'" in lines
    assert f"+  p: '{MASK} (after)'" in lines
    assert not unified(_secret(p="1"), _secret(p="1"), "a", "b")


_VARIABLE = {"name": "API_TOKEN", "value": "hunter2"}
_APPLIED = {"kubectl.kubernetes.io/last-applied-configuration": "hunter2"}


@pytest.mark.parametrize(
    ("kind", "with_it"),
    [
        ("Pod", {"spec": {"env": [_VARIABLE]}}),
        ("Pod", {"spec": {"containers": [{"name": "c", "env": [_VARIABLE]}]}}),
        ("Pod", {"spec": {"containers": [{"env": [_VARIABLE]}, {"image": "i"}]}}),
        ("Executable", {"status": {"effectiveEnv": [_VARIABLE]}}),
        ("Secret", {"metadata": {"annotations": _APPLIED}}),
        ("Secret", {"data": {"p": "hunter2"}}),
        ("Secret", {"stringData": {"p": "hunter2"}}),
    ],
)
def test_what_comes_or_goes_whole_is_masked_as_well(kind: str, with_it: dict[str, Any]) -> None:
    full = {"kind": kind, **with_it}
    for part in ({"kind": kind}, {"kind": kind, **_emptied(with_it)}):
        for old, new in ((part, full), (full, part)):
            told = [change.to_json() for change in fields(old, new)]
            assert told
            assert "hunter2" not in str(told)
            assert "hunter2" not in str(unified(old, new, "a", "b"))


def _emptied(tree: dict[str, Any]) -> dict[str, Any]:
    """The same without what is innermost."""
    return {
        key: _emptied(value) if isinstance(value, dict) and _is_nested(value) else type(value)()
        for key, value in tree.items()
    }


def _is_nested(value: dict[str, Any]) -> bool:
    return any(isinstance(each, dict | list) for each in value.values())


@pytest.mark.parametrize("name", ["DB_PASSWORD", "api_token", "AWS_SECRET_ACCESS_KEY", "apiKey", "PRIVATE_KEY"])
def test_variables_that_hold_secrets_by_their_names_are_masked(name: str) -> None:
    tree = {"spec": {"env": [{"name": name, "value": "hunter2"}, {"name": "MONKEY", "value": "banana"}]}}
    shown = masked(tree)["spec"]["env"]
    assert shown == [{"name": name, "value": MASK}, {"name": "MONKEY", "value": "banana"}]
    changed = {"spec": {"env": [{"name": name, "value": "hunter3"}, {"name": "MONKEY", "value": "banana"}]}}
    assert [str(each) for each in fields(tree, changed)] == [f"spec.env[{name}].value *** (before)→*** (after)"]
    assert tree["spec"]["env"][0]["value"] == "hunter2"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgres://shop:s3cret@db:5432/x", "postgres://shop:***@db:5432/x"),
        ("cannot reach amqp://u:p@mq and redis://:pw@cache", "cannot reach amqp://u:***@mq and redis://:***@cache"),
        ("http://db:5432/x and a@b.c", "http://db:5432/x and a@b.c"),
    ],
)
def test_passwords_in_urls_are_masked(text: str, shown: str) -> None:
    assert masked_text(text) == shown


async def test_a_client_of_the_past_masks_what_it_reads() -> None:
    async with past() as world:
        value = base64.b64encode(b"one").decode()
        metadata = {"name": "s", "namespace": "default"}
        made: Object = await world.client.create(
            {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"p": value}}
        )
        revision = int(made["metadata"]["resourceVersion"])
        await world.client.patch(made, merge({"data": {"p": base64.b64encode(b"two").decode()}}))
        then = as_of(world.client, revision)
        assert (await then.get("v1/Secret", "s", "default"))["data"] == {"p": MASK}
        listed = await then.list("v1/Secret", "default")
        assert [each["data"] for each in listed.items] == [{"p": MASK}]
        assert listed.items[0]["metadata"]["resourceVersion"] == str(revision)


async def test_tables_of_the_past_carry_no_secrets_beside_their_columns() -> None:
    async with past() as world:
        metadata = {"name": "s", "namespace": "default", "annotations": _APPLIED}
        made: Object = await world.client.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata})
        then = as_of(world.client, int(made["metadata"]["resourceVersion"]))
        accept = {"accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
        body = (await then.raw("GET", "/api/v1/namespaces/default/secrets", headers=accept)).body
        assert b'"rows"' in body
        assert b"hunter2" not in body


async def test_the_history_and_the_blame_of_a_secret_mask_it() -> None:
    async with past() as world:
        metadata = {"name": "s", "namespace": "default"}
        made = await world.client.create(
            {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"p": "hunter-1"}}
        )
        await world.client.patch(made, merge({"stringData": {"p": "hunter-2"}}))
        found = await read_history(world.client, await world.place("v1/Secret", "s", "default"), since=Moment())
        told = [found[-1].summary, str([each.to_json() for each in found]), str(blame(found)), str(found[-1].tree)]
        for value in ("hunter-1", "hunter-2"):
            encoded = base64.b64encode(value.encode()).decode()
            assert not [text for text in told if encoded in text or value in text]
        assert found[-1].summary == "data.p *** (before)→*** (after)"
        assert msgspec.json.encode(found[-1].to_json())
