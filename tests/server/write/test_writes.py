"""Writes that meet other writes, writes that change nothing, and writes that are only tried."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from tests.server.write.api import CONFIG_MAPS, Api, config_map, new_api

from setpoint.objects.errors import Forbidden
from setpoint.objects.ids import SeededIds
from setpoint.server.ports import Operation
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context
from setpoint.server.server_options import ServerSettings

Act = Callable[[], Awaitable[object]]

EVENTS = "/api/v1/namespaces/default/events"


class Meddler(Plugin):
    """Writes between the moment an update reads an object and the moment it writes it."""

    def __init__(self, times: int = 1) -> None:
        self.left = times
        self.act: Act | None = None

    async def mutate(self, context: Context, operation: Operation) -> None:
        if operation.verb == "UPDATE" and self.act is not None and self.left:
            self.left -= 1
            await self.act()

    async def validate(self, context: Context, operation: Operation) -> None:
        """Has no objections."""


class Adopter(Plugin):
    """Gives every object the same owner twice."""

    OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "1234"}  # noqa: RUF012 - never changed

    async def mutate(self, context: Context, operation: Operation) -> None:
        assert operation.object is not None
        operation.object["metadata"]["ownerReferences"] = [dict(self.OWNER), dict(self.OWNER)]

    async def validate(self, context: Context, operation: Operation) -> None:
        assert operation.object is not None
        assert operation.object["metadata"]["ownerReferences"] == [self.OWNER]


class Mutator(Plugin):
    """Puts something of its own into every new object, and refuses those that say so."""

    async def mutate(self, context: Context, operation: Operation) -> None:
        if operation.verb == "CREATE" and operation.object is not None:
            operation.object.setdefault("data", {})["added"] = "by-admission"

    async def validate(self, context: Context, operation: Operation) -> None:
        if operation.object and operation.object.get("data", {}).get("refuse"):
            raise Forbidden.of(operation.resource.group_resource, operation.name, "it says so")


async def test_a_patch_is_applied_to_what_another_writer_made_of_the_object_meanwhile() -> None:
    meddler = Meddler()
    async with new_api(admission=[meddler]) as api:
        await api("POST", CONFIG_MAPS, config_map(a="1"))
        meddler.act = lambda: api.merge(f"{CONFIG_MAPS}/a", {"data": {"meddled": "yes"}})
        answer = await api.merge(f"{CONFIG_MAPS}/a", {"data": {"mine": "2"}})
        assert answer.status == 200
        assert answer.body["data"] == {"a": "1", "meddled": "yes", "mine": "2"}


async def test_a_patch_gives_up_when_others_keep_writing() -> None:
    meddler = Meddler(times=0)
    async with new_api(admission=[meddler]) as api:
        await api("POST", CONFIG_MAPS, config_map())
        count = 0

        async def meddle() -> None:
            nonlocal count
            count += 1
            left, meddler.left = meddler.left, 0
            await api.merge(f"{CONFIG_MAPS}/a", {"data": {"count": str(count)}})
            meddler.left = left

        meddler.act, meddler.left = meddle, 1000
        answer = await api.merge(f"{CONFIG_MAPS}/a", {"data": {"mine": "2"}})
        assert (answer.status, answer.body["reason"]) == (409, "Conflict")
        assert count == 5


async def test_an_update_that_names_a_revision_does_not_overwrite_a_newer_one() -> None:
    meddler = Meddler()
    async with new_api(admission=[meddler]) as api:
        made = await api("POST", CONFIG_MAPS, config_map(a="1"))
        meddler.act = lambda: api.merge(f"{CONFIG_MAPS}/a", {"data": {"meddled": "yes"}})
        body = config_map(a="2")
        body["metadata"]["resourceVersion"] = made.version
        answer = await api("PUT", f"{CONFIG_MAPS}/a", body)
        assert (answer.status, answer.body["reason"]) == (409, "Conflict")
        now = await api("GET", f"{CONFIG_MAPS}/a")
        assert now.body["data"] == {"a": "1", "meddled": "yes"}


async def test_an_update_without_a_revision_overwrites_whatever_is_there() -> None:
    meddler = Meddler()
    async with new_api(admission=[meddler]) as api:
        await api("POST", CONFIG_MAPS, config_map(a="1"))
        meddler.act = lambda: api.merge(f"{CONFIG_MAPS}/a", {"data": {"meddled": "yes"}})
        answer = await api("PUT", f"{CONFIG_MAPS}/a", config_map(a="2"))
        assert (answer.status, answer.body["data"]) == (200, {"a": "2"})


async def test_writes_that_change_nothing_make_no_revision(api: Api) -> None:
    made = await api.apply(f"{CONFIG_MAPS}/a", config_map(a="1"))
    assert made.status == 201
    before = await api.store.revision()
    api.clock.advance(3600)
    again = [
        await api.apply(f"{CONFIG_MAPS}/a", config_map(a="1")),
        await api.merge(f"{CONFIG_MAPS}/a", {"data": {"a": "1"}}),
        await api("PUT", f"{CONFIG_MAPS}/a", config_map(a="1")),
        await api.merge(f"{CONFIG_MAPS}/a", {}),
    ]
    assert [answer.status for answer in again] == [200] * 4
    assert all(answer.body == made.body for answer in again)
    assert await api.store.revision() == before


async def test_a_dry_run_answers_as_if_and_writes_nothing(api: Api) -> None:
    made = await api("POST", CONFIG_MAPS, config_map("kept", a="1"))
    before = await api.store.revision()
    tried = await api("POST", CONFIG_MAPS, config_map("tried"), query="dryRun=All")
    assert tried.status == 201
    assert "resourceVersion" not in tried.body["metadata"]
    assert tried.body["metadata"]["uid"]
    query = "fieldManager=applier&dryRun=All"
    applied = await api.apply(f"{CONFIG_MAPS}/applied", config_map("applied"), query=query)
    assert (applied.status, "resourceVersion" in applied.body["metadata"]) == (201, False)
    reapplied = await api.apply(f"{CONFIG_MAPS}/kept", config_map("kept"), query=query)
    assert (reapplied.status, reapplied.version) == (200, made.version)
    changed = await api.merge(f"{CONFIG_MAPS}/kept", {"data": {"a": "2"}}, query="dryRun=All")
    assert (changed.status, changed.body["data"], changed.version) == (200, {"a": "2"}, made.version)
    deleted = await api("DELETE", f"{CONFIG_MAPS}/kept", query="dryRun=All")
    assert (deleted.status, deleted.body["status"]) == (200, "Success")
    taken = await api("POST", CONFIG_MAPS, config_map("kept"), query="dryRun=All")
    assert (taken.status, taken.body["reason"]) == (409, "AlreadyExists")
    assert await api.store.revision() == before


EVENT = {
    "metadata": {"name": "e", "namespace": "default"},
    "involvedObject": {"kind": "ConfigMap", "name": "a", "namespace": "default"},
}


async def _pass_time(api: Api, seconds: float) -> None:
    api.clock.advance(seconds)
    for _ in range(100):
        await asyncio.sleep(0)


async def test_an_update_renews_the_lifetime_of_an_event() -> None:
    async with new_api(settings=ServerSettings(event_ttl_seconds=60.0)) as api:
        assert (await api("POST", EVENTS, EVENT)).status == 201
        for count in range(2, 5):
            await _pass_time(api, 45)
            assert (await api.merge(f"{EVENTS}/e", {"count": count})).status == 200
        await _pass_time(api, 61)
        assert (await api("GET", f"{EVENTS}/e")).status == 404


async def test_servers_in_one_process_have_their_own_lifetime_of_events() -> None:
    async with new_api(settings=ServerSettings(event_ttl_seconds=60.0)) as api, new_api() as other:
        for each in (api, other):
            assert (await each("POST", EVENTS, EVENT)).status == 201
            await _pass_time(each, 61)
        assert (await api("GET", f"{EVENTS}/e")).status == 404
        assert (await other("GET", f"{EVENTS}/e")).status == 200


async def test_owners_that_admission_repeats_are_stored_once_with_a_warning() -> None:
    async with new_api(admission=[Adopter()]) as api:
        made = await api("POST", CONFIG_MAPS, config_map())
        changed = await api.merge(f"{CONFIG_MAPS}/a", {"data": {"a": "2"}})
        for answer in (made, changed):
            assert answer.body["metadata"]["ownerReferences"] == [Adopter.OWNER]
            (warning,) = answer.warnings
            assert "duplicate entries after mutating admission happens" in warning


async def test_a_resource_version_is_refused_where_a_new_object_would_be_stored_and_not_before(api: Api) -> None:
    made = await api("POST", CONFIG_MAPS, config_map("kept"))
    stale = config_map("new")
    stale["metadata"]["resourceVersion"] = made.version
    refused = await api("POST", CONFIG_MAPS, stale)
    assert (refused.status, refused.body["message"]) == (
        400,
        "resourceVersion should not be set on objects to be created",
    )
    assert (await api("POST", CONFIG_MAPS, stale, query="dryRun=All")).status == 201
    stale["data"] = {"not a key": ""}
    assert (await api("POST", CONFIG_MAPS, stale)).body["reason"] == "Invalid"


async def test_what_admission_adds_is_stored_and_owned_by_nobody() -> None:
    async with new_api(admission=[Mutator()]) as api:
        made = await api("POST", CONFIG_MAPS, config_map(mine="1"))
        assert made.body["data"] == {"mine": "1", "added": "by-admission"}
        owned = made.body["metadata"]["managedFields"][0]["fieldsV1"]["f:data"]
        assert "f:mine" in owned
        assert "f:added" not in owned


async def test_what_admission_refuses_is_not_stored() -> None:
    async with new_api(admission=[Mutator()]) as api:
        refused = await api("POST", CONFIG_MAPS, config_map(refuse="me"))
        assert (refused.status, refused.body["reason"]) == (403, "Forbidden")
        assert (await api("GET", f"{CONFIG_MAPS}/a")).status == 404


class SameIds(SeededIds):
    """Ids whose generated names are always the same."""

    def suffix(self) -> str:
        return "aaaaa"


class Hesitant(SeededIds):
    """Ids whose generated names are one and the same at first, and then another."""

    def __init__(self) -> None:
        super().__init__(1)
        self._suffixes = iter(("first", "first", "other"))

    def suffix(self) -> str:
        return next(self._suffixes)


async def test_a_job_whose_generated_name_was_taken_labels_its_pods_by_the_next_one() -> None:
    async with new_api(ids=Hesitant()) as api:
        pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
        body = {"metadata": {"generateName": "j-"}, "spec": {"template": {"spec": pod}}}
        for name in ("j-first", "j-other"):
            made = (await api("POST", "/apis/batch/v1/namespaces/default/jobs", body)).body
            assert made["metadata"]["name"] == name
            for labels in (made["metadata"]["labels"], made["spec"]["template"]["metadata"]["labels"]):
                assert {labels["job-name"], labels["batch.kubernetes.io/job-name"]} == {name}


async def test_a_generated_name_that_is_never_free_is_given_up() -> None:
    async with new_api(ids=SameIds(1)) as api:
        body = {"metadata": {"generateName": "g-"}}
        first = await api("POST", CONFIG_MAPS, body)
        assert first.body["metadata"]["name"] == "g-aaaaa"
        second = await api("POST", CONFIG_MAPS, body)
        assert (second.status, second.body["reason"]) == (409, "AlreadyExists")
        assert second.body["details"]["retryAfterSeconds"] == 1
        assert "was not able to generate a unique name" in second.body["message"]


async def test_every_write_says_in_the_log_who_made_it(api: Api) -> None:
    await api("POST", CONFIG_MAPS, config_map(), query="fieldManager=me")
    entry = (await api.store.history("/core/configmaps/default/a"))[0]
    assert (entry.actor.user, entry.actor.field_manager) == ("system:admin", "me")
    assert entry.cause is not None
    assert len(entry.cause.id) == 36


async def test_an_event_leaves_the_log_by_itself(api: Api) -> None:
    event = {
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
        "reason": "Tested",
    }
    assert (await api("POST", "/api/v1/namespaces/default/events", event)).status == 201
    api.clock.advance(3601)
    await api.store.maintain()
    assert (await api("GET", "/api/v1/namespaces/default/events/e")).status == 404


class Rival(Plugin):
    """Creates an object of the same name just before a create is stored."""

    def __init__(self) -> None:
        self.act: Act | None = None

    async def mutate(self, context: Context, operation: Operation) -> None:
        act, self.act = self.act, None
        if act is not None:
            await act()

    async def validate(self, context: Context, operation: Operation) -> None:
        """Has no objections."""


async def test_an_apply_that_finds_a_rival_has_created_the_object_is_applied_to_it() -> None:
    rival = Rival()
    async with new_api(admission=[rival]) as api:
        rival.act = lambda: api("POST", CONFIG_MAPS, config_map(theirs="1"))
        answer = await api.apply(f"{CONFIG_MAPS}/a", config_map(mine="2"))
        assert (answer.status, answer.body["data"]) == (200, {"theirs": "1", "mine": "2"})


async def test_a_store_that_fails_is_no_fault_of_the_request(api: Api) -> None:
    await api.store.close()
    for answer in (await api("POST", CONFIG_MAPS, config_map()), await api("GET", f"{CONFIG_MAPS}/a")):
        assert (answer.status, answer.body["reason"]) == (503, "ServiceUnavailable")


async def test_an_applied_number_of_too_many_bits_is_cut_and_the_object_completed(api: Api) -> None:
    """As in Go, where the conversion of the merged object to its type drops the higher bits."""
    ports = [{"port": 80, "endPort": (1 << 32) + 90}]
    config = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "a"},
        "spec": {"ingress": [{"ports": ports}]},
    }
    found = await api.apply("/apis/networking.k8s.io/v1/namespaces/default/networkpolicies/a", config)
    assert found.status == 201
    assert found.body["spec"] == {
        "ingress": [{"ports": [{"port": 80, "endPort": 90, "protocol": "TCP"}]}],
        "podSelector": {},
        "policyTypes": ["Ingress"],
    }


@pytest.mark.parametrize(
    ("version", "status", "message"),
    [
        ("abc", 400, 'strconv.ParseUint: parsing "abc": invalid syntax'),
        ("-1", 400, 'strconv.ParseUint: parsing "-1": invalid syntax'),
        ("\u0663", 400, 'strconv.ParseUint: parsing "\u0663": invalid syntax'),
        (f"{1 << 64}", 400, 'strconv.ParseUint: parsing "18446744073709551616": value out of range'),
        (f"{(1 << 64) - 1}", 409, "the object has been modified"),
    ],
)
async def test_a_resource_version_that_is_no_number_is_refused(
    api: Api, version: str, status: int, message: str
) -> None:
    await api("POST", CONFIG_MAPS, config_map())
    changed = config_map(x="1")
    changed["metadata"]["resourceVersion"] = version
    found = await api("PUT", f"{CONFIG_MAPS}/a", changed)
    assert found.status == status
    assert message in found.body["message"]


async def test_a_new_object_has_no_status_of_the_client(api: Api) -> None:
    """Only the status subresource writes the status."""
    labels = {"a": "b"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "a", "image": "b"}]}}
    made = await api(
        "POST",
        "/apis/apps/v1/namespaces/default/deployments",
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "a"},
            "spec": {"selector": {"matchLabels": labels}, "template": pod},
            "status": {"replicas": 3},
        },
    )
    assert made.status == 201
    assert made.body["status"] == {}
