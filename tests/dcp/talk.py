"""A client of DCP's API whose answers contain only facts that clients rely on: codes, reasons, fields and states.

Texts of messages are left out: they belong to the program that answers.
"""

import json
import urllib.error
from typing import Any

from tests.workload.session.instances import GROUP, Instance, until

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
Answer = dict[str, Any]


class Talk:
    """One scenario with an instance. Names of objects begin with the name of the scenario."""

    def __init__(self, serving: Instance, prefix: str) -> None:
        self._serving, self.prefix = serving, prefix

    def name(self, name: str) -> str:
        return f"{self.prefix}-{name}"

    def path(self, kind: str, name: str = "") -> str:
        plural = "containernetworktunnelproxies" if kind == "ContainerNetworkTunnelProxy" else f"{kind.lower()}s"
        return f"{GROUP}/{plural}" + (f"/{self.name(name)}" if name else "")

    def ask(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Answer:
        """Returns the code and the decoded body."""
        try:
            with self._serving.open(method, path, body, content_type) as answer:
                text = answer.read()
                code = answer.status
        except urllib.error.HTTPError as error:
            with error:
                text, code = error.read(), error.code
        try:
            tree = json.loads(text)
        except ValueError:
            tree = {}
        return {"code": code, "tree": tree, "text": text.decode(errors="replace")}

    def make(self, kind: str, name: str, spec: Any, **metadata: Any) -> Answer:
        tree = {
            "apiVersion": "usvc-dev.developer.microsoft.com/v1",
            "kind": kind,
            "metadata": {"name": self.name(name), **metadata},
            "spec": spec,
        }
        return self.ask("POST", self.path(kind), tree)

    def patch(self, kind: str, name: str, change: Any, content_type: str = MERGE) -> Answer:
        return self.ask("PATCH", self.path(kind, name), change, content_type)

    def get(self, kind: str, name: str) -> Any:
        return self.ask("GET", self.path(kind, name))["tree"]

    def delete(self, kind: str, name: str, query: str = "") -> Answer:
        return self.ask("DELETE", self.path(kind, name) + query)

    def gone(self, kind: str, name: str) -> bool:
        return bool(until(lambda: self.ask("GET", self.path(kind, name))["code"] == 404))

    def status(self, kind: str, name: str, *states: str) -> Any:
        """Returns the status of an object, as soon as the object is in one of the states."""

        def look() -> Any:
            status = self.get(kind, name).get("status") or {}
            return status if (status.get("state") or "") in states else None

        return until(look)

    def log(self, name: str, query: str = "", kind: str = "Executable") -> Answer:
        return self.ask("GET", f"{self.path(kind, name)}/log{query}")

    def finished_log(self, name: str, query: str, expected: str) -> Any:
        """Returns the log of a finished object, as soon as all its output is there; `expected` is its whole output."""
        until(lambda: self.log(name)["text"] == expected)
        answer = self.log(name, query)
        return answer["text"] if answer["code"] == 200 else refusal(answer)


def refusal(answer: Answer) -> Answer:
    """Returns the code, the reason and the fields of an error; the code alone of a success."""
    if answer["code"] < 400:
        return {"code": answer["code"]}
    tree = answer["tree"]
    causes = (tree.get("details") or {}).get("causes") or ()
    # A cause without a field reports that some rules were not checked.
    fields = {each.get("field", "").removeprefix(".") for each in causes} - {"<nil>"}
    return {"code": answer["code"], "reason": tree.get("reason", ""), "fields": sorted(fields)}
