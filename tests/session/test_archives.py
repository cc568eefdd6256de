"""A session in one file and back: the same revisions, times, actors and causes; no secrets; nothing can be changed."""

import asyncio
import base64
import json
import os
import tempfile
import zipfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.session.killed import eventually, hosted

import setpoint as sp
from setpoint.cli.main import main
from setpoint.client.client import Client
from setpoint.objects.clock import ManualClock, SystemClock
from setpoint.objects.errors import APIError, Expired, Forbidden, NotAcceptable, NotFound
from setpoint.objects.provenance import Actor, Cause, Reason
from setpoint.objects.tree import Object
from setpoint.past.archive.format import MANIFEST, REVISIONS, ArchivedRevision, BadArchive, Lines, Manifest
from setpoint.past.archive.reader import opened, read_manifest
from setpoint.plane import Serving
from setpoint.session.archive.secrets import Secrets
from setpoint.session.archive.sources import ServerSource, StoreSource, lines
from setpoint.session.archive.unpack import unpack
from setpoint.session.archive.viewer import name_for
from setpoint.session.archive.writer import ArchiveContents, write_archive
from setpoint.session.paths import Places
from setpoint.session.registry import Sessions
from setpoint.store.contract import Retention
from setpoint.store.sqlite import SqliteStore

HISTORY = "/apis/setpoint.dev/v1/namespaces/default/{}/history"
LOG = "/apis/setpoint.dev/v1/revisions"
WHY = "it was opened to be read"


