"""ServiceAccount: assigns a service account and its token to every pod.

A pod without a service account gets `default`; a named account must exist. The account `default` is created by a
controller soon after its namespace. Until then, and on servers without that controller, a pod is treated as with a new,
empty account.
"""

from typing import NamedTuple

from setpoint.objects import meta
from setpoint.objects.names import generate_name
from setpoint.objects.tree import Object
from setpoint.server.admission.plugins.pods import containers, is_pods
from setpoint.server.admission.plugins.refusal import forbidden
from setpoint.server.ports import CREATE, UPDATE, Operation
from setpoint.server.registry.resource import Resource
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context

_DEFAULT = "default"
_MIRROR = "kubernetes.io/config.mirror"
_ENFORCE_SECRETS = "kubernetes.io/enforce-mountable-secrets"
_VOLUME = "kube-api-access-"
_MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
# Effectively a year: use after an hour is only reported, not refused.
_TOKEN_SECONDS = 3607
# Volume types that refer to a secret, and the field with the secret's name.
_SECRET_FIELDS = {
    "azureFile": "secretName",
    "secret": "secretName",
    "csi": "nodePublishSecretRef",
    **dict.fromkeys(
        ("cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos"),
        "secretRef",
    ),
}


class _Account(NamedTuple):
    """The fields of a service account that affect its pods."""

    name: str
    automount: bool = True
    pull_secrets: tuple[str, ...] = ()
    # The secrets that the account's pods may use; None: any.
    secrets: frozenset[str] | None = None


def _read(tree: Object) -> _Account:
    enforced = meta.annotations(tree).get(_ENFORCE_SECRETS, "") in ("1", "t", "T", "true", "TRUE", "True")
    return _Account(
        meta.name(tree),
        tree.get("automountServiceAccountToken") is not False,
        tuple(reference.get("name") or "" for reference in tree.get("imagePullSecrets") or ()),
        frozenset(reference.get("name") or "" for reference in tree.get("secrets") or ()) if enforced else None,
    )


class ServiceAccount(Plugin):
    """Assigns the account, its token and its pull secrets to pods. With `require_default`, pods of the account
    `default` are refused until that account exists."""

    name = "ServiceAccount"

    def __init__(self, *, require_default: bool = False) -> None:
        self._require_default = require_default

    def concerns(self, resource: Resource, verb: str) -> bool:
        return is_pods(resource) and verb in (CREATE, UPDATE)

    async def mutate(self, context: Context, operation: Operation) -> None:
        pod = operation.object
        if pod is None or operation.subresource or operation.verb != CREATE:
            return
        if _MIRROR in meta.annotations(pod):
            _check_mirror(operation, pod)
            return
        spec = pod["spec"]
        if not spec.get("serviceAccountName"):
            spec["serviceAccountName"] = spec["serviceAccount"] = _DEFAULT
        account = await self._account(context, operation, spec["serviceAccountName"])
        if spec.get("automountServiceAccountToken", account.automount):
            _mount_token(context, spec)
        if not spec.get("imagePullSecrets") and account.pull_secrets:
            spec["imagePullSecrets"] = [{"name": name} for name in account.pull_secrets]
        _check_secrets(operation, account, spec)

    async def validate(self, context: Context, operation: Operation) -> None:
        pod = operation.object
        if pod is None:
            return
        if operation.verb == CREATE and not operation.subresource:
            if _MIRROR in meta.annotations(pod):
                _check_mirror(operation, pod)
                return
        elif operation.subresource != "ephemeralcontainers":
            return
        name = pod["spec"].get("serviceAccountName")
        if not name:
            raise forbidden(operation, f"no service account specified for pod {operation.namespace}/{meta.name(pod)}")
        account = await self._account(context, operation, name)
        if operation.subresource:
            _check_containers(operation, account, pod["spec"], "ephemeralContainers", "ephemeral container")
        else:
            _check_secrets(operation, account, pod["spec"])

    async def _account(self, context: Context, operation: Operation, name: str) -> _Account:
        accounts = context.registry.resource("", "v1", "serviceaccounts")
        namespace = operation.namespace
        item = None
        if accounts is not None:
            item = await context.services.store.get(accounts.storage.key(namespace, name))
        if accounts is None or item is None:
            if name == _DEFAULT and not self._require_default:
                return _Account(_DEFAULT)
            text = f"error looking up service account {namespace}/{name}"
            raise forbidden(operation, f'{text}: serviceaccount "{name}" not found')
        return _read(accounts.item(item))


