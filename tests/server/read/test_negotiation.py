"""What clients accept, and the forms in which they are answered."""

import gzip
import json
from contextlib import suppress

import pytest
import yaml

from setpoint.objects.errors import NotAcceptable
from setpoint.server.codec.negotiation import JSON, PROTOBUF, YAML, Accepted, accepted
from setpoint.server.codec.protobuf import decode
from setpoint.server.codec.table import TableMaker
from setpoint.server.registry import builtin_resources

from .reader import MAPS, PARTIAL, PARTIAL_LIST, START, TABLE, WIDGETS, reading

META = "g=meta.k8s.io;v=v1"


@pytest.mark.parametrize(
    ("header", "wanted"),
    [
        ("", Accepted()),
        ("*/*", Accepted()),
        ("*", None),
        (JSON, Accepted()),
        (f"{JSON}, */*", Accepted()),
        (YAML, Accepted(YAML)),
        (f"{JSON};q=0.5,{YAML};q=0.9", Accepted(YAML)),
        (f"{YAML},{JSON}", Accepted(YAML)),
        (f"{JSON};q=bogus,{YAML};q=0.1", Accepted(YAML)),
        ("text/html, */*;q=0.1", Accepted()),
        ("text/html", None),
        ("application/*", None),
        (f"application/*,{YAML};q=0.5", Accepted()),
        (f"{JSON};pretty=1", Accepted(pretty=True)),
        (f"{JSON};charset=utf-8", Accepted()),
        (f"{JSON};stream=watch", Accepted()),
        (f"{JSON};stream=other", None),
        (f"{YAML};stream=watch,{JSON}", Accepted()),
        (PROTOBUF, Accepted(PROTOBUF)),
        (f"{PROTOBUF},{JSON}", Accepted(PROTOBUF)),
        (f"{JSON},{PROTOBUF}", Accepted()),
        (f"{JSON};q=0.5,{PROTOBUF};q=0.6", Accepted(PROTOBUF)),
        (f"{PROTOBUF};q=0.1,*/*;q=0.2", Accepted()),
        (f"*/*,{PROTOBUF}", Accepted(PROTOBUF)),
        (f"{PROTOBUF};stream=watch", Accepted(PROTOBUF)),
        (f"{PROTOBUF};stream=other,{JSON}", Accepted()),
        (f"{JSON};as=Table;{META}", Accepted(JSON, "Table", "v1")),
        (f"{YAML};as=Table;{META}", Accepted(YAML, "Table", "v1")),
        (f"{JSON};as=Table;g=meta.k8s.io;v=v2,{YAML};as=Table;{META}beta1", Accepted(YAML, "Table", "v1beta1")),
        (f"{JSON};as=Chair;{META},{JSON}", Accepted()),
        (f"{JSON};as=Chair;{META}", None),
        (f"{JSON};as=Table;g=other;v=v1", None),
        (f"{PROTOBUF};as=Table;{META},{JSON}", Accepted()),
        (f"{PROTOBUF};as=Table;{META}", None),
        (f"{PROTOBUF};as=PartialObjectMetadata;{META}", Accepted(PROTOBUF, "PartialObjectMetadata", "v1")),
        (f"{PROTOBUF};as=PartialObjectMetadata;{META},{JSON};as=PartialObjectMetadata;{META},{JSON}",
         Accepted(PROTOBUF, "PartialObjectMetadata", "v1")),
    ],
)  # fmt: skip
def test_the_best_clause_that_the_server_can_do_is_taken(header: str, wanted: Accepted | None) -> None:
    if wanted is None:
        with pytest.raises(NotAcceptable):
            accepted(header)
    else:
        assert accepted(header) == wanted