def configmap(name: str, **data: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": data}


def secret(name: str, **values: str) -> Object:
    data = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
    return {**configmap(name), "kind": "Secret", "data": data, "type": "Opaque"}


async def exported(client: Client, path: Path, **wanted: Any) -> Manifest:
    return (
        await write_archive(path, ServerSource(client), ArchiveContents("shop", "shop-1234", **wanted), client.clock)
    ).manifest


@asynccontextmanager
async def imported(path: Path, directory: Path) -> AsyncIterator[Client]:
    """A client of a plane that shows an archive."""
    places = Places(directory / "imported")
    places.data.mkdir()
    with opened(path) as archive:
        unpack(archive, read_manifest(archive), places)
    store = await SqliteStore.open(places.store, retention=Retention(), durability="off", sparse=True)
    try:
        async with sp.ControlPlane(store, serving=Serving(read_only=WHY)) as plane:
            yield plane.client()
    finally:
        await store.close()


async def read(client: Client, path: str, **query: str) -> Any:
    return msgspec.json.decode((await client.raw("GET", path, query=list(query.items()))).body)


async def log_of(client: Client) -> list[Object]:
    """Every line of the log that is told."""
    items: list[Object] = []
    after = "0"
    while True:
        page = await read(client, LOG, after=after)
        items += page["items"]
        if not (after := page["metadata"].get("continue", "")):
            return items


def contents(path: Path) -> bytes:
    """Everything in an archive."""
    with zipfile.ZipFile(path) as archive:
        return b"\n".join(archive.read(name) for name in archive.namelist())


async def test_what_comes_back_is_the_very_same_past(tmp_path: Path) -> None:
    path = tmp_path / "shop.setpoint"
    async with sp.ControlPlane(system=False) as plane:
        client = plane.client(user="ada", groups=["system:masters"], field_manager="by-hand")
        await client.create(
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRoleBinding",
                "metadata": {"name": "writers"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"},
                "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "writers"}],
            }
        )
        made = await client.create(configmap("colours", a="red"))
        for value in ("green", "blue"):
            made["data"]["a"] = value
            made = await client.update(made)
        await client.create(configmap("gone", a="1"))
        await client.delete("v1/ConfigMap", "gone", "default")
        await client.create(configmap("gone", a="2"))
        # A fact of the administrator's, and a claim of somebody else.
        why = Cause.reconcile("web", "default/a", "r-1", (Reason("timer"),))
        await client.with_options(cause=why).create(configmap("caused"))
        await client.with_options(cause=why).as_("eve", "writers").create(configmap("claimed"))
        log = await log_of(client)
        histories = {name: await read(client, HISTORY.format(f"configmaps/{name}")) for name in ("colours", "gone")}
        manifest = await exported(client, path)
    assert manifest.revisions == len(log)
    assert [item["cause"].get("claimedBy") for item in log[-2:]] == [None, "eve"]
    async with imported(path, tmp_path) as client:
        assert await log_of(client) == log
        for name, history in histories.items():
            assert await read(client, HISTORY.format(f"configmaps/{name}")) == history
        first = histories["colours"]["items"][-1]
        before = await client.get("v1/ConfigMap", "colours", "default", at=int(first["revision"]))
        assert before["data"] == {"a": "red"}
        assert (await client.get("v1/ConfigMap", "colours", "default"))["metadata"] == made["metadata"]
        assert (first["actor"]["user"], first["actor"]["fieldManager"]) == ("ada", "by-hand")


async def test_purged_values_are_told_as_such_in_an_archive(tmp_path: Path) -> None:
    path = tmp_path / "shop.setpoint"
    where = "/apis/setpoint.dev/v1/namespaces/default/configmaps/colours/purge"
    async with sp.ControlPlane(system=False) as plane:
        client = plane.client()
        for value in ("red", "green", "blue"):
            await client.apply(configmap("colours", a=value), field_manager="test")
        body = msgspec.json.encode({"reason": "leaked"})
        await client.raw("POST", where, body=body, headers={"content-type": "application/json"})
        history = await read(client, HISTORY.format("configmaps/colours"))
        assert [item["type"] for item in history["items"]] == ["MODIFIED", "PURGED", "PURGED"]
        await exported(client, path)
    async with imported(path, tmp_path) as client:
        again = await read(client, HISTORY.format("configmaps/colours"))
        assert again["items"] == history["items"]
        first = int(history["items"][-1]["revision"])
        with pytest.raises(Expired, match="was purged"):
            await client.get("v1/ConfigMap", "colours", "default", at=first)
        with pytest.raises(Forbidden, match=WHY):
            await client.raw("POST", where, body=body, headers={"content-type": "application/json"})


async def test_every_write_is_refused_with_a_sentence_and_reading_is_not(tmp_path: Path) -> None:
    path = tmp_path / "shop.setpoint"
    async with sp.ControlPlane(system=False) as plane:
        await plane.client().create(configmap("colours", a="red"))
        await exported(plane.client(), path)
    async with imported(path, tmp_path) as client:
        found = await client.get("v1/ConfigMap", "colours", "default")
        revision = (await read(client, LOG))["metadata"]["resourceVersion"]
        for write in (
            lambda: client.create(configmap("new")),
            lambda: client.update({**found, "data": {}}),
            lambda: client.delete("v1/ConfigMap", "colours", "default"),
            lambda: client.raw("PATCH", "/api/v1/namespaces/default/configmaps/colours", body=b"{}"),
            lambda: client.raw("DELETE", "/api/v1/namespaces/default/configmaps"),
            lambda: client.raw("POST", "/api/v1/namespaces/default/serviceaccounts/default/token", body=b"{}"),
        ):
            with pytest.raises(Forbidden) as caught:
                await write()
            assert caught.value.message.endswith(f"forbidden: {WHY}")
        assert (await read(client, LOG))["metadata"]["resourceVersion"] == revision, "nothing at all was written"
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        assert (await client.create(review))["status"], "questions that write nothing are answered"


async def test_no_secret_is_anywhere_in_it_and_its_changes_still_are(tmp_path: Path) -> None:
    path = tmp_path / "shop.setpoint"
    async with sp.ControlPlane(system=False) as plane:
        client = plane.client()
        made = await client.create(secret("db", password="hunter2-first", user="shop"))
        made["data"] = secret("db", password="hunter2-second", user="shop")["data"]
        await client.update(made)
        await client.create(configmap("shop", url="postgres://shop:hunter2-first@db/x", says="it is hunter2-second!"))
        await client.create(
            configmap("words", note="user shop said: hunter2-urlonly", at="amqp://u:hunter2-urlonly@mq")
        )
        pod: Object = {**configmap("web"), "kind": "Pod"}
        del pod["data"]
        env = [{"name": "API_TOKEN", "value": "hunter2-token"}, {"name": "MODE", "value": "fast"}]
        pod["spec"] = {"containers": [{"name": "web", "image": "web", "env": env, "args": ["--key=hunter2-token"]}]}
        await client.create(pod)
        before = await read(client, HISTORY.format("secrets/db"))
        await exported(client, path, texts={"app/setpoint.yaml": "db: hunter2-first\n"})
    everything = contents(path)
    assert b"hunter2" not in everything
    assert base64.b64encode(b"hunter2-second") not in everything
    async with imported(path, tmp_path) as client:
        after = await read(client, HISTORY.format("secrets/db"))
        assert [each["patch"][0]["path"] for each in after["items"]] == [
            each["patch"][0]["path"] for each in before["items"]
        ]
        shop = (await client.get("v1/ConfigMap", "shop", "default"))["data"]
        assert shop["url"].startswith("postgres://shop:***"), "a name that is a value of a secret too stays readable"
        args = (await client.get("v1/Pod", "web", "default"))["spec"]["containers"][0]["args"]
        assert args[0].startswith("--key=***")


async def test_since_begins_with_the_state_as_of_then(tmp_path: Path) -> None:
    path, clock = tmp_path / "shop.setpoint", ManualClock(datetime(2026, 1, 31, 12, tzinfo=UTC))
    async with sp.ControlPlane(system=False, clock=clock) as plane:
        client = plane.client()
        made = await client.create(configmap("colours", a="red"))
        made["data"]["a"] = "green"
        made = await client.update(made)
        await client.create(configmap("gone"))
        await client.delete("v1/ConfigMap", "gone", "default")
        clock.advance(600)
        made["data"]["a"] = "blue"
        made = await client.update(made)
        manifest = await exported(client, path, since=clock.now() - timedelta(seconds=60))
    assert b'"gone"' not in contents(path)
    async with imported(path, tmp_path) as client:
        history = await read(client, HISTORY.format("configmaps/colours"))
        assert history["items"][0]["revision"] == made["metadata"]["resourceVersion"]
        at = await client.get("v1/ConfigMap", "colours", "default", at=manifest.oldest)
        assert at["data"] == {"a": "green"}
        with pytest.raises(Expired):
            await client.get("v1/ConfigMap", "colours", "default", at=1)


async def test_a_directory_and_a_server_over_it_give_the_same_archive(tmp_path: Path) -> None:
    places = Places(tmp_path / "session")
    places.data.mkdir()
    async with sp.ControlPlane(f"sqlite:{places.store}", system=False) as plane:
        await plane.client().create(configmap("colours", a="red"))
        await plane.client().create(secret("db", password="hunter2"))
        await exported(plane.client(), tmp_path / "live")
    store = await SqliteStore.open(places.store)
    clock = SystemClock()
    await write_archive(
        tmp_path / "ended", StoreSource(store, places, clock), ArchiveContents("shop", "shop-1234"), clock
    )
    await store.close()
    lines = []
    for name in ("live", "ended"):
        with zipfile.ZipFile(tmp_path / name) as archive:
            lines.append(archive.read(REVISIONS).splitlines())
    assert lines[0] == lines[1]


async def test_who_may_not_read_everything_cannot_take_a_copy(tmp_path: Path) -> None:
    async with sp.ControlPlane(system=False) as plane:
        client = plane.client()
        rule = {"apiGroups": ["setpoint.dev"], "resources": ["revisions"], "verbs": ["list"]}
        role: Object = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "log"}}
        of = {"apiGroup": "rbac.authorization.k8s.io"}
        subject = {**of, "kind": "User", "name": "eve"}
        given = {"roleRef": {**of, "kind": "ClusterRole", "name": "log"}, "subjects": [subject]}
        await client.create({**role, "kind": "ClusterRole", "rules": [rule]})
        await client.create({**role, "kind": "ClusterRoleBinding", **given})
        with pytest.raises(Forbidden):
            await exported(plane.client(user="eve"), tmp_path / "taken")
    assert list(tmp_path.iterdir()) == [], "nothing half-done is left"


