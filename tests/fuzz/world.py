"""The server that is fuzzed: a process of its own on the loopback interface, with several users and namespaces."""

import json
import os
import re
import select
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.fuzz.paths import Served

SECONDS = 120
TOKENS = {
    "admin": "token-of-admin",
    "tenant": "token-of-tenant",
    "reader": "token-of-reader",
    "anonymous": "",
    "stranger": "token-of-nobody",
}
BINDINGS = (("tenant", "admin", "tenant"), ("tenant", "edit", "default"), ("reader", "view", "default"))
# What a run leaves is removed from these. The rest is the server's own.
_KEPT = frozenset(("namespaces", "componentstatuses", "clusterroles", "clusterrolebindings", "roles", "rolebindings"))
# Python writes its own complaints to the same file, without a time.
_UNLOGGED = r"\S+:\d+: \w*Warning: |Exception ignored |Fatal Python error: "
_RECORD = re.compile(rf"^(?=\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d|{_UNLOGGED})", re.M)
_FAILING = re.compile(r" (ERROR|CRITICAL) | failed")
_REFUSED = re.compile(
    r"setpoint\.controller\.(outcome: |watch: the handler failed ).*[ .](Forbidden|NotFound|Conflict|AlreadyExists|"
    r"Invalid|BadRequest|MethodNotAllowed|TooManyRequests|Timeout|ServerTimeout|ServiceUnavailable|Gone|Expired): "
    r"|setpoint\.system\.pod_garbage_collector: the garbage collection of pods failed: .*\bforbidden: "
)


class World(NamedTuple):
    """A running server."""

    host: str
    port: int
    pid: int
    log: Path

    def ask(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Any:
        """The decoded answer to a request of the administrator. Raises urllib.error.HTTPError."""
        request = urllib.request.Request(
            f"http://{self.host}:{self.port}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {TOKENS['admin']}", "Content-Type": content_type},
        )
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as answer:
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            error.close()
            raise

    def ready(self) -> bool:
        url = f"http://{self.host}:{self.port}/readyz"
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {TOKENS['admin']}"})
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return bool(answer.read() == b"ok")

    def resident_bytes(self) -> int:
        """The resident memory of the server; 0 where /proc does not tell."""
        try:
            pages = Path(f"/proc/{self.pid}/statm").read_text().split()[1]
        except OSError:
            return 0
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def cpu_seconds(self) -> float:
        """The processor time of the server so far; 0 where /proc does not tell."""
        try:
            fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def complaints(self) -> list[str]:
        """The records of the server's log that tell of a failure, each with the last line of its traceback.

        A controller that the API refuses something is none: the administrator among the users deletes roles as well.
        A warning of Python is one, whatever was logged before it.
        """
        found = []
        for record in _RECORD.split(self.log.read_text(errors="replace")):
            first, *rest = record.splitlines() or [""]
            if re.match(_UNLOGGED, first):
                found.append(first)
                continue
            if not _FAILING.search(first) and "Traceback" not in record:
                continue
            told = f"{first} … {rest[-1]}" if rest else first
            if not _REFUSED.search(told):
                found.append(told)
        return found

    def served(self) -> tuple[list[Served], list[str]]:
        """All resources and subresources, and all paths that are no resources."""
        versions = ["/api/v1"]
        for group in self.ask("GET", "/apis")["groups"]:
            versions += [f"/apis/{version['groupVersion']}" for version in group["versions"]]
        found = [
            Served(prefix, resource["name"], resource["namespaced"])
            for prefix in versions
            for resource in self.ask("GET", prefix)["resources"]
        ]
        return found, [*self.ask("GET", "/")["paths"], "/admin/controllers", "/admin/controllers/x/log"]

    def prepare(self) -> None:
        """Creates the namespaces and bindings that the users have, as far as they are missing."""
        for namespace in ("default", "tenant", "other"):
            self._create("/api/v1/namespaces", {"metadata": {"name": namespace}})
        for user, role, namespace in BINDINGS:
            path = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings"
            subject = {"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}
            reference = {"kind": "ClusterRole", "name": role, "apiGroup": "rbac.authorization.k8s.io"}
            self._create(path, {"metadata": {"name": user}, "subjects": [subject], "roleRef": reference})

    def clean(self) -> int:
        """Deletes the objects that the cases created, and returns how many there were."""
        count = 0
        seen = set()
        for served in self.served()[0]:
            name = served.name
            if "/" in name or name in _KEPT or (served.prefix, name) in seen or "setpoint.dev" in served.prefix:
                continue
            seen.add((served.prefix, name))
            try:
                items = self.ask("GET", f"{served.prefix}/{name}").get("items") or []
            except urllib.error.HTTPError:  # neither listed nor got
                continue
            for item in items:
                count += self._remove(served, item["metadata"])
        self.prepare()
        return count

    def _remove(self, served: Served, metadata: dict[str, Any]) -> bool:
        if served.name in ("flowschemas", "prioritylevelconfigurations") and not metadata["name"].startswith("o"):
            return False
        scope = f"/namespaces/{metadata['namespace']}" if served.namespaced else ""
        path = f"{served.prefix}{scope}/{served.name}/{metadata['name']}"
        try:
            if metadata.get("finalizers"):
                patch = {"metadata": {"finalizers": None}}
                self.ask("PATCH", path, patch, "application/merge-patch+json")
            self.ask("DELETE", path, {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0})
        except urllib.error.HTTPError:  # gone already, or protected
            return False
        return True

    def _create(self, path: str, tree: Any) -> None:
        try:
            self.ask("POST", path, tree)
        except urllib.error.HTTPError as error:
            if error.code not in (403, 409):  # a namespace that is being deleted takes no objects
                raise


@contextmanager
def world(directory: Path) -> Iterator[World]:
    """A server in the directory, until the block ends."""
    users = directory / "users"
    users.write_text(
        "".join(
            f"{token},{name},{name}\n" for name, token in TOKENS.items() if token and name not in ("admin", "stranger")
        )
    )
    users.chmod(0o600)
    log = directory / "log"
    options = [
        *("--plain-http", "--listen", "127.0.0.1:0", "--kubeconfig", str(directory / "kubeconfig")),
        *("--token-auth-file", str(users), "--anonymous-auth", "always", "--history-revisions", "2000"),
    ]
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "setpoint", "serve", *options],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={**os.environ, "SETPOINT_TOKEN": TOKENS["admin"]},
        )
    try:
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], SECONDS)
        word, _, url = process.stdout.readline().strip().partition(" ") if ready else ("", "", "")
        assert word == "ready", log.read_text()
        host, _, port = url.removeprefix("http://").rpartition(":")
        yield World(host, int(port), process.pid, log)
    finally:
        process.terminate()
        try:
            process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
