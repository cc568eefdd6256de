"""The examples do what they say: as programs, and, piece by piece, when things go wrong."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from examples.bucket_operator import FINALIZER, Bucket, Buckets, BucketSpec, Storage
from examples.generating_operator import RegistrationToken, TokenSpec, registration
from examples.guarded_kind import Ticket, TicketSpec, check, fill_in, ticket
from examples.phased_operator import Cloud, SecureStorage, StorageSpec, secure_storage
from examples.website_operator import Website, WebsiteSpec, replicas_are_up, website
from tests.clients.serving import Serving, serving

import setpoint as sp
from setpoint import testing
from setpoint.api.apps.v1 import Deployment
from setpoint.api.core.v1 import Secret, Service
from setpoint.objects.errors import APIError

# Runs every example as a user does, in a process of its own.
pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PATIENCE = 30.0

SAID = {
    "minimal_controller": ["Hello, world!"],
    "website_operator": [
        "the Deployment is there, for 2 replicas",
        "the website says: 2 of 2 replicas are up",
        "the Deployment went with it",
    ],
    "bucket_operator": ["made: https://default-photos.north.example.com", "gone, and the provider has: {}"],
    "generating_operator": [
        "whoever registers is told: clusterNamespace, apiServerURL, tokenName, token",
        "with the token, all of it went",
    ],
    "token_operator": [
        "roles: default, everywhere, kube-system",
        "the Secret has a token",
        "after the change: default",
        "all of it is gone",
    ],
    "phased_operator": [
        "waiting, after: create photos",
        "ready, after: create photos, grant keys principal-1, encrypt photos",
        "gone, and the cloud has: {}",
    ],
    "label_zone_chain": [
        "rented, though the cloud is down: ['m1'], []",
        "m1 is in the south",
        "m1 left the south; rented: []",
    ],
    "guarded_kind": [
        "the priority is normal",
        'refused: admission webhook "validate.ticket.example.com" denied the request: '
        "an urgent ticket needs an assignee: set spec.assignee",
    ],
    "web_and_worker": ["the worker ended with 0", "hello from the web", "the web server is Running"],
}


@pytest.mark.parametrize("name", SAID)
def test_an_example_tells_its_story(name: str, tmp_path: Path) -> None:
    program = [sys.executable, "-W", "error", str(ROOT / f"examples/{name}.py")]
    own = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    done = subprocess.run(program, capture_output=True, text=True, timeout=PATIENCE, env=own)
    assert (done.returncode, done.stdout.splitlines()) == (0, SAID[name]), done.stderr


@pytest.fixture
async def client() -> AsyncIterator[sp.Client]:
    async with asyncio.timeout(PATIENCE), sp.ControlPlane() as plane, plane.client() as client:
        yield client


def site(replicas: int = 1) -> Website:
    metadata = sp.ObjectMeta(name="blog", namespace="default")
    return Website(metadata=metadata, spec=WebsiteSpec(image="nginx:1.29", replicas=replicas))


def bucket(region: str = "north") -> Bucket:
    return Bucket(metadata=sp.ObjectMeta(name="photos", namespace="default"), spec=BucketSpec(region=region))


async def test_a_website_follows_its_spec_and_mends_what_others_break(client: sp.Client) -> None:
    await client.install(Website)
    async with sp.Manager(client, controllers=[website]):
        await client.create(site())
        await client.wait_for(Deployment, "blog", "default", "create")
        await client.edit(Website, "blog", "default", lambda found: setattr(found.spec, "replicas", 3))
        await client.wait_for(Deployment, "blog", "default", "jsonpath={.spec.replicas}=3")
        before = await client.wait_for(Service, "blog", "default", "create")
        assert before is not None
        await client.delete(before)
        await client.wait_for(
            Service,
            "blog",
            "default",
            lambda found: found is not None and found.metadata.uid != before.metadata.uid,
        )


@pytest.mark.feature("E3", "E89")
async def test_phases_that_are_done_are_not_done_again_whenever_the_operator_ends() -> None:
    metadata = sp.ObjectMeta(name="photos", namespace="default")
    storage = SecureStorage(metadata=metadata, spec=StorageSpec(vault="keys"))
    async for crash in testing.every_crash(crds=[SecureStorage], objects=[storage]):
        cloud = Cloud()

        async def is_ready(world: testing.World = crash.world, cloud: Cloud = cloud) -> bool:
            if cloud.identities.get("photos") == "":
                cloud.identities["photos"] = "principal-1"
            return sp.is_ready(await world.find(SecureStorage, "photos")) and bool(cloud.encrypted)

        await crash.run(secure_storage(cloud), until=is_ready)
        assert cloud.calls == ["create photos", "grant keys principal-1", "encrypt photos"], crash


@pytest.mark.feature("E11")
async def test_a_registration_token_and_all_that_it_made_go_when_its_time_is_over() -> None:
    token = RegistrationToken(metadata=sp.ObjectMeta(name="import", namespace="default"), spec=TokenSpec(ttl=3600))
    async with testing.world(crds=[RegistrationToken], objects=[token], system=True) as world:
        await world.run(registration("https://fleet.example.com"))
        await world.eventually(lambda: world.find(Secret, "import"))
        await world.advance(3500)
        assert await world.find(RegistrationToken, "import") is not None
        with world.expect(sp.TerminalError, match="Expired"):
            await world.advance(200)
        assert await world.find(RegistrationToken, "import") is None

        async def nothing_is_left() -> bool:
            return await world.find(Secret, "import") is None

        await world.eventually(nothing_is_left)


async def test_a_bucket_outlives_its_provider_s_bad_days(client: sp.Client) -> None:
    storage = Storage()
    await client.install(Bucket)
    storage.is_down = True
    async with sp.Manager(client, controllers=[Buckets(storage)]):
        await client.create(bucket())
        await client.wait_for(Bucket, "photos", "default", "jsonpath={.metadata.finalizers[0]}=" + FINALIZER)
        assert not storage.buckets
        storage.is_down = False
        await client.wait_for(Bucket, "photos", "default", "jsonpath={.status.address}")
        storage.is_down = True
        await client.delete(Bucket, "photos", "default")
        assert (await client.get(Bucket, "photos", "default")).metadata.deletion_timestamp is not None
        assert storage.buckets == {"default-photos": "north"}
        storage.is_down = False
        await client.wait_for(Bucket, "photos", "default", "delete")
        assert not storage.buckets


async def test_a_bucket_is_made_again_when_the_provider_has_lost_it(client: sp.Client) -> None:
    storage = Storage()
    await client.install(Bucket)
    async with sp.Manager(client, controllers=[Buckets(storage, look_again=0.01)]):
        await client.create(bucket())
        while not storage.buckets:
            await asyncio.sleep(0.01)
        storage.buckets.clear()
        while not storage.buckets:
            await asyncio.sleep(0.01)


async def test_the_functions_of_webhooks_decide_in_the_process_of_the_server_as_well() -> None:
    async with sp.ControlPlane(admission=sp.in_process([fill_in, check])) as plane, plane.client() as client:
        await client.install(Ticket)
        assert (await client.create(ticket("a", TicketSpec(title="A")))).spec.priority == "normal"
        with pytest.raises(APIError, match="needs an assignee"):
            await client.create(ticket("b", TicketSpec(title="B", priority="urgent")))


@contextmanager
def operating(server: Serving, log: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """The operator as a process, on the cluster of a kubeconfig."""
    environment = {**os.environ, "KUBECONFIG": str(server.kubeconfig), "PYTHONPATH": str(ROOT)}
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "examples.on_a_cluster", "--pages", "127.0.0.1:0"],
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(PATIENCE)


async def test_the_operator_runs_on_a_cluster_by_its_kubeconfig_and_ends_when_told(tmp_path: Path) -> None:
    log = tmp_path / "operator.log"

    async def test(client: sp.Client) -> None:
        await client.wait_for(
            "apiextensions.k8s.io/v1/CustomResourceDefinition", "websites.example.com", "", "condition=Established"
        )
        await client.create(site(2))
        await client.wait_for(Deployment, "blog", "default", "create")
        await client.edit(Deployment, "blog", "default", replicas_are_up, subresource="status")
        await client.wait_for(Website, "blog", "default", "condition=Ready")

    with serving(tmp_path) as server, operating(server, log) as process:

        async def main() -> None:
            async with asyncio.timeout(PATIENCE), sp.Client.from_kubeconfig(server.kubeconfig) as client:
                await test(client)

        try:
            await main()
        except TimeoutError:
            pytest.fail(log.read_text())
        process.terminate()
        assert process.wait(PATIENCE) == 0, log.read_text()
        lease = server.get("/apis/coordination.k8s.io/v1/namespaces/default/leases/websites")
        assert not lease["spec"].get("holderIdentity")
        assert "Traceback" not in log.read_text()
