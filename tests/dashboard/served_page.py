"""A control plane that serves the page, with a browser that is logged in."""

import contextlib
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from tests.dashboard.browser import Browser, Page, new_browser

from setpoint.client.client import Client
from setpoint.plane import ControlPlane, Serving
from setpoint.server.dashboard.settings import DashboardSettings

GROUP = "usvc-dev.developer.microsoft.com"
PART = "setpoint.dev/part"
_LOGINS = "/apis/setpoint.dev/v1/dashboardlogins"
_JSON = {"content-type": "application/json"}


def executable(name: str, code: str, **spec: Any) -> dict[str, Any]:
    """Returns a service that runs some Python."""
    spec = {"executablePath": sys.executable, "args": ["-u", "-c", code], **spec}
    metadata = {"name": name, "labels": {PART: name, "setpoint.dev/app": "shop"}}
    return {"apiVersion": f"{GROUP}/v1", "kind": "Executable", "metadata": metadata, "spec": spec}


class ServedPage:
    """The page of a control plane."""

    def __init__(self, plane: ControlPlane, client: Client, url: str, browser: Browser) -> None:
        self.plane, self.client, self.browser = plane, client, browser
        self.url = url

    async def api(self, method: str, path: str, body: Any = None) -> Any:
        """Sends a request as an administrator, and returns the answer."""
        sent = json.dumps(body).encode() if body is not None else b""
        patch = {"content-type": "application/merge-patch+json"}
        headers = patch if method == "PATCH" else _JSON
        return json.loads((await self.client.raw(method, path, headers=headers, body=sent)).body)

    async def config_map(self, name: str, **data: str) -> Any:
        """Creates a ConfigMap."""
        tree = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
        return await self.api("POST", "/api/v1/namespaces/default/configmaps", tree)

    async def change(self, name: str, **data: str) -> Any:
        """Changes the data of a ConfigMap."""
        return await self.api("PATCH", f"/api/v1/namespaces/default/configmaps/{name}", {"data": data})

    async def role(self, user: str, rules: list[dict[str, Any]]) -> None:
        """Gives a user some rights."""
        kind = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": user}}
        path = "/apis/rbac.authorization.k8s.io/v1"
        rules = [*rules, {"apiGroups": ["setpoint.dev"], "resources": ["dashboardlogins"], "verbs": ["create"]}]
        await self.api("POST", f"{path}/clusterroles", {**kind, "kind": "ClusterRole", "rules": rules})
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": user}
        subjects = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}]
        binding = {**kind, "kind": "ClusterRoleBinding", "roleRef": reference, "subjects": subjects}
        await self.api("POST", f"{path}/clusterrolebindings", binding)

    async def open(
        self,
        address: str = "",
        *,
        width: int = 1280,
        theme: str = "light",
        user: str = "",
        groups: tuple[str, ...] = (),
    ) -> Page:
        """Logs a new tab in, and opens an address of the page in it, such as `objects/configmaps?at=12`."""
        client = self.plane.client(user=user, groups=groups) if user else self.client
        answer = await client.raw("POST", _LOGINS, headers=_JSON, body=b'{"spec": {}}')
        page = await self.browser.page(width, 900, theme)
        await page.open(self.url.removesuffix("/dashboard/") + json.loads(answer.body)["status"]["path"])
        await page.wait("document.querySelector('main h1')")
        await page.run(f"location.hash = {json.dumps('#/' + address)}")
        await page.wait("document.querySelector('main h1')")
        return page


@contextlib.asynccontextmanager
async def new_page(
    profile: Path, settings: DashboardSettings | None = None, **options: Any
) -> AsyncIterator[ServedPage]:
    """Starts a control plane in memory, and a browser."""
    serving = Serving(dashboard=settings or DashboardSettings(app="shop"))
    async with (
        ControlPlane("memory", serving=serving, **options) as plane,
        plane.client() as client,
        new_browser(profile) as browser,
    ):
        yield ServedPage(plane, client, await plane.listen_page(), browser)