def test_the_router_and_the_handlers_refuse_in_their_own_words() -> None:
    with pytest.raises(NotAcceptable) as refused:
        accepted("image/*")
    assert refused.value.message.startswith("406: Not Acceptable\n\nAvailable representations: application/json")
    assert refused.value.to_status()["details"] == {}
    with pytest.raises(NotAcceptable) as refused:
        accepted("image/*", custom=True)
    assert refused.value.message == (
        "only the following media types are accepted: "
        "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    )
    with pytest.raises(NotAcceptable):
        accepted(PROTOBUF, custom=True)
    assert accepted("application/*", custom=True) == Accepted()
    assert accepted(f"{PROTOBUF},{JSON};q=0.5", custom=True) == Accepted()
    partial = f"{PROTOBUF};as=PartialObjectMetadata;{META}"
    assert accepted(partial, custom=True) == Accepted(PROTOBUF, "PartialObjectMetadata", "v1")


@pytest.mark.parametrize(
    "header", ["," * 100_000, ";" * 100_000, "a/b;" * 50_000 + JSON, "q=1;q=nan;q=inf", "\x00", "é/ü"]
)
def test_any_header_is_read_or_refused(header: str) -> None:
    with suppress(NotAcceptable):
        assert accepted(header).media_type in (JSON, YAML, PROTOBUF)


async def test_an_object_is_answered_in_yaml_to_who_prefers_it() -> None:
    async with reading() as reader:
        made = await reader.create(MAPS, "a", data={"k": "yes"})
        response = await reader.ask("GET", f"{MAPS}/a", headers={"accept": YAML})
        assert response.content_type == YAML
        assert isinstance(response.body, bytes)
        found = yaml.safe_load(response.body)
        assert found["data"] == {"k": "yes"}
        assert found["metadata"]["uid"] == made["metadata"]["uid"]
        response = await reader.ask("GET", f"{MAPS}/b", headers={"accept": YAML})
        assert (response.status, response.content_type) == (404, YAML)


async def test_json_is_one_line_to_programs_and_indented_to_people() -> None:
    async with reading() as reader:
        await reader.create(MAPS, "a")
        for path in (MAPS, f"{MAPS}/a"):
            plain = (await reader.ask("GET", path)).body
            assert isinstance(plain, bytes)
            assert plain.count(b"\n") == 1
            assert plain.endswith(b"}\n")
            for headers, query in (
                ({"user-agent": "curl/8"}, {}),
                ({"user-agent": "Mozilla/5.0 (X11)"}, {}),
                ({}, {"pretty": "true"}),
                ({"accept": f"{JSON};pretty=1"}, {}),
            ):
                shown = (await reader.ask("GET", path, None, headers, **query)).body
                assert isinstance(shown, bytes)
                assert shown.startswith(b'{\n  "')
                assert json.loads(shown) == json.loads(plain)
            assert (await reader.ask("GET", path, None, {"user-agent": "curl/8"}, pretty="0")).body == plain


async def test_errors_are_indented_for_people_too() -> None:
    async with reading() as reader:
        for headers, query in (({"user-agent": "curl/8"}, {}), ({}, {"pretty": "1"})):
            response = await reader.ask("GET", f"{MAPS}/a", None, headers, **query)
            assert isinstance(response.body, bytes)
            assert response.body.startswith(b'{\n  "kind": "Status"')


async def test_a_table_of_what_was_only_tried_has_no_revision() -> None:
    async with reading() as reader:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
        table = await reader.json(MAPS, method="POST", body=body, accept=TABLE, dryRun="All", status=201)
        assert table["metadata"] == {}


async def test_a_large_answer_is_compressed_for_who_asks_for_it() -> None:
    async with reading() as reader:
        await reader.create(MAPS, "small")
        for number in range(4):
            await reader.create(MAPS, f"large{number}", data={"k": "x" * 200_000})
        for path in (f"{MAPS}/large0", MAPS):
            plain = await reader.ask("GET", path)
            packed = await reader.ask("GET", path, headers={"accept-encoding": "deflate, gzip"})
            assert isinstance(packed.body, bytes)
            assert ("Content-Encoding", "gzip") in packed.headers
            assert ("Vary", "Accept-Encoding") in packed.headers
            assert isinstance(plain.body, bytes | list)
            assert gzip.decompress(packed.body) == (
                b"".join(plain.body) if isinstance(plain.body, list) else plain.body
            )
            assert "Content-Encoding" not in dict(plain.headers)
        small = await reader.ask("GET", f"{MAPS}/small", headers={"accept-encoding": "gzip"})
        assert "Content-Encoding" not in dict(small.headers)


async def test_metadata_alone_is_answered_for_objects_and_lists() -> None:
    async with reading() as reader:
        made = await reader.create(MAPS, "a", data={"k": "v"})
        partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": made["metadata"]}
        assert await reader.json(f"{MAPS}/a", accept=PARTIAL) == partial
        listed = await reader.json(MAPS, accept=PARTIAL_LIST)
        assert listed["kind"] == "PartialObjectMetadataList"
        assert listed["items"] == [partial]
        old = await reader.json(MAPS, accept=PARTIAL_LIST.replace("v=v1", "v=v1beta1"))
        assert (old["apiVersion"], old["items"][0]["apiVersion"]) == ("meta.k8s.io/v1beta1",) * 2
        status = await reader.json(MAPS, accept=PARTIAL, status=406)
        assert status["message"].endswith("is a list (*core.ConfigMapList)")
        status = await reader.json(f"{MAPS}/a", accept=PARTIAL_LIST, status=406)
        assert status["message"].endswith("is not a list (*core.ConfigMap)")


async def test_metadata_alone_does_not_show_what_an_older_version_left_in_annotations() -> None:
    async with reading() as reader:
        path = "/apis/apps/v1/namespaces/default/daemonsets"
        template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        body = {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": {"name": "d", "annotations": {"mine": "stays"}},
            "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template},
        }
        made = await reader.json(path, method="POST", body=body, status=201)
        assert set(made["metadata"]["annotations"]) == {"mine", "deprecated.daemonset.template.generation"}
        partial = await reader.json(f"{path}/d", accept=PARTIAL)
        listed = await reader.json(path, accept=PARTIAL_LIST)
        table = await reader.json(path, accept=TABLE)
        for shown in (partial, listed["items"][0], table["rows"][0]["object"]):
            assert shown["metadata"]["annotations"] == {"mine": "stays"}


async def test_a_page_of_metadata_goes_on_like_any_other() -> None:
    async with reading() as reader:
        for name in "abc":
            await reader.create(MAPS, name)
        for accept in (PARTIAL_LIST, TABLE):
            page = await reader.json(MAPS, accept=accept, limit=2)
            assert page["metadata"]["remainingItemCount"] == 1
            assert page["metadata"]["continue"]


async def test_a_write_whose_answer_cannot_be_read_is_not_done() -> None:
    async with reading() as reader:
        await reader.define_widgets()
        body = {"apiVersion": "ex.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
        await reader.json(WIDGETS, method="POST", body=body, accept="text/html", status=406)
        await reader.json(f"{WIDGETS}/w", status=404)


@pytest.mark.parametrize(
    ("header", "media_type"),
    [
        (PROTOBUF, PROTOBUF),
        (f"{PROTOBUF},{JSON}", PROTOBUF),
        (f"{JSON},{PROTOBUF}", JSON),
        (f"{JSON};q=0.1,{PROTOBUF};q=0.2", PROTOBUF),
        # An error has no other form than its own.
        (f"{PROTOBUF};as=PartialObjectMetadata;{META}", JSON),
        (f"{PROTOBUF};as=PartialObjectMetadata;{META},{PROTOBUF}", PROTOBUF),
    ],
)
async def test_an_error_has_the_best_type_of_its_own_form(header: str, media_type: str) -> None:
    async with reading() as reader:
        response = await reader.ask("GET", f"{MAPS}/a", headers={"accept": header})
        assert (response.status, response.content_type) == (404, media_type)
        assert isinstance(response.body, bytes)
        tree = decode(response.body) if media_type == PROTOBUF else json.loads(response.body)
        assert tree["message"] == 'configmaps "a" not found'


@pytest.mark.parametrize(("include", "shown"), [("None", None), ("", "PartialObjectMetadata"), ("Object", "Widget")])
async def test_the_rows_of_a_table_carry_as_much_of_their_objects_as_was_asked_for(
    include: str, shown: str | None
) -> None:
    async with reading() as reader:
        await reader.define_widgets(
            additionalPrinterColumns=[{"name": "Size", "type": "integer", "jsonPath": ".spec.size", "priority": 1}]
        )
        await reader.create(WIDGETS, "w", spec={"size": 3})
        reader.clock.advance(90)
        table = await reader.json(WIDGETS, accept=TABLE, includeObject=include)
        assert [(column["name"], column["priority"]) for column in table["columnDefinitions"]] == [
            ("Name", 0),
            ("Size", 1),
        ]
        (row,) = table["rows"]
        assert row["cells"] == ["w", 3]
        assert (row["object"] and row["object"]["kind"]) == shown


async def test_a_table_cannot_include_what_there_is_not() -> None:
    async with reading() as reader:
        status = await reader.json(MAPS, accept=TABLE, includeObject="All", status=400)
        assert status["message"] == (
            'Unable to convert to Table as requested: includeObject: Invalid value: "All": '
            "must be 'Metadata', 'Object', 'None', or empty"
        )


def test_the_table_of_every_built_in_kind_can_tell_a_bookmark() -> None:
    for resource in builtin_resources.resources():
        tree = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": {"resourceVersion": "5"}}
        told = TableMaker(resource, "meta.k8s.io/v1", "None").of_bookmark(tree, START, headers=True)
        undefined = 1 if resource.resource == "ipaddresses" else 0  # as on kube-apiserver
        assert len(told["rows"][0]["cells"]) == len(told["columnDefinitions"]) + undefined, resource.resource
        assert told["rows"][0]["object"]["metadata"] == {"resourceVersion": "5"}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews"),
        ("POST", "/api/v1/namespaces/default/serviceaccounts/a/token"),
        ("POST", "/api/v1/namespaces/default/pods/a/eviction"),
        ("PUT", "/api/v1/namespaces/default/finalize"),
        ("GET", "/apis/certificates.k8s.io/v1/certificatesigningrequests/a/approval"),
        ("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/a/status"),
    ],
)
async def test_an_endpoint_without_tables_refuses_to_make_one(method: str, path: str) -> None:
    async with reading() as server:
        response = await server.ask(method, path, {}, {"accept": TABLE})
        assert response.status == 406
        response = await server.ask(method, path, {}, {"accept": f"{TABLE},{JSON}"})
        assert response.status != 406
