"""The store in etcd when things fail: lost answers, delayed requests, killed servers, expired logins."""

import asyncio
import random
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

import msgspec
import pytest
from aetcd.rpc import auth_pb2
from aetcd.rpc import rpc_pb2 as pb

from setpoint.objects.provenance import Actor
from setpoint.store.contract import ABSENT, ANY, Event, ExpectationFailed, StoreError, Watch
from setpoint.store.etcd import EtcdConfig, EtcdStore, OutcomeUnknown, Tls, Unreachable
from setpoint.store.etcd.fence import Fence

from .conftest import eventually
from .etcd_proxy import Proxy
from .etcd_server import EtcdServer, Outsider, etcd, require_etcd, shared_etcd
from .linearizability import Operation, explain

pytestmark = pytest.mark.slow

ALICE = Actor("alice")
SOON = 30.0
PROJECT = Path(__file__).parents[2]
_roots = count()


@pytest.fixture(autouse=True)
def _etcd_is_here() -> None:
    require_etcd()


@asynccontextmanager
async def opened(*endpoints: str, patience: float = 15.0, timeout: float = 5.0) -> AsyncIterator[EtcdStore]:
    # These tests are about the outcome of operations that outlast an outage.
    config = EtcdConfig(
        endpoints, f"/faults-{next(_roots)}", patience=patience, request_timeout=timeout, outage=2 * patience
    )
    store = await EtcdStore.open(config)
    try:
        yield store
    finally:
        await store.close()


async def take_until(watch: Watch, revision: int) -> list[Event]:
    events: list[Event] = []
    while not events or events[-1].entry.revision < revision:
        events += await asyncio.wait_for(watch.next(), SOON)
    return events


# Lost answers


async def test_a_write_whose_answer_was_lost_is_found_to_have_landed() -> None:
    async with Proxy(shared_etcd()) as proxy, opened(proxy.endpoint) as store:
        revision = 0
        for value in (b"1", b"2", None):
            proxy.swallow_answers()
            writing = asyncio.create_task(store.commit("a", value, revision, ALICE))
            await asyncio.sleep(0.1)
            proxy.cut()
            proxy.release()
            revision = await asyncio.wait_for(writing, SOON)
            assert revision == await store.revision()
        assert [entry.value for entry in await store.history("a")] == [None, b"2", b"1"]


async def test_a_write_whose_answer_was_lost_is_found_even_after_others_wrote_over_it() -> None:
    async with Proxy(shared_etcd()) as proxy, opened(proxy.endpoint) as store:
        other = await EtcdStore.open(EtcdConfig((shared_etcd().endpoint,), store._session.root.path))
        proxy.swallow_answers()
        writing = asyncio.create_task(store.commit("a", b"ours", ABSENT, ALICE))
        while (found := await other.get("a")) is None:
            await asyncio.sleep(0.01)
        for n in range(50):
            await other.commit("a", b"theirs %d" % n, ANY, ALICE)
        proxy.cut()
        proxy.release()
        assert await asyncio.wait_for(writing, SOON) == found.revision
        assert len(await other.history("a")) == 51
        await other.close()


async def test_a_lost_answer_about_a_failed_expectation_is_still_a_failure() -> None:
    async with Proxy(shared_etcd()) as proxy, opened(proxy.endpoint) as store:
        revision = await store.commit("a", b"1", ABSENT, ALICE)
        proxy.swallow_answers()
        writing = asyncio.create_task(store.commit("a", b"2", ABSENT, ALICE))
        await asyncio.sleep(0.1)
        proxy.cut()
        proxy.release()
        with pytest.raises(ExpectationFailed) as failed:
            await asyncio.wait_for(writing, SOON)
        assert failed.value.actual is not None
        assert failed.value.actual.revision == revision