# Files that are no archives


def line(revision: int, **more: Any) -> bytes:
    tree = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    told = {
        "revision": revision,
        "key": "/core/configmaps/default/a",
        "time": "2026-01-31T12:00:00.000000Z",
        "value": tree,
    }
    return json.dumps({**told, "created": revision, **more}).encode() + b"\n"


def pack(path: Path, lines: bytes, revisions: int, more: dict[str, bytes] | None = None, **manifest: Any) -> Path:
    told = {
        "format": 1, "setpoint": "9.9", "app": "shop", "session": "", "exported": "2026-01-31T12:00:00.000000Z",
        "oldest": 0, "revision": 9, "revisions": revisions, **manifest,
    }  # fmt: skip
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(REVISIONS, lines)
        archive.writestr(MANIFEST, json.dumps(told))
        for name, data in (more or {}).items():
            archive.writestr(name, data)
    return path


def open_up(path: Path, directory: Path) -> None:
    places = Places(directory / "opened")
    places.data.mkdir()
    with opened(path) as archive:
        unpack(archive, read_manifest(archive), places)


BAD: dict[str, tuple[Callable[[Path], Path], str]] = {
    "another file": (lambda path: _text(path, b"hello"), "is not a complete archive"),
    "another zip": (lambda path: _zip(path, {"a.txt": b"hello"}), "setpoint.json is missing"),
    "cut off": (lambda path: _cut(pack(path, line(1), 1)), "copy the file again"),
    "newer": (lambda path: pack(path, line(1), 1, format=2), r"created by a newer Setpoint \(9.9\)"),
    "no revisions": (lambda path: _zip(path, {MANIFEST: _manifest()}), "revisions.jsonl is missing"),
    "fewer lines": (lambda path: pack(path, line(1), 2), "has 1 lines, expected 2"),
    "no JSON": (lambda path: pack(path, b"{\n", 1), "line 1 is invalid"),
    "backwards": (lambda path: pack(path, line(3) + line(2, previous=3), 2), "does not follow 3"),
    "beyond the end": (lambda path: pack(path, line(10), 1), "does not follow 0"),
    "a gap": (lambda path: pack(path, line(1) + line(5, previous=3), 2), "expected 1"),
    "twice": (lambda path: pack(path, line(1) + line(1, previous=1), 2), "twice"),
    "no object": (lambda path: pack(path, line(1, value=[]), 1), "line 1"),
    "no name": (lambda path: pack(path, line(1, value={"apiVersion": "v1", "kind": "A", "metadata": {}}), 1), "line 1"),
    "no key": (lambda path: pack(path, line(1, key=""), 1), "must not be empty"),
    "no time": (lambda path: pack(path, line(1, time="soon"), 1), "line 1"),
    "upwards": (lambda path: pack(path, line(1), 1, {"../../evil": b""}), "is outside of the archive"),
    "absolute": (lambda path: pack(path, line(1), 1, {"/etc/evil": b""}), "is outside of the archive"),
    "a log without times": (
        lambda path: pack(path, line(1), 1, {"logs/a-b/stdout.log": b"x\n"}),
        "does not begin with a time",
    ),
    "bounds": (lambda path: pack(path, line(1), 1, oldest=10), "oldest revision is after the last"),
}


