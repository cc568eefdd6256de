"""The dashboard over real sockets: its files, logins, the cookie, and the requests that are refused."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest

from setpoint.objects.clock import ManualClock
from setpoint.objects.errors import TooManyRequests
from setpoint.plane import ControlPlane, PlaneError, Serving
from setpoint.server.dashboard.logins import IDLE_SECONDS, SESSION_SECONDS, Logins
from setpoint.server.dashboard.page_files import PageFiles
from setpoint.server.dashboard.settings import DashboardSettings, packaged
from setpoint.server.ports import User

LOGINS = "/apis/setpoint.dev/v1/dashboardlogins"
NODES = "/api/v1/nodes"
PAGE = {"setpoint-page": "1"}


class Answer(NamedTuple):
    """A response as a browser receives it."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def message(self) -> str:
        return str(json.loads(self.body)["message"])


async def fetch(
    url: str, path: str, method: str = "GET", headers: Mapping[str, str] | None = None, body: bytes = b""
) -> Answer:
    """Sends one request over plain HTTP."""
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    sent = {"host": place.netloc, "connection": "close", "content-length": str(len(body)), **(headers or {})}
    lines = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
    writer.write(f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode() + body)
    read = await reader.read()
    writer.close()
    head, _, rest = read.partition(b"\r\n\r\n")
    first, *others = head.decode().split("\r\n")
    return Answer(int(first.split()[1]), {n.lower(): v for n, _, v in (each.partition(": ") for each in others)}, rest)


class Dashboard:
    """A control plane with a dashboard at a plain port."""

    def __init__(self, plane: ControlPlane, clock: Any, url: str, files: Path) -> None:
        self.plane, self.clock, self.files = plane, clock, files
        self.url = url.removesuffix("/dashboard/")
        self.host = urlsplit(url).netloc

    async def link(self, user: str = "", groups: tuple[str, ...] = (), spec: Mapping[str, Any] | None = None) -> str:
        """Creates a login and returns its path."""
        client = self.plane.client(user=user, groups=groups)
        body = json.dumps({"spec": spec or {}}).encode()
        answer = await client.raw("POST", LOGINS, headers={"content-type": "application/json"}, body=body)
        return str(json.loads(answer.body)["status"]["path"])

    async def login(self, user: str = "", groups: tuple[str, ...] = ()) -> dict[str, str]:
        """Logs in, and returns the headers of the page's requests."""
        answer = await fetch(self.url, await self.link(user, groups))
        assert answer.status == 303, answer
        return {"cookie": answer.headers["set-cookie"].partition(";")[0], **PAGE}

    async def get(self, path: str, headers: Mapping[str, str] | None = None, method: str = "GET") -> Answer:
        return await fetch(self.url, path, method, headers)


@pytest.fixture
async def dashboard(tmp_path: Path) -> AsyncIterator[Dashboard]:
    """Provides a control plane with a page of two files."""
    (tmp_path / "vendor").mkdir()
    (tmp_path / "index.html").write_text("<!doctype html><title>Setpoint</title>" + " " * 2000)
    (tmp_path / "vendor" / "a.js").write_text("export {}")
    (tmp_path / "secret.txt").write_text("no")
    (tmp_path / ".hidden.js").write_text("no")
    clock = ManualClock(datetime(2026, 1, 31, tzinfo=UTC))
    serving = Serving(dashboard=DashboardSettings(PageFiles(tmp_path), app="shop"))
    async with ControlPlane("memory", clock=clock, serving=serving, system=False) as plane:
        yield Dashboard(plane, clock, await plane.listen_page(), tmp_path)


async def test_the_files_need_no_login_and_carry_the_policy(dashboard: Dashboard) -> None:
    answer = await dashboard.get("/dashboard/")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'self';")
    assert policy.endswith("; script-src 'self'")
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    asset = await dashboard.get("/dashboard/assets/vendor/a.js")
    assert (asset.body, asset.headers["content-type"]) == (b"export {}", "text/javascript; charset=utf-8")
    assert (await dashboard.get("/dashboard")).headers["location"] == "/dashboard/"


async def test_policy_of_a_page_permits_the_scripts_inside_by_their_hashes(dashboard: Dashboard) -> None:
    (dashboard.files / "index.html").write_text("<script src='a.js'></script><script>start()</script>")
    policy = (await dashboard.get("/dashboard/")).headers["content-security-policy"]
    assert policy.endswith("; script-src 'self' 'sha256-DIm7WJS6ZKDYe5qFLPy+h4JFI9Bol5QmYC57mt3Fb00='")
    asset = await dashboard.get("/dashboard/assets/vendor/a.js")
    assert asset.headers["content-security-policy"].endswith("; script-src 'self'")


