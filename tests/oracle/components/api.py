"""A client of the administrator, for the steps of the scenario."""

import http.client
import json
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

PATIENCE_SECONDS = 90.0
_POLL_SECONDS = 0.2


class Refused(Exception):
    """An answer with an error."""

    def __init__(self, method: str, path: str, code: int, message: str) -> None:
        super().__init__(f"{method} {path}: {code} {message}")
        self.code = code


class Api:
    """One connection to a server. The administrator authenticates with a certificate."""

    def __init__(self, url: str, authority: Path, certificate: Path, key: Path) -> None:
        self.url, self._authority = url, authority
        context = ssl.create_default_context(cafile=authority)
        context.load_cert_chain(certificate, key)
        self._connection = http.client.HTTPSConnection(urlsplit(url).netloc, context=context, timeout=PATIENCE_SECONDS)

    def request(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Any:
        """The decoded answer. Raises Refused."""
        data = None if body is None else json.dumps(body).encode()
        self._connection.request(method, path, data, {"Content-Type": content_type} if data else {})
        answer = self._connection.getresponse()
        text = answer.read()
        if answer.status >= 400:
            raise Refused(method, path, answer.status, text.decode(errors="replace"))
        return json.loads(text)

    def get(self, path: str) -> Any:
        return self.request("GET", path)

    def items(self, path: str) -> list[Any]:
        """The objects of a list."""
        found: list[Any] = self.get(path)["items"]
        return found

    def exists(self, path: str) -> bool:
        """True if the path can be read; kube-apiserver answers 429 while a new resource is set up."""
        try:
            self.get(path)
        except Refused as error:
            if error.code in (404, 429):
                return False
            raise
        return True

    def create(self, path: str, body: Any) -> Any:
        return self.request("POST", path, body)

    def merge(self, path: str, body: Any) -> Any:
        """Sends a merge patch."""
        return self.request("PATCH", path, body, "application/merge-patch+json")

    def delete(self, path: str, propagation: str = "Background") -> Any:
        return self.request("DELETE", path, {"propagationPolicy": propagation})

    def refusal(self, method: str, path: str, body: Any) -> int:
        """The code of a refused request. Raises AssertionError if the server accepts the request."""
        try:
            self.request(method, path, body)
        except Refused as error:
            return error.code
        raise AssertionError(f"{method} {path} is accepted")

    def code_of(self, path: str, token: str) -> int:
        """The code of the answer to a bearer of the token, who sends no certificate."""
        context = ssl.create_default_context(cafile=self._authority)
        connection = http.client.HTTPSConnection(urlsplit(self.url).netloc, context=context, timeout=PATIENCE_SECONDS)
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
            return connection.getresponse().status
        finally:
            connection.close()

    def until(self, expected: str, holds: Callable[[], Any]) -> Any:
        """Waits until the function returns a true value, and returns that value. Raises AssertionError."""
        end = time.monotonic() + PATIENCE_SECONDS
        while not (found := holds()):
            assert time.monotonic() < end, f"not within {PATIENCE_SECONDS:.0f} s: {expected}"
            time.sleep(_POLL_SECONDS)
        return found

    def until_gone(self, path: str) -> None:
        self.until(f"{path} is deleted", lambda: not self.exists(path))

    def close(self) -> None:
        self._connection.close()