async def test_a_write_that_was_held_up_can_no_longer_land_once_its_caller_was_told() -> None:
    async with Proxy(shared_etcd()) as proxy, opened(proxy.endpoint, shared_etcd().endpoint) as store:
        await store.commit("a", b"1", ABSENT, ALICE)
        proxy.hold_requests()
        writing = asyncio.create_task(store.commit("b", b"1", ABSENT, ALICE))
        await asyncio.sleep(0.1)
        proxy.cut()  # the caller turns to the other endpoint, writes there, and is told so
        await asyncio.wait_for(writing, SOON)
        await store.commit("b", None, ANY, ALICE)
        proxy.release()  # only now does the first attempt reach etcd: what it expects is true again
        await asyncio.sleep(0.3)
        assert await store.get("b") is None
        assert [entry.value for entry in await store.history("b")] == [None, b"1"]


async def test_a_write_behind_a_raised_fence_is_looked_up_on_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    searched, go_on = asyncio.Event(), asyncio.Event()
    find = Fence._find_pending

    async def paused(self: Fence, head: bytes, since: int, until: int, deadline: float) -> None:
        await find(self, head, since, until, deadline)
        searched.set()
        await go_on.wait()

    monkeypatch.setattr(Fence, "_find_pending", paused)
    async with Proxy(shared_etcd()) as proxy, opened(proxy.endpoint) as store:
        fence = store._writer._fence
        other = await EtcdStore.open(EtcdConfig((shared_etcd().endpoint,), store._session.root.path))

        async def lose(key: str) -> "asyncio.Task[int]":
            """Sends a write that etcd makes, and whose answer is lost."""
            proxy.swallow_answers()
            writing = asyncio.create_task(store.commit(key, b"1", ABSENT, ALICE))
            await eventually(lambda: is_there(key), f"{key} was written")
            proxy.cut()
            proxy.release()
            return writing

        async def is_there(key: str) -> bool:
            return await other.get(key) is not None

        first = await lose("a")
        await searched.wait()
        # The fence is raised, and etcd has told so in the answer to another write, before the raise has ended.
        fence.observe(fence.version + 1)
        second = await lose("b")
        go_on.set()
        revisions = await asyncio.wait_for(asyncio.gather(first, second), SOON)
        assert sorted(item.revision for item in (await store.range("")).items) == sorted(revisions)
        await other.close()


async def test_many_writes_lost_at_once_are_each_told_the_truth() -> None:
    async with Proxy(shared_etcd()) as proxy, opened(proxy.endpoint) as store:
        chance = random.Random(3)
        tasks = []
        for n in range(200):
            tasks.append(asyncio.create_task(store.commit(f"k{n}", b"1", chance.choice([ABSENT, ANY]), ALICE)))
            if n % 40 == 20:
                proxy.swallow_answers()
                await asyncio.sleep(chance.random() * 0.05)
                proxy.cut()
                proxy.release()
            await asyncio.sleep(0)
        revisions = await asyncio.wait_for(asyncio.gather(*tasks), SOON)
        items = (await store.range("")).items
        assert sorted(item.revision for item in items) == sorted(revisions)
        assert len(await store.log()) == 200


async def test_who_cannot_find_out_says_so() -> None:
    async with Proxy(shared_etcd()) as proxy, opened(proxy.endpoint, patience=0.5, timeout=0.5) as store:
        revision = await store.commit("a", b"1", ABSENT, ALICE)
        proxy.swallow_answers()
        writing = asyncio.create_task(store.commit("a", b"2", revision, ALICE))
        await asyncio.sleep(0.1)
        proxy.refusing = True
        proxy.cut()
        with pytest.raises(OutcomeUnknown, match=r"whether the write was made is not known: cannot reach etcd"):
            await asyncio.wait_for(writing, SOON)


async def test_who_could_not_even_ask_says_that_nothing_was_written() -> None:
    async with Proxy(shared_etcd()) as proxy, opened(proxy.endpoint, patience=0.3) as store:
        revision = await store.commit("a", b"1", ABSENT, ALICE)
        await proxy.stop()
        with pytest.raises(Unreachable):
            await store.commit("a", b"2", revision, ALICE)
        with pytest.raises(Unreachable):
            await store.get("a")