async def test_files_are_compressed_and_sent_once(dashboard: Dashboard) -> None:
    plain = await dashboard.get("/dashboard/")
    packed = await dashboard.get("/dashboard/", {"accept-encoding": "br, gzip"})
    assert packed.headers["content-encoding"] == "gzip"
    assert len(packed.body) < len(plain.body) // 5
    assert gzip.decompress(packed.body) == plain.body
    again = await dashboard.get("/dashboard/", {"if-none-match": plain.headers["etag"]})
    assert (again.status, again.body) == (304, b"")
    head = await dashboard.get("/dashboard/", method="HEAD")
    assert (head.status, head.body) == (200, b"")
    (dashboard.files / "index.html").write_text("another page")
    changed = await dashboard.get("/dashboard/", {"if-none-match": plain.headers["etag"]})
    assert (changed.status, changed.body) == (200, b"another page")


@pytest.mark.parametrize(
    "name", ["secret.txt", ".hidden.js", "../index.html", "%2e%2e/index.html", "vendor//a.js", "none.js", "vendor", ""]
)
async def test_other_files_are_not_served(dashboard: Dashboard, name: str) -> None:
    assert (await dashboard.get(f"/dashboard/assets/{name}")).status == 404


async def test_a_link_opens_one_session(dashboard: Dashboard) -> None:
    link = await dashboard.link()
    answer = await dashboard.get(link)
    assert (answer.status, answer.headers["location"]) == (303, "/dashboard/")
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("setpoint-session-")
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert "Path=/" in cookie
    assert "Secure" not in cookie
    assert answer.headers["cache-control"] == "no-store"
    again = await dashboard.get(link)
    assert again.status == 401
    assert b"setpoint dashboard" in again.body
    assert "set-cookie" not in again.headers
    described = await dashboard.get("/dashboard/session", {"cookie": cookie.partition(";")[0], **PAGE})
    assert json.loads(described.body) | {"version": ""} == {
        "user": "system:admin",
        "readOnly": False,
        "app": "shop",
        "archive": False,
        "version": "",
    }


async def test_a_preview_of_the_link_does_not_use_it(dashboard: Dashboard) -> None:
    link = await dashboard.link()
    assert (await dashboard.get(link, method="HEAD")).status == 405
    assert (await dashboard.get(link, {"host": "evil.example"})).status == 403
    assert (await dashboard.get(link)).status == 303


async def test_a_link_expires(dashboard: Dashboard) -> None:
    link = await dashboard.link(spec={"ttlSeconds": 60})
    dashboard.clock.advance(61)
    assert (await dashboard.get(link)).status == 401


@pytest.mark.parametrize("spec", [{"ttlSeconds": 0}, {"ttlSeconds": 86_401}])
async def test_a_lifetime_out_of_bounds_names_the_field(dashboard: Dashboard, spec: dict[str, int]) -> None:
    with pytest.raises(Exception, match=r"spec.ttlSeconds.*must be from 1 to 86400"):
        await dashboard.link(spec=spec)


async def test_the_session_has_the_rights_of_its_user(dashboard: Dashboard) -> None:
    admin = await dashboard.login()
    assert (await dashboard.get(NODES, admin)).status == 200
    with pytest.raises(Exception, match="cannot create resource"):
        await dashboard.link("eve")
    # A user who may create logins, and nothing else.
    role = {"kind": "ClusterRole", "metadata": {"name": "viewer"}}
    rules = [{"apiGroups": ["setpoint.dev"], "resources": ["dashboardlogins"], "verbs": ["create"]}]
    client = dashboard.plane.client()
    await client.create({"apiVersion": "rbac.authorization.k8s.io/v1", **role, "rules": rules})
    subject = {"kind": "User", "name": "eve", "apiGroup": "rbac.authorization.k8s.io"}
    reference = {"kind": "ClusterRole", "name": "viewer", "apiGroup": "rbac.authorization.k8s.io"}
    binding = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding"}
    await client.create({**binding, "metadata": {"name": "v"}, "roleRef": reference, "subjects": [subject]})
    eve = await dashboard.login("eve")
    refused = await dashboard.get(NODES, eve)
    assert refused.status == 403
    assert 'User "eve" cannot list resource "nodes"' in refused.message


async def test_a_request_of_another_page_is_refused(dashboard: Dashboard) -> None:
    cookie = await dashboard.login()
    without = {"cookie": cookie["cookie"]}
    refused = await dashboard.get(NODES, without)
    assert refused.status == 403
    assert "Setpoint-Page: 1" in refused.message
    for origin in ("http://evil.example", "null", f"https://{dashboard.host}", "http://127.0.0.1:1"):
        refused = await dashboard.get(NODES, {**cookie, "origin": origin})
        assert refused.status == 403
        assert "origin" in refused.message
    assert (await dashboard.get(NODES, {**cookie, "origin": dashboard.url})).status == 200
    assert (await dashboard.get("/dashboard/session", without)).status == 403
    assert (await dashboard.get("/dashboard/logout", without, "POST")).status == 403
    assert (await dashboard.get(NODES, cookie)).status == 200


