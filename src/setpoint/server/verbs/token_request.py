"""TokenRequest: a token for a service account, as pods get and `kubectl create token` requests.

The request is posted to the account's subresource `token` and never stored: the response is the completed request with
the token.
"""

from setpoint.merge.fieldmanager import FieldManager
from setpoint.objects import meta
from setpoint.objects.clock import Clock
from setpoint.objects.errors import BadRequest, Conflict, Invalid, NotFound
from setpoint.objects.field import FieldError, invalid
from setpoint.objects.gvk import GroupResource, GroupVersion, GroupVersionKind
from setpoint.objects.times import format_time
from setpoint.objects.tree import Object
from setpoint.server.codec.request_body import create_options
from setpoint.server.codec.response import object_answer
from setpoint.server.message import Response
from setpoint.server.ports import TokenReference
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context
from setpoint.server.verbs.create_only import admitted, posted_resource, read_posted
from setpoint.server.verbs.get import read

_GROUP, _VERSION, _KIND = "authentication.k8s.io", "v1", "TokenRequest"
_HOUR, _LEAST, _MOST = 3600, 600, 1 << 32
_KINDS = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}


def _requests() -> Resource:
    return posted_resource(GroupVersionKind(_GROUP, _VERSION, _KIND), "tokenrequests")


async def issue_token(context: Context, resource: Resource) -> Response:
    """Answers the POST of a TokenRequest."""
    requests = _requests()
    options = create_options(context)
    tree = await read_posted(context, requests, options, keeps_system_fields=True)
    spec = tree.setdefault("spec", {})
    if spec.get("expirationSeconds") is None:
        spec["expirationSeconds"] = _HOUR
    tree = _field_manager(context.services.clock).update(None, tree, options.field_manager)
    _check_name(context, tree["metadata"])
    tree = await admitted(context, resource, context.info.name, tree, options)
    account = resource.item(await read(context, resource))
    now = context.services.clock.now()
    _complete(context, tree, account, format_time(now))
    bound = await _bound(context, tree["spec"].get("boundObjectRef"))

    issuer, spec = context.services.issuer, tree["spec"]
    longest, wanted = issuer.max_expiration_seconds, spec["expirationSeconds"]
    if 0 < longest < wanted:
        context.warn(f"requested expiration of {wanted} seconds shortened to {longest} seconds")
        spec["expirationSeconds"] = wanted = longest
    audiences = spec["audiences"]
    token = issuer.issue(
        context.info.namespace,
        TokenReference(meta.name(account), meta.uid(account)),
        audiences=audiences,
        lifetime=issuer.lifetime(wanted, audiences, for_pod="pod" in bound),
        now=now.timestamp(),
        jti=context.services.ids.uid(),
        bound=bound,
    )
    ends = now.replace(microsecond=0).timestamp() + wanted
    tree["status"] = {"token": token, "expirationTimestamp": format_time(now.fromtimestamp(ends, now.tzinfo))}
    body = requests.encoding.render(requests.encoding.encode(tree), 0)
    return await object_answer(context, requests, body, 201)


def _check_name(context: Context, metadata: Object) -> None:
    given = metadata.get("name")
    if given and given != context.info.name:
        error = invalid("metadata.name", given, "must match the service account name if specified")
        raise Invalid.of(_requests().group_kind, context.info.name, [error])


def _complete(context: Context, tree: Object, account: Object, now: str) -> None:
    """Sets the defaults of the request, and rejects a request for another account or with values out of range."""
    metadata, spec, name = tree["metadata"], tree["spec"], context.info.name
    uid, given = meta.uid(account), metadata.get("uid")
    if given and given != uid:
        why = f"the UID in the token request ({given}) does not match the UID of the service account ({uid})"
        raise Conflict.of(GroupResource(_GROUP, _KIND), name, why)
    metadata |= {"name": name, "namespace": context.info.namespace, "uid": uid, "creationTimestamp": now}
    if not spec.get("audiences"):
        spec["audiences"] = list(context.services.issuer.audiences)
    if errors := _errors(spec):
        raise Invalid.of(_requests().group_kind, "", errors)


def _errors(spec: Object) -> list[FieldError]:
    if attestations := spec.get("attestations"):
        why = "attestations may only be specified with a webhook bound object reference"
        return [invalid("spec.attestations", attestations, why)]
    seconds = spec["expirationSeconds"]
    if seconds < _LEAST:
        return [invalid("spec.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")]
    if seconds > _MOST:
        return [invalid("spec.expirationSeconds", seconds, "may not specify a duration larger than 2^32 seconds")]
    return []


async def _bound(context: Context, reference: Object | None) -> dict[str, TokenReference]:
    """Returns the objects that the token is bound to, by claim name."""
    if reference is None:
        return {}
    group_version, kind = GroupVersion.parse(reference.get("apiVersion", "")), reference.get("kind", "")
    if group_version.group or kind not in _KINDS:
        shown = f"{group_version.group}/{group_version.version}, Kind={kind}"
        raise BadRequest(f"cannot bind token to object of type {shown}")
    name = reference.get("name", "")
    if not name:
        raise BadRequest("Name parameter required.")
    found = await _get(context, _KINDS[kind], name)
    if found is None:
        raise NotFound.of(GroupResource("", _KINDS[kind]), name)
    bound = {kind.lower(): TokenReference(name, meta.uid(found))}
    if kind == "Pod":
        spec = found.get("spec") or {}
        if spec.get("serviceAccountName", "") != context.info.name:
            raise BadRequest(
                f'cannot bind token for serviceaccount "{context.info.name}" to pod running with different '
                "serviceaccount name."
            )
        if node_name := spec.get("nodeName"):
            node = await _get(context, "nodes", node_name)
            bound["node"] = TokenReference(node_name, meta.uid(node) if node else "")
    given, uid = reference.get("uid"), meta.uid(found)
    if given and given != uid:
        why = (
            f"the UID in the bound object reference ({given}) does not match the UID in record. The object might have "
            "been deleted and then recreated"
        )
        raise Conflict.of(GroupResource(group_version.group, kind), name, why)
    return bound


async def _get(context: Context, plural: str, name: str) -> Object | None:
    resource = context.registry.resource("", "v1", plural)
    assert resource is not None
    item = await context.services.store.get(resource.storage.key(context.info.namespace, name))
    return None if item is None else resource.item(item)


def _field_manager(clock: Clock) -> FieldManager:
    requests = _requests()
    return FieldManager(
        api_version=requests.api_version,
        kind=_KIND,
        types={requests.api_version: requests.shape.type},
        clock=clock,
        subresource="token",
        empty=requests.empty,
    )