# Killed servers


async def test_nothing_acknowledged_is_lost_when_etcd_is_killed_under_load() -> None:
    with etcd(durable=True) as (server,):
        async with opened(server.endpoint) as store:
            watch = store.watch("", after=0)
            acknowledged: dict[str, int] = {}
            stop = asyncio.Event()

            async def write(name: int) -> None:
                n = 0
                while not stop.is_set():
                    n += 1
                    acknowledged[f"{name}/{n}"] = await store.commit(f"{name}/{n}", b"x", ABSENT, ALICE)

            writers = [asyncio.create_task(write(name)) for name in range(8)]
            for _ in range(3):
                await asyncio.sleep(0.4)
                await asyncio.to_thread(server.restart)
            await asyncio.sleep(0.3)
            stop.set()
            await asyncio.wait_for(asyncio.gather(*writers), SOON)
            items = {item.key: item.revision for item in (await store.range("")).items}
            assert items == acknowledged
            assert len(items) > 50
            # And the watch, which was open all the time, saw each of them once and in order.
            events = await take_until(watch, max(items.values()))
            assert [event.entry.revision for event in events] == sorted(items.values())


async def test_a_watch_goes_on_after_an_outage_during_which_others_compacted() -> None:
    with etcd() as (server,):
        async with opened(server.endpoint) as store, Outsider(server) as other:
            watch = store.watch("", after=0)
            first = await store.commit("a", b"1", ABSENT, ALICE)
            assert len(await take_until(watch, first)) == 1
            waiting = asyncio.create_task(watch.next())
            await asyncio.sleep(0)
            await other.compact()
            await asyncio.to_thread(server.restart)
            # etcd has forgotten where the watch was; but nothing of ours happened since.
            second = await store.commit("a", b"2", first, ALICE)
            (event,) = await asyncio.wait_for(waiting, SOON)
            assert (event.entry.revision, event.previous_value) == (second, b"1")


async def test_the_others_take_over_when_a_member_dies() -> None:
    with etcd(members=3) as servers:
        async with opened(*(server.endpoint for server in servers), timeout=10.0) as store:
            watch = store.watch("", after=0)
            revisions = []
            for n in range(60):
                if n == 20:
                    servers[0].kill()
                revisions.append(await store.commit("a", str(n).encode(), ANY, ALICE))
            events = await take_until(watch, revisions[-1])
            assert [event.entry.revision for event in events] == revisions
            assert [event.entry.value for event in events] == [str(n).encode() for n in range(60)]


async def test_operations_of_several_processes_are_linearizable_while_etcd_dies_and_returns() -> None:
    with etcd(durable=True) as (server,):
        command = [sys.executable, "-m", "tests.store.etcd_worker", server.endpoint, "/linear"]
        workers = [
            await asyncio.create_subprocess_exec(*command, str(seed), "4", stdout=subprocess.PIPE, cwd=PROJECT)
            for seed in range(3)
        ]
        reading = [asyncio.create_task(worker.communicate()) for worker in workers]
        for _ in range(2):
            await asyncio.sleep(1.5)
            await asyncio.to_thread(server.restart)
        outputs = [output for output, _ in await asyncio.gather(*reading)]
        assert [worker.returncode for worker in workers] == [0, 0, 0]
        history = [done for output in outputs for done in msgspec.msgpack.decode(output, type=list[Operation])]
        assert len(history) > 300
        assert explain(history) is None


# TLS and logins


