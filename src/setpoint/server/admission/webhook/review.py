"""AdmissionReview: the wire format of admission webhooks.

Supports v1 and v1beta1, which differ only in the requirements for the response. As in kube-apiserver, undecodable
responses and invalid responses are distinguished, with the same messages.
"""

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from typing import Any

import msgspec
from msgspec.structs import asdict

from setpoint.merge import jsonpatch
from setpoint.objects import codec
from setpoint.objects.errors import APIError
from setpoint.objects.goformat import json_type
from setpoint.objects.gotext import quote
from setpoint.objects.gvk import GroupVersion, GroupVersionKind, GroupVersionResource
from setpoint.objects.tree import Json, Object
from setpoint.server.admission.request import AdmissionRequest, AdmissionResponse, UserInfo
from setpoint.server.outbound.webhook_answer import UnreadableAnswer

GROUP = "admission.k8s.io"
VERSIONS = ("v1", "v1beta1")
KIND = "AdmissionReview"
JSON_PATCH = "JSONPatch"

_encode = msgspec.json.Encoder().encode
_GO_TYPES = {str: "string", bool: "bool", list: "[]string", dict: "map[string]string"}


class PatchRefused(Exception):  # noqa: N818 - an outcome
    """The response contains a patch that cannot be applied."""


class InvalidAnswer(Exception):  # noqa: N818 - an outcome
    """The response is an AdmissionReview, but does not match the request."""


def encode_request(request: AdmissionRequest, version: str) -> bytes:
    """Returns the body of a webhook call."""
    return _encode({"kind": KIND, "apiVersion": f"{GROUP}/{version}", "request": request_tree(request)})


def request_tree(request: AdmissionRequest) -> Object:
    """Returns the `request` field of a review."""
    tree: Object = {
        "uid": request.uid,
        "kind": asdict(request.kind),
        "resource": asdict(request.resource),
        "requestKind": asdict(request.request_kind),
        "requestResource": asdict(request.request_resource),
        "operation": request.operation,
        "userInfo": _user_info(request.user),
        "object": request.object,
        "oldObject": request.old_object,
        "dryRun": request.dry_run,
        "options": request.options,
    }
    if request.subresource:
        tree["subResource"] = tree["requestSubResource"] = request.subresource
    if request.name:
        tree["name"] = request.name
    if request.namespace:
        tree["namespace"] = request.namespace
    return tree


def _user_info(user: UserInfo) -> Object:
    extra = {name: list(values) for name, values in user.extra.items()}
    found = {"username": user.username, "uid": user.uid, "groups": list(user.groups), "extra": extra}
    return {name: value for name, value in found.items() if value}


def read_answer(tree: Object, uid: str, version: str, *, mutating: bool) -> AdmissionResponse:
    """Returns the response in a review after checking that the response matches the request. Raises UnreadableAnswer or
    InvalidAnswer."""
    _check_kind(tree, version)
    response = tree.get("response")
    if response is None:
        raise InvalidAnswer("webhook response was absent")
    if type(response) is not dict:
        raise _wrong_type(response, "AdmissionReview.response", f"{version}.AdmissionResponse")
    for name, wanted in (("uid", str), ("allowed", bool), ("patchType", str), ("warnings", list)):
        _check_type(response, name, wanted)
    patch = _patch_bytes(response.get("patch"))
    if version == "v1":
        _verify(tree, response, patch, uid, mutating)
    allowed, patch_type = response.get("allowed") or False, response.get("patchType") if version == "v1" else JSON_PATCH
    return AdmissionResponse(
        allowed,
        _status(response.get("status")),
        _decode_patch(patch, patch_type) if mutating and allowed else [],
        _texts(response.get("warnings") or []),
        _annotations(response.get("auditAnnotations")),
    )


def _check_kind(tree: Object, version: str) -> None:
    """Checks the kind and version of a review. Missing values are accepted here and checked later."""
    group_version, kind = tree.get("apiVersion") or f"{GROUP}/{version}", tree.get("kind") or KIND
    if kind != KIND or group_version not in [f"{GROUP}/{known}" for known in VERSIONS]:
        raise UnreadableAnswer(f"no kind {quote(kind)} is registered for version {quote(group_version)}")
    if group_version != f"{GROUP}/{version}":
        given = group_version.removeprefix(f"{GROUP}/")
        raise UnreadableAnswer(f"converting ({given}.{KIND}) to ({version}.{KIND}): unknown conversion")


def _verify(tree: Object, response: Object, patch: bytes, uid: str, mutating: bool) -> None:
    if (response.get("uid") or "") != uid:
        raise InvalidAnswer(f"expected response.uid={quote(uid)}, got {quote(response.get('uid') or '')}")
    if tree.get("apiVersion") != f"{GROUP}/v1" or tree.get("kind") != KIND:
        found = GroupVersion.parse(tree.get("apiVersion") or "").with_kind(tree.get("kind") or "")
        got = f"{found.group}/{found.version}, Kind={found.kind}"
        raise InvalidAnswer(f"expected webhook response of {GROUP}/v1, Kind={KIND}, got {got}")
    patch_type = response.get("patchType")
    if not mutating:
        if patch:
            raise InvalidAnswer("validating webhook may not return response.patch")
        if patch_type is not None:
            raise InvalidAnswer("validating webhook may not return response.patchType")
        return
    if patch and patch_type is None:
        raise InvalidAnswer("webhook returned response.patch but not response.patchType")
    if not patch and patch_type is not None:
        raise InvalidAnswer("webhook returned response.patchType but not response.patch")
    if patch_type == "":
        raise InvalidAnswer('webhook returned invalid response.patchType of ""')


