"""Asks a server in this process to create objects with long, malformed texts, and prints its answers.

Each case is sent with one marker and with many. The processor time for many is limited: a slow rule ends the process.
"""

import asyncio
import base64
import itertools
import json
import string
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeAlias

import msgspec
from tests.cpu_limit import limit_cpu
from tests.server.kinds import judged

from setpoint.objects.pem import certificates_in
from setpoint.objects.tree import Object
from setpoint.plane import ControlPlane
from setpoint.schema.crd.conversion import ca_bundle_problem
from setpoint.server.access.authentication.jwt import read_keys
from setpoint.server.access.authentication.token_result import TokenError
from setpoint.server.message import Peer, Request, Response

SECONDS = 5
MANY = 30_000
Answer: TypeAlias = tuple[int, str]

_URL = {"url": "https://127.0.0.1:1/"}
_CERTIFICATES = {"apiVersion": "certificates.k8s.io/v1"}


def _labels(number: int) -> Iterator[str]:
    """Yields different labels of capital letters."""
    return map("".join, itertools.islice(itertools.product(string.ascii_uppercase, repeat=4), number))


# Texts with a number of markers that make no block, whatever their number.
TEXTS: dict[str, Callable[[int], str]] = {
    "certificates": lambda number: "-----BEGIN CERTIFICATE-----\n" * number,
    "keys": lambda number: "-----BEGIN EC PRIVATE KEY-----\n" * number,
    "different labels": lambda number: "".join(f"-----BEGIN {label}-----\n" for label in _labels(number)),
    "ends before their begins": lambda number: "".join(
        f"-----{marker} {label}-----\n" for marker in ("END", "BEGIN") for label in _labels(number // 2 + 1)
    ),
}


def _named(**spec: Any) -> Object:
    return {"metadata": {"name": "x"}, "spec": spec}


def _request(text: str) -> Object:
    return _named(request=_encoded(text), signerName="a.b/c", usages=["any"])


def _service(text: str) -> Object:
    where = {"group": "z.dev", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1}
    service = {"namespace": "a", "name": "b"}
    return {"metadata": {"name": "v1.z.dev"}, "spec": {**where, "caBundle": _encoded(text), "service": service}}


def _webhook(text: str) -> Object:
    config = {**_URL, "caBundle": _encoded(text)}
    hook = {"name": "a.b.c", "sideEffects": "None", "admissionReviewVersions": ["v1"], "clientConfig": config}
    return {"metadata": {"name": "x"}, "webhooks": [hook]}


def _definition(text: str) -> Object:
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": {**_URL, "caBundle": _encoded(text)}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    names = {"plural": "as", "singular": "a", "kind": "A", "listKind": "AList"}
    spec = {"group": "d.dev", "scope": "Cluster", "names": names, "versions": [version]}
    return {
        "metadata": {"name": "as.d.dev"},
        "spec": {**spec, "conversion": {"strategy": "Webhook", "webhook": webhook}},
    }


def _secret(text: str) -> Object:
    return {"metadata": {"name": "x"}, "type": "kubernetes.io/tls", "data": {"tls.crt": _encoded(text), "tls.key": ""}}


def _pod(iqn: str) -> Object:
    volume = {"name": "v", "iscsi": {"targetPortal": "1.2.3.4", "iqn": iqn, "lun": 0}}
    return _named(containers=[{"name": "c", "image": "i"}], volumes=[volume])


PLACES: dict[str, tuple[str, Callable[[str], Object]]] = {
    "CertificateSigningRequest": ("/apis/certificates.k8s.io/v1/certificatesigningrequests", _request),
    "APIService": ("/apis/apiregistration.k8s.io/v1/apiservices", _service),
    "ValidatingWebhookConfiguration": (
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
        _webhook,
    ),
    "CustomResourceDefinition": ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", _definition),
    "Secret": ("/api/v1/namespaces/default/secrets", _secret),
    "Pod": ("/api/v1/namespaces/default/pods", _pod),
}
IQN = "iqn.2001-01."


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


async def _answer(plane: ControlPlane, path: str, body: Object) -> Answer:
    """Returns the code and the message of the answer to a dry run, without the value in the message."""
    headers = {"content-type": "application/json", "accept": "application/json"}
    sent = Request("POST", path, "dryRun=All", headers, msgspec.json.encode(body), Peer(in_process=True))
    response: Response = await plane.handler(sent)
    assert isinstance(response.body, (bytes, list))
    tree = msgspec.json.decode(response.body if isinstance(response.body, bytes) else b"".join(response.body))
    message = str(tree.get("message", ""))
    for value in _values(body):
        message = message.replace(json.dumps(value), "...")
    return response.status, message


def _values(tree: Any) -> Iterator[str]:
    """Yields the long texts of an object."""
    if isinstance(tree, str):
        if len(tree) > 12:
            yield tree
    elif isinstance(tree, (dict, list)):
        for item in tree.values() if isinstance(tree, dict) else tree:
            yield from _values(item)


def _keys(text: str) -> str:
    try:
        return f"{len(read_keys(text.encode()))} keys"
    except TokenError as error:
        return str(error)


def _bundle_errors(text: str) -> list[str]:
    """Returns the errors of a ClusterTrustBundle, whose API is not enabled by default."""
    return judged.errors_of({**_CERTIFICATES, "kind": "ClusterTrustBundle", **_named(trustBundle=text)})


def _issued_errors(text: str) -> list[str]:
    """Returns the errors of an issued certificate."""
    request = {**_CERTIFICATES, "kind": "CertificateSigningRequest", **_request("")}
    stored = judged.created(request)
    return judged.errors_of_update({**stored, "status": {"certificate": _encoded(text)}}, stored, "status")


def _key_errors(text: str) -> str:
    try:
        return f"{len(read_keys(text.encode()))} keys"
    except TokenError as error:
        return str(error)


FUNCTIONS: dict[str, Callable[[str], object]] = {
    "bundle": _bundle_errors,
    "issued certificate": _issued_errors,
    "key file": _key_errors,
    "conversion": lambda text: ca_bundle_problem(_encoded(text)),
    "certificates": certificates_in,
}


async def _compare(case: str, answer: Callable[[str], Awaitable[object]], one: str, many: str) -> None:
    """Prints the answers to a short and a long text."""
    print(case, flush=True)
    known = await answer(one)
    limit_cpu(SECONDS)
    print(json.dumps([known, await answer(many)]), flush=True)


async def main() -> None:
    async with ControlPlane() as plane:

        def create(place: str) -> Callable[[str], Awaitable[object]]:
            path, make = PLACES[place]
            return lambda text: _answer(plane, path, make(text))

        def call(function: Callable[[str], object]) -> Callable[[str], Awaitable[object]]:
            return lambda text: asyncio.to_thread(function, text)

        for name, text in TEXTS.items():
            for place in PLACES:
                if place != "Pod":
                    await _compare(f"{place}, {name}", create(place), text(1), text(MANY))
            for place, function in FUNCTIONS.items():
                await _compare(f"{place}, {name}", call(function), text(1), text(MANY))
        for letters in (60, 500_000):
            await _compare(f"Pod, {letters} letters", create("Pod"), f"{IQN}a!", f"{IQN}{'a' * letters}!")


if __name__ == "__main__":
    asyncio.run(main())