def certificates(folder: Path) -> Tls:
    """An authority, and a certificate for the server and for us."""

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    (folder / "san").write_text("subjectAltName=IP:127.0.0.1\n")
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=test authority")
    for name in ("server", "client"):
        openssl("req", *key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        openssl(
            "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
            "-out", f"{name}.pem", "-days", "2", "-extfile", "san",
        )  # fmt: skip
    authority, certificate, secret = ((folder / name).read_bytes() for name in ("ca.pem", "client.pem", "client.key"))
    return Tls(authority, certificate, secret)


async def test_tls_proves_both_sides(tmp_path: Path) -> None:
    tls = certificates(tmp_path)
    flags = [
        f"--cert-file={tmp_path / 'server.pem'}",
        f"--key-file={tmp_path / 'server.key'}",
        f"--trusted-ca-file={tmp_path / 'ca.pem'}",
        "--client-cert-auth",
    ]
    with etcd(flags=flags, scheme="https") as (server,):
        url = f"https://{server.endpoint}/tls?ca={tmp_path}/ca.pem&cert={tmp_path}/client.pem&key={tmp_path}/client.key"
        assert EtcdConfig.from_url(url) == EtcdConfig((server.endpoint,), "/tls", tls)
        store = await EtcdStore.open(EtcdConfig.from_url(url))
        watch = store.watch("")
        assert await store.commit("a", b"1", ABSENT, ALICE) == 1
        assert len(await take_until(watch, 1)) == 1
        await store.close()
        for wrong in (tls._replace(certificate=None, key=None), tls._replace(ca=None), None):
            with pytest.raises(StoreError, match="cannot reach etcd"):
                await EtcdStore.open(EtcdConfig((server.endpoint,), tls=wrong, patience=0.2))


async def demand_logins(server: EtcdServer) -> None:
    """Gives etcd a root and a user `setpoint` that may use the keys below /mine, and lets nobody else in."""
    async with Outsider(server) as root:
        await root.auth.UserAdd(pb.AuthUserAddRequest(name="root", password="r00t"))
        await root.auth.RoleAdd(pb.AuthRoleAddRequest(name="root"))
        await root.auth.UserGrantRole(pb.AuthUserGrantRoleRequest(user="root", role="root"))
        await root.auth.UserAdd(pb.AuthUserAddRequest(name="setpoint", password="p:w@rd"))
        await root.auth.RoleAdd(pb.AuthRoleAddRequest(name="mine"))
        permission = auth_pb2.Permission(permType=auth_pb2.Permission.READWRITE, key=b"/mine/", range_end=b"/mine0")
        await root.auth.RoleGrantPermission(pb.AuthRoleGrantPermissionRequest(name="mine", perm=permission))
        await root.auth.UserGrantRole(pb.AuthUserGrantRoleRequest(user="setpoint", role="mine"))
        await root.auth.AuthEnable(pb.AuthEnableRequest())


async def test_a_login_is_renewed_when_etcd_has_forgotten_it() -> None:
    with etcd() as (server,):
        await demand_logins(server)
        config = EtcdConfig.from_url(f"http://setpoint:p%3Aw%40rd@{server.endpoint}/mine")
        store = await EtcdStore.open(config)
        watch = store.watch("", after=0)
        assert await store.commit("a", b"1", ABSENT, ALICE) == 1
        await take_until(watch, 1)
        await asyncio.to_thread(server.restart)  # its tokens were only in its memory
        waiting = asyncio.create_task(watch.next())
        await asyncio.sleep(0.3)  # the watch comes back first, and has to log in by itself
        revision = await store.commit("a", b"2", 1, ALICE)
        assert [event.entry.revision for event in await asyncio.wait_for(waiting, SOON)] == [revision]
        assert await store.oldest() == 0
        await store.maintain()
        await store.close()


async def test_whom_etcd_does_not_let_in_is_told_why() -> None:
    with etcd() as (server,):
        await demand_logins(server)
        mine = EtcdConfig((server.endpoint,), "/mine", patience=0.5)
        for config, reason in (
            (mine, "etcd wants a user"),
            (mine._replace(user="setpoint", password="wrong"), "does not know this user and password"),
            (mine._replace(user="setpoint", password="p:w@rd", root="/theirs"), "permission denied"),
        ):
            with pytest.raises(StoreError, match=reason):
                await EtcdStore.open(config)