def _mount_token(context: Context, spec: Object) -> None:
    """Mounts the token, the CA certificate and the namespace in every container that does not already mount a volume at
    that path."""
    volumes = spec.get("volumes") or []
    name = next((volume["name"] for volume in volumes if (volume.get("name") or "").startswith(_VOLUME)), "")
    is_there = bool(name)
    name = name or generate_name(_VOLUME, context.services.ids)
    needed = False
    for field in ("initContainers", "containers"):
        for container in spec.get(field) or ():
            mounts = container.get("volumeMounts") or []
            if all(mount.get("mountPath") != _MOUNT_PATH for mount in mounts):
                mount: Object = {"name": name, "readOnly": True, "mountPath": _MOUNT_PATH}
                container["volumeMounts"] = [*mounts, mount]
                needed = True
    if needed and not is_there:
        spec["volumes"] = [*volumes, {"name": name, "projected": _token_volume()}]


def _token_volume() -> Object:
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    return {
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": _TOKEN_SECONDS, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [namespace]}},
        ],
        "defaultMode": 420,
    }


def _check_mirror(operation: Operation, pod: Object) -> None:
    """Refuses mirror pods, which represent static pods of a node, with a service account, secrets or tokens."""
    spec = pod["spec"]
    if spec.get("serviceAccountName"):
        raise forbidden(operation, "a mirror pod may not reference service accounts")
    if _names_secret(spec):
        raise forbidden(operation, "a mirror pod may not reference secrets")
    for volume in spec.get("volumes") or ():
        for source in (volume.get("projected") or {}).get("sources") or ():
            if source.get("serviceAccountToken") is not None:
                raise forbidden(operation, "a mirror pod may not use ServiceAccountToken volume projections")


def _names_secret(spec: Object) -> bool:
    if any(reference.get("name") for reference in spec.get("imagePullSecrets") or ()):
        return True
    if any(name for _, container in containers(spec) for _, name in _container_secrets(container)):
        return True
    for volume in spec.get("volumes") or ():
        for kind, field in _SECRET_FIELDS.items():
            named = (volume.get(kind) or {}).get(field)
            if named.get("name") if isinstance(named, dict) else named:
                return True
        if any(
            (source.get("secret") or {}).get("name") for source in (volume.get("projected") or {}).get("sources") or ()
        ):
            return True
    return False


def _container_secrets(container: Object) -> list[tuple[str, str]]:
    """Returns the secrets in the environment of a container, each with its description for messages."""
    found = []
    for variable in container.get("env") or ():
        reference = (variable.get("valueFrom") or {}).get("secretKeyRef")
        if reference is not None:
            found.append((f"envVar {variable.get('name') or ''}", reference.get("name") or ""))
    references = [source.get("secretRef") for source in container.get("envFrom") or ()]
    return found + [("envFrom", reference.get("name") or "") for reference in references if reference is not None]


def _check_secrets(operation: Operation, account: _Account, spec: Object) -> None:
    """Refuses secrets that an account with enforced mountable secrets does not list."""
    if account.secrets is None:
        return
    not_referenced = f"is not allowed because service account {account.name} does not reference that"
    for volume in spec.get("volumes") or ():
        name = (volume.get("secret") or {}).get("secretName") or ""
        if volume.get("secret") is not None and name not in account.secrets:
            raise forbidden(operation, f'volume with secret.secretName="{name}" {not_referenced} secret')
    _check_containers(operation, account, spec, "initContainers", "init container")
    _check_containers(operation, account, spec, "containers", "container")
    for position, reference in enumerate(spec.get("imagePullSecrets") or ()):
        name = reference.get("name") or ""
        if name not in account.pull_secrets:
            raise forbidden(operation, f'imagePullSecrets[{position}].name="{name}" {not_referenced} imagePullSecret')


def _check_containers(operation: Operation, account: _Account, spec: Object, field: str, called: str) -> None:
    if account.secrets is None:
        return
    for container in spec.get(field) or ():
        for where, name in _container_secrets(container):
            if name not in account.secrets:
                text = f'{called} {container.get("name") or ""} with {where} referencing secret.secretName="{name}"'
                why = f"is not allowed because service account {account.name} does not reference that secret"
                raise forbidden(operation, f"{text} {why}")