def _text(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def _zip(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def _cut(path: Path) -> Path:
    path.write_bytes(path.read_bytes()[:-30])
    return path


def _manifest() -> bytes:
    return json.dumps(
        {
            "format": 1,
            "setpoint": "1",
            "app": "a",
            "session": "",
            "exported": "2026-01-31T12:00:00.000000Z",
            "oldest": 0,
            "revision": 1,
            "revisions": 0,
        }
    ).encode()


@pytest.mark.parametrize("case", BAD)
def test_what_is_no_archive_is_refused_with_what_is_wrong(case: str, tmp_path: Path) -> None:
    make, says = BAD[case]
    with pytest.raises(BadArchive, match=says):
        open_up(make(tmp_path / "bad.setpoint"), tmp_path)


def test_a_small_file_that_would_become_a_huge_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("setpoint.past.archive.reader._LARGE", 1 << 20)
    path = pack(tmp_path / "bomb", line(1), 1, {"logs/a/stdout.log": bytes(8 << 20)})
    with pytest.raises(BadArchive, match="would expand to"):
        open_up(path, tmp_path)


def test_a_damaged_byte_is_noticed(tmp_path: Path) -> None:
    path = pack(tmp_path / "damaged", line(1) * 1, 1, {"logs/a/stdout.log": os.urandom(4096)})
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(BadArchive):
        open_up(path, tmp_path)


async def test_an_archive_with_next_to_nothing_in_it_is_shown_as_it_is(tmp_path: Path) -> None:
    async with imported(pack(tmp_path / "little", line(3), 1), tmp_path) as client:
        (found,) = (await client.list("v1/ConfigMap", "default")).items
        assert (found["metadata"]["name"], found["metadata"]["resourceVersion"]) == ("a", "3")
        assert (await read(client, LOG))["metadata"]["resourceVersion"] == "9"
        assert (await client.list("v1/Namespace")).items == [], "nothing is made up"


DEEDS = st.lists(
    st.tuples(st.sampled_from(["write", "write", "delete", "forget", "raw"]), st.integers(0, 3)),
    min_size=1,
    max_size=25,
)


@settings(max_examples=5)
@given(deeds=DEEDS, live=st.booleans())
def test_whatever_was_done_everything_is_as_it_was_at_every_revision(deeds: list[tuple[str, int]], live: bool) -> None:
    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(_there_and_back(deeds, Path(directory), live=live))


async def _there_and_back(deeds: list[tuple[str, int]], place: Path, *, live: bool) -> None:
    store, clock = await SqliteStore.open(place / "store", durability="off"), SystemClock()
    async with sp.ControlPlane(store, system=False) as plane:
        client = plane.client()
        for number, (deed, which) in enumerate(deeds):
            with suppress(NotFound):
                if deed == "write":
                    await client.apply(configmap(f"c{which}", n=str(number)), field_manager="test")
                elif deed == "delete":
                    await client.delete("v1/ConfigMap", f"c{which}", "default")
                elif deed == "raw":
                    await store.commit("/no/object", str(number).encode(), None, Actor("test"))
                else:
                    await store.compact(await store.revision() - which)
        revisions = range(max(await store.oldest(), 1), await store.revision() + 1)
        before = [await _state(client, at) for at in revisions]
        source = ServerSource(client) if live else StoreSource(store, Places(place), clock)
        await write_archive(place / "archive", source, ArchiveContents("shop", ""), clock)
    await store.close()
    async with imported(place / "archive", place) as client:
        assert [await _state(client, at) for at in revisions] == before


async def _state(client: Client, at: int) -> list[Object]:
    return list((await client.list("v1/ConfigMap", "default", at=at)).items)


@given(st.lists(st.sampled_from(["write", "delete"]), max_size=20))
def test_any_life_of_a_key_is_read_back(deeds: list[str]) -> None:
    lines, there = [], 0
    for number, deed in enumerate(deeds, 1):
        if deed == "delete" and not there:
            continue
        more: dict[str, Any] = {"previous": there}
        lines.append(line(number, **more, **({"value": None} if deed == "delete" else {})))
        there = 0 if deed == "delete" else number
    manifest = Manifest(1, "1", "a", "", "", 0, len(deeds), len(lines))
    entries = list(Lines(manifest).read(iter(lines)))
    again = [msgspec.json.encode(ArchivedRevision.of(entry, entry.value)) for entry in entries]
    assert list(Lines(manifest).read(iter(again))) == entries


LITERALS = ("true", "false", "null", "none", "default")


@pytest.mark.parametrize("value", LITERALS)
def test_a_common_setting_is_masked_where_it_is_secret_only(value: str) -> None:
    found = Secrets()
    pod = {"kind": "Pod", "spec": {"env": [{"name": "PASSWORD", "value": value}]}}
    found.record("web", msgspec.json.encode(pod))
    found.compile()
    assert found.text(f"the probe is {value}") == f"the probe is {value}"
    assert msgspec.json.decode(found.object(msgspec.json.encode(pod)))["spec"]["env"][0]["value"] == "***1"


@given(st.text(min_size=4, max_size=20), st.text(max_size=20), st.text(max_size=20))
def test_a_known_secret_is_in_no_text_any_more(value: str, before: str, after: str) -> None:
    if value.startswith(("***", '{"')) or (value.isdecimal() and len(value) < 6) or value in LITERALS:
        return
    found = Secrets()
    pod = {"kind": "Pod", "spec": {"env": [{"name": "PASSWORD", "value": value}]}}
    found.record("web", msgspec.json.encode(pod))
    found.compile()
    assert value not in found.text(f"{before}{value}{after}").replace("***1", "")


def test_a_key_in_several_lines_is_hidden_line_by_line() -> None:
    found = Secrets()
    key = "-----BEGIN KEY-----\nabcdefghij\nklmnopqrst\n-----END KEY-----"
    data = base64.b64encode(key.encode()).decode()
    found.record("tls", msgspec.json.encode({"kind": "Secret", "data": {"tls.key": data}}))
    found.compile()
    printed = found.output(b"12:00 -----BEGIN KEY-----\n12:00 abcdefghij\n12:00 klmnopqrst\n")
    assert b"abcdefghij" not in printed
    assert b"klmnopqrst" not in printed


async def test_a_line_without_end_is_cut_and_comes_back(tmp_path: Path) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"2026-01-31T12:00:00.000Z "
        for _ in range(9):
            yield b"x" * (1 << 20)
        yield b"\n2026-01-31T12:00:01.000Z end\n"

    found = [piece async for piece in lines(pieces())]
    assert max(map(len, found)) < 8 << 20
    assert sum(piece.count(b"x") for piece in found) == 9 << 20
    path = pack(tmp_path / "long", line(1), 1, {"logs/a/stdout.log": b"".join(found)})
    open_up(path, tmp_path)
    files = (tmp_path / "opened" / "workloads" / "logs" / "a").glob("stdout.*.log")
    text = b"".join(file.read_bytes() for file in sorted(files))
    assert text.count(b"x") == 9 << 20
    assert text.endswith(b"\nend\n")


@pytest.mark.parametrize(
    ("file", "name"),
    [("shop-20260131.setpoint", "shop-20260131"), ("My Shop (1).setpoint", "my-shop-1"), ("___.setpoint", "archive")],
)
def test_an_archive_is_called_as_its_file(file: str, name: str) -> None:
    assert name_for(Path(file)) == name


# The commands


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    found = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state"), "HOME": str(tmp_path)}
    for name in ("KUBECONFIG", "NO_COLOR", "FORCE_COLOR"):
        found.pop(name, None)
    return found


@pytest.fixture
def setpoint(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Result]]:
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(main, list(arguments), env=environ)

    yield run
    for session in Sessions.of(environ).alive():
        if session.imported:
            run("down", "--session", session.id)


@pytest.mark.slow
def test_questions_have_the_same_answers_before_and_after(
    setpoint: Callable[..., Result], environ: dict[str, str], tmp_path: Path
) -> None:
    with hosted(tmp_path, environ, workers=0) as host:
        (tmp_path / "app.yaml").write_text(APP)
        assert setpoint("apply", "-f", "app.yaml", "--session", "shop").exit_code == 0
        eventually(lambda: "Finished" in setpoint("ps", "--session", "shop").stdout)
        eventually(lambda: "hello" in setpoint("logs", "talker", "--session", "shop").stdout)
        first = json.loads(setpoint("history", "exe/talker", "-o", "json", "--session", "shop").stdout)["items"][-1]
        questions = [
            ("at", str(first["revision"]), "get", "exe", "-o", "name"),
            ("history", "exe/talker", "-o", "json"),
            ("history", "exe/failer"),
            ("timeline",),
            ("blame", "exe/failer"),
            ("logs", "-t"),
            ("get", "exe", "-o", "name"),
        ]
        before = {each: setpoint(*each, "--session", "shop").output for each in questions}
        why = setpoint("why", "failer", "--session", "shop").stdout.splitlines()
        wrote = setpoint("export", "shop.setpoint", "--session", "shop")
        assert "secrets are masked" in wrote.stdout, wrote.output
        assert setpoint("export", "shop.setpoint", "--session", "shop").exit_code == 1, "nothing is written over"
        opened_ = setpoint("import", "shop.setpoint", "--name", "theirs")
        assert opened_.exit_code == 0, opened_.output
        for each, answer in before.items():
            assert setpoint(*each, "--session", "theirs").output == answer
        after = setpoint("why", "failer", "--session", "theirs").stdout.splitlines()
        assert [one for one in after if "last exit" not in one] == [one for one in why if "last exit" not in one]
        refused = setpoint("delete", "exe/talker", "--session", "theirs")
        assert (refused.exit_code, "is read-only" in refused.stderr) == (6, True)
        assert "ReadOnly" in setpoint("sessions").stdout
        assert setpoint("import", "shop.setpoint", "--name", "theirs").exit_code == 1, "it is open already"
        closed = setpoint("down", "--session", "theirs")
        assert "theirs is closed" in closed.stdout, closed.output
        assert [each.app for each in Sessions.of(environ).all()] == ["shop"]
        assert {each.name for each in Sessions.of(environ).directory.glob("*/")} == {host.session.id}


@pytest.mark.slow
def test_a_session_that_was_killed_can_still_be_exported(
    setpoint: Callable[..., Result], environ: dict[str, str], tmp_path: Path
) -> None:
    with hosted(tmp_path, environ, workers=1) as host:
        host.kill(guardian=True)
        wrote = setpoint("export", "crashed.setpoint", "--session", host.session.id)
        assert wrote.exit_code == 0, wrote.output
        assert "ended unexpectedly" in wrote.stderr
        assert b'"name":"worker-0"' in contents(tmp_path / "crashed.setpoint")
        again = setpoint("export", "-o", "json", "again.setpoint", "--session", "shop")
        assert json.loads(again.stdout)["app"] == "shop"


@pytest.mark.parametrize("damage", ["missing", "text"])
def test_a_file_that_cannot_be_opened_is_told_of_and_leaves_nothing(
    setpoint: Callable[..., Result], environ: dict[str, str], tmp_path: Path, damage: str
) -> None:
    if damage == "text":
        (tmp_path / "bad.setpoint").write_text("hello")
    ran = setpoint("import", "bad.setpoint")
    assert ran.exit_code == (3 if damage == "missing" else 1)
    assert "Traceback" not in ran.output
    assert not list(Sessions.of(environ).directory.glob("*"))


APP = """
apiVersion: usvc-dev.developer.microsoft.com/v1
kind: Executable
metadata: {name: talker}
spec: {executablePath: /bin/sh, args: [-c, "echo hello; sleep 0.1; echo oops >&2; sleep 1000"]}
---
apiVersion: usvc-dev.developer.microsoft.com/v1
kind: Executable
metadata: {name: failer}
spec: {executablePath: /bin/sh, args: [-c, "echo bye; exit 3"]}
"""


def _definition(name: str, url: str) -> Object:
    """A definition with two versions that a webhook converts."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    client = {"url": url, "caBundle": ""}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{name}s.ex.com"},
        "spec": {
            "group": "ex.com",
            "scope": "Namespaced",
            "names": {"plural": f"{name}s", "kind": name.title()},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": schema},
                {"name": "v2", "served": True, "storage": False, "schema": schema},
            ],
            "conversion": {
                "strategy": "Webhook",
                "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]},
            },
        },
    }


def _hook(kind: str, url: str) -> Object:
    """A webhook that wants to be asked about everything."""
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"], "operations": ["*"]}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{kind}WebhookConfiguration",
        "metadata": {"name": "spy"},
        "webhooks": [
            {
                "name": "spy.ex.com",
                "clientConfig": {"url": url},
                "rules": [rule],
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "failurePolicy": "Fail",
            }
        ],
    }


async def test_what_is_opened_calls_nobody_whatever_is_read(tmp_path: Path) -> None:
    calls = 0

    async def called(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal calls
        calls += 1
        writer.close()

    spy = await asyncio.start_server(called, "127.0.0.1", 0)
    url = f"https://127.0.0.1:{spy.sockets[0].getsockname()[1]}/spy"
    path = tmp_path / "shop.setpoint"
    widget = {"apiVersion": "ex.com/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "default"}}
    async with sp.ControlPlane(system=False) as plane:
        client = plane.client()
        await client.create(_definition("widget", url))
        await client.create({**widget, "spec": {"a": 1}})
        for kind in ("Validating", "Mutating"):
            await client.create(_hook(kind, url))
        await exported(client, path)
    assert calls == 0
    widgets = "/apis/ex.com/{}/namespaces/default/widgets"
    async with imported(path, tmp_path) as client, spy:
        assert (await read(client, f"{widgets.format('v1')}/w"))["spec"] == {"a": 1}
        assert len((await read(client, widgets.format("v1")))["items"]) == 1
        assert len((await read(client, HISTORY.format("widgets.ex.com/w")))["items"]) == 1
        for asked in (f"{widgets.format('v2')}/w", widgets.format("v2"), "/apis/ex.com/v2/widgets"):
            with pytest.raises(NotAcceptable) as caught:
                await read(client, asked)
            assert "is stored as ex.com/v1, and no conversion webhook is called" in caught.value.message
            assert "read the object at /apis/ex.com/v1" in caught.value.message
        review = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
        await client.raw(
            "POST",
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            body=json.dumps(review).encode(),
            headers={"content-type": "application/json"},
        )
        for below in ("exec?command=ls", "attach", "portforward", "proxy/", "log"):
            name, _, query = below.partition("?")
            with suppress(APIError):
                await client.raw(
                    "GET",
                    f"/api/v1/namespaces/default/pods/p/{name}",
                    query=[tuple(part.split("=")) for part in query.split("&") if part],  # type: ignore[misc]
                )
        await asyncio.sleep(0)
        assert calls == 0