def _patch_bytes(patch: Json) -> bytes:
    if patch is None:
        return b""
    if type(patch) is not str:
        raise _wrong_type(patch, "AdmissionResponse.response.patch", "[]uint8")
    try:
        return b64decode(patch.replace("\n", "").replace("\r", ""), validate=True)
    except (Base64Error, ValueError):
        raise UnreadableAnswer("illegal base64 data in response.patch") from None


def _decode_patch(patch: bytes, patch_type: str | None) -> list[Object]:
    """Returns the operations of a patch. Their semantics are checked when applied."""
    if not patch:
        return []
    try:
        tree = codec.decode(patch)
        jsonpatch.decode(tree, strict=False)
    except APIError as error:
        raise PatchRefused(f"received undecodable patch in webhook response: {error.message}") from None
    if tree and patch_type != JSON_PATCH:
        raise PatchRefused(f"unsupported patch type {quote(patch_type or '')}")
    return tree or []


def _status(status: Json) -> Object | None:
    if status is None:
        return None
    if type(status) is not dict:
        raise _wrong_type(status, "AdmissionResponse.response.status", "v1.Status")
    for name, wanted in (("message", str), ("reason", str), ("status", str), ("code", int)):
        value = status.get(name)
        if value is not None and (type(value) is not wanted):
            raise _wrong_type(value, f"Status.response.status.{name}", "int32" if wanted is int else "string")
    return status


def _texts(texts: list[Json]) -> list[str]:
    for value in texts:
        if type(value) is not str:
            raise _wrong_type(value, "AdmissionResponse.response.warnings", "string")
    return texts


def _annotations(annotations: Json) -> dict[str, str]:
    if annotations is None:
        return {}
    if type(annotations) is not dict:
        raise _wrong_type(annotations, "AdmissionResponse.response.auditAnnotations", "map[string]string")
    for value in annotations.values():
        if type(value) is not str:
            raise _wrong_type(value, "AdmissionResponse.response.auditAnnotations", "string")
    return annotations


def _check_type(response: Object, name: str, wanted: type[Any]) -> None:
    value = response.get(name)
    if value is not None and type(value) is not wanted:
        raise _wrong_type(value, f"AdmissionResponse.response.{name}", _GO_TYPES[wanted])


def _wrong_type(value: Json, path: str, wanted: str) -> UnreadableAnswer:
    return UnreadableAnswer(f"json: cannot unmarshal {json_type(value)} into Go struct field {path} of type {wanted}")


# The server side, for programs that answer webhook calls.


def decode_request(body: bytes) -> tuple[AdmissionRequest, str]:
    """Returns the request of a webhook call and the version of the review. Raises ValueError with the reason."""
    try:
        review = codec.decode(body)
    except APIError as error:
        raise ValueError(error.message) from None
    tree = review.get("request") if isinstance(review, dict) else None
    version = str(review.get("apiVersion", "")).removeprefix(f"{GROUP}/") if isinstance(review, dict) else ""
    if not isinstance(tree, dict) or version not in VERSIONS:
        raise ValueError(f"the body must be an {KIND} of {GROUP}/v1 with a request")
    kind, resource, user = tree.get("kind") or {}, tree.get("resource") or {}, tree.get("userInfo") or {}
    asked_kind, asked_resource = tree.get("requestKind") or kind, tree.get("requestResource") or resource
    try:
        request = AdmissionRequest(
            uid=tree["uid"],
            kind=GroupVersionKind(**kind),
            resource=GroupVersionResource(**resource),
            subresource=tree.get("subResource", ""),
            request_kind=GroupVersionKind(**asked_kind),
            request_resource=GroupVersionResource(**asked_resource),
            name=tree.get("name", ""),
            namespace=tree.get("namespace", ""),
            operation=tree["operation"],
            user=UserInfo(
                user.get("username", ""), user.get("groups") or (), user.get("uid", ""), user.get("extra") or {}
            ),
            object=tree.get("object"),
            old_object=tree.get("oldObject"),
            dry_run=bool(tree.get("dryRun")),
            options=tree.get("options"),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"the request of the {KIND} lacks a field, or has one of a wrong type: {error}") from None
    return request, version


def encode_answer(response: AdmissionResponse, uid: str, version: str) -> bytes:
    """Returns the body of the response to a webhook call."""
    tree: Object = {"uid": uid, "allowed": response.allowed}
    if response.status is not None:
        tree["status"] = response.status
    if response.patch:
        tree["patch"] = b64encode(_encode(response.patch)).decode("ascii")
        tree["patchType"] = JSON_PATCH
    if response.warnings:
        tree["warnings"] = list(response.warnings)
    if response.audit_annotations:
        tree["auditAnnotations"] = dict(response.audit_annotations)
    return _encode({"kind": KIND, "apiVersion": f"{GROUP}/{version}", "response": tree})