async def test_another_name_for_the_host_is_refused(dashboard: Dashboard) -> None:
    cookie = await dashboard.login()
    port = dashboard.host.rpartition(":")[2]
    for host in (f"evil.example:{port}", f"127.0.0.1.evil.example:{port}", "", f"10.0.0.1:{port}"):
        refused = await dashboard.get(NODES, {**cookie, "host": host})
        assert refused.status in (400, 401, 403), host
    # The name of another login is a different origin.
    assert (await dashboard.get(NODES, {**cookie, "host": f"localhost:{port}"})).status == 403


async def test_a_websocket_of_another_page_is_refused(dashboard: Dashboard) -> None:
    cookie = {"cookie": (await dashboard.login())["cookie"]}
    handshake = {
        "connection": "Upgrade",
        "upgrade": "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": "MDEyMzQ1Njc4OWFiY2RlZg==",
    }
    watch = f"{NODES}?watch=true&timeoutSeconds=1"
    for origin in ({"origin": "http://evil.example"}, {}):
        assert (await dashboard.get(watch, {**cookie, **handshake, **origin})).status == 403
    place = urlsplit(dashboard.url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    sent = {"host": place.netloc, **cookie, **handshake, "origin": dashboard.url}
    lines = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
    writer.write(f"GET {watch} HTTP/1.1\r\n{lines}\r\n".encode())
    assert (await reader.readline()).startswith(b"HTTP/1.1 101 ")
    writer.close()


async def test_a_logout_ends_the_session(dashboard: Dashboard) -> None:
    cookie = await dashboard.login()
    other = await dashboard.login()
    answer = await dashboard.get("/dashboard/logout", cookie, "POST")
    assert answer.status == 204
    assert "Max-Age=0" in answer.headers["set-cookie"]
    ended = await dashboard.get(NODES, cookie)
    assert ended.status == 401
    assert "setpoint dashboard" in ended.message
    assert (await dashboard.get(NODES, other)).status == 200
    dashboard.plane.reload()
    assert (await dashboard.get(NODES, other)).status == 401


async def test_a_session_ends_after_its_time_and_when_unused(dashboard: Dashboard) -> None:
    cookie = await dashboard.login()
    for _ in range(SESSION_SECONDS // (IDLE_SECONDS - 60)):
        dashboard.clock.advance(IDLE_SECONDS - 60)
        assert (await dashboard.get(NODES, cookie)).status == 200
    dashboard.clock.advance(IDLE_SECONDS - 60)
    assert (await dashboard.get(NODES, cookie)).status == 401
    unused = await dashboard.login()
    dashboard.clock.advance(IDLE_SECONDS + 1)
    assert (await dashboard.get(NODES, unused)).status == 401


async def test_the_plain_port_is_for_the_page_only(dashboard: Dashboard) -> None:
    token = {"authorization": f"Bearer {dashboard.plane.token}"}
    assert (await dashboard.get(NODES, token)).status == 401
    assert (await dashboard.get(NODES, {**token, **await dashboard.login()})).status == 401
    for path in (NODES, "/version", "/healthz", "/metrics"):
        assert (await dashboard.get(path)).status == 401
    assert (await dashboard.get("/dashboard/session")).status == 401


async def test_the_address_of_the_api_serves_the_page_too(dashboard: Dashboard) -> None:
    url = await dashboard.plane.listen(tls=False)
    assert (await fetch(url, "/dashboard/")).status == 200
    answer = await fetch(url, await dashboard.link())
    cookie = {"cookie": answer.headers["set-cookie"].partition(";")[0]}
    assert (await fetch(url, NODES, headers={**cookie, **PAGE})).status == 200
    assert (await fetch(url, NODES, headers=cookie)).status == 403
    # Credentials take precedence, so that a cookie cannot change the user of a program's request.
    token = {"authorization": "Bearer wrong"}
    assert (await fetch(url, NODES, headers={**cookie, **PAGE, **token})).status == 401


async def test_each_user_has_a_bounded_number_of_sessions(dashboard: Dashboard) -> None:
    first = await dashboard.login()
    other = await dashboard.login("eve", ("system:masters",))
    latest = [await dashboard.login() for _ in range(32)][-1]
    assert (await dashboard.get(NODES, first)).status == 401
    assert (await dashboard.get(NODES, other)).status == 200
    assert (await dashboard.get(NODES, latest)).status == 200


def test_all_users_have_a_bounded_number_of_logins() -> None:
    logins = Logins(ManualClock(datetime(2026, 1, 31, tzinfo=UTC)))
    for place in range(1024):
        logins.create(User(f"user-{place // 32}"), 60)
    with pytest.raises(TooManyRequests, match="too many logins"):
        logins.create(User("another"), 60)
    # A user with too many logins replaces an own one.
    logins.create(User("user-0"), 60)


async def test_a_server_without_a_dashboard_has_no_logins() -> None:
    async with ControlPlane("memory", system=False) as plane:
        body = b"{}"
        with pytest.raises(Exception, match="this server has no dashboard"):
            await plane.client().raw("POST", LOGINS, headers={"content-type": "application/json"}, body=body)
        with pytest.raises(PlaneError, match="no dashboard"):
            await plane.listen_page()


def test_the_package_has_a_page() -> None:
    assert packaged().read("index.html") is not None
