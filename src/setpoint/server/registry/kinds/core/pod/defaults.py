"""The defaults of pods and pod templates that depend on other fields or on the enclosing kind.

The defaults of every pod spec (`default_pod_spec`) are a part of those of a Pod (`default_pod`), which also has:
requests from limits, host ports, service links. Trees are changed in place; applying the defaults twice changes them
once.
"""

import re

from setpoint.objects.quantity import Quantity
from setpoint.objects.tree import Object

_MODE = 0o644
_TOKEN_SECONDS = 3600
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HOOKS = ("postStart", "preStop")
_NAME = r"[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*"
_DOMAIN = r"(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_IMAGE = re.compile(
    rf"(?:{_DOMAIN}/)?{_NAME}(?:/{_NAME})*(?::([\w][\w.-]{{0,127}}))?(@[A-Za-z][\w+.-]*:[0-9a-fA-F]{{32,}})?\Z",
    re.ASCII,
)
_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")


def default_pod(tree: Object) -> None:
    """Sets the defaults of a Pod."""
    spec = tree.setdefault("spec", {})
    default_pod_spec(spec)
    period = spec["terminationGracePeriodSeconds"]
    if period < 0:
        spec["terminationGracePeriodSeconds"] = 1
    for kind in ("containers", "initContainers"):
        for container in spec.get(kind) or ():
            _default_requests(container)
            if spec.get("hostNetwork"):
                for port in container.get("ports") or ():
                    if not port.get("hostPort") and port.get("containerPort"):
                        port["hostPort"] = port["containerPort"]
    spec.setdefault("enableServiceLinks", True)
    default_pod_status(tree.setdefault("status", {}))


def default_pod_status(status: Object) -> None:
    """Synchronizes the address and the list of addresses; the single address takes precedence."""
    one, several = status.get("podIP"), status.get("podIPs")
    if one and (not several or several[0].get("ip") != one):
        status["podIPs"] = [{"ip": one}]
    elif several and not one and several[0].get("ip"):
        status["podIP"] = several[0]["ip"]


def default_pod_template(template: Object) -> None:
    """Sets the defaults of a pod template, as in Deployments, Jobs and the like."""
    template.setdefault("metadata", {})
    default_pod_spec(template.setdefault("spec", {}))


def default_pod_spec(spec: Object) -> None:
    """Sets the defaults of every pod spec."""
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    _fill(spec, "dnsPolicy", "ClusterFirst")
    _fill(spec, "restartPolicy", "Always")
    _fill(spec, "schedulerName", "default-scheduler")
    spec.setdefault("securityContext", {})
    spec.setdefault("terminationGracePeriodSeconds", 30)
    for kind in _CONTAINERS:
        for container in spec.get(kind) or ():
            default_container(container)
    for volume in spec.get("volumes") or ():
        default_volume(volume)
    if "overhead" in spec:
        round_amounts(spec["overhead"])
    if "resources" in spec:
        _round_resources(spec["resources"])


def default_container(container: Object) -> None:
    _fill(container, "terminationMessagePath", "/dev/termination-log")
    _fill(container, "terminationMessagePolicy", "File")
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = pull_policy(container.get("image") or "")
    _round_resources(container.setdefault("resources", {}))
    for port in container.get("ports") or ():
        _fill(port, "protocol", "TCP")
    for variable in container.get("env") or ():
        source = variable.get("valueFrom") or {}
        if "fieldRef" in source:
            _fill(source["fieldRef"], "apiVersion", "v1")
        if "fileKeyRef" in source:
            source["fileKeyRef"].setdefault("optional", False)
    for name in _PROBES:
        if name in container:
            _default_probe(container[name])
    hooks = container.get("lifecycle") or {}
    for name in _HOOKS:
        if name in hooks:
            _default_handler(hooks[name])


def _default_probe(probe: Object) -> None:
    _fill(probe, "timeoutSeconds", 1)
    _fill(probe, "periodSeconds", 10)
    _fill(probe, "successThreshold", 1)
    _fill(probe, "failureThreshold", 3)
    _default_handler(probe)


def _default_handler(handler: Object) -> None:
    if "httpGet" in handler:
        _fill(handler["httpGet"], "path", "/")
        _fill(handler["httpGet"], "scheme", "HTTP")
    if "grpc" in handler:
        handler["grpc"].setdefault("service", "")


def pull_policy(image: str) -> str:
    """Returns `Always` for the tag `latest`, explicit or implied; otherwise `IfNotPresent`, also for an invalid image
    name."""
    found = _IMAGE.match(image)
    if found is None:
        return "IfNotPresent"
    tag, digest = found.groups()
    return "Always" if tag == "latest" or not (tag or digest) else "IfNotPresent"


def _default_requests(container: Object) -> None:
    """Sets missing requests to the limits."""
    resources = container["resources"]
    limits = resources.get("limits")
    if limits:
        requests = resources.setdefault("requests", {})
        for name, limit in limits.items():
            requests.setdefault(name, limit)


# --- volumes ---


def default_volume(volume: Object) -> None:
    if len(volume) <= 1:
        volume.setdefault("emptyDir", {})
        return
    for name in ("secret", "configMap", "downwardAPI", "projected"):
        if name in volume:
            volume[name].setdefault("defaultMode", _MODE)
    for item in (volume.get("downwardAPI") or {}).get("items") or ():
        _default_field_reference(item)
    for source in (volume.get("projected") or {}).get("sources") or ():
        _default_projection(source)
    if "ephemeral" in volume:
        default_claim_template(volume["ephemeral"].get("volumeClaimTemplate") or {})
    if "image" in volume and not volume["image"].get("pullPolicy"):
        volume["image"]["pullPolicy"] = pull_policy(volume["image"].get("reference") or "")
    default_volume_source(volume)


def default_volume_source(source: Object) -> None:
    """Sets the defaults of the sources that pods and PersistentVolumes share."""
    if "hostPath" in source:
        source["hostPath"].setdefault("type", "")
    if "iscsi" in source:
        _fill(source["iscsi"], "iscsiInterface", "default")
    if "rbd" in source:
        for name, value in (("pool", "rbd"), ("user", "admin"), ("keyring", "/etc/ceph/keyring")):
            _fill(source["rbd"], name, value)
    if "azureDisk" in source:
        disk = source["azureDisk"]
        for name, value in (("cachingMode", "ReadWrite"), ("kind", "Shared"), ("fsType", "ext4")):
            disk.setdefault(name, value)
        disk.setdefault("readOnly", False)
    if "scaleIO" in source:
        _fill(source["scaleIO"], "storageMode", "ThinProvisioned")
        _fill(source["scaleIO"], "fsType", "xfs")


def default_claim_template(template: Object) -> None:
    """Sets the defaults of a claim template."""
    spec = template.get("spec")
    if spec is not None:
        default_claim_spec(spec)


def default_claim_spec(spec: Object) -> None:
    """Sets the defaults of the spec of a PersistentVolumeClaim."""
    spec.setdefault("volumeMode", "Filesystem")
    _round_resources(spec.setdefault("resources", {}))


def _default_field_reference(item: Object) -> None:
    if "fieldRef" in item:
        _fill(item["fieldRef"], "apiVersion", "v1")


def _default_projection(source: Object) -> None:
    if "serviceAccountToken" in source:
        source["serviceAccountToken"].setdefault("expirationSeconds", _TOKEN_SECONDS)
    for item in (source.get("downwardAPI") or {}).get("items") or ():
        _default_field_reference(item)


# --- amounts ---


def _round_resources(resources: Object) -> None:
    for name in ("limits", "requests"):
        if name in resources:
            round_amounts(resources[name])


def round_amounts(amounts: Object) -> None:
    """Rounds amounts up to thousandths, the smallest unit of resources."""
    for name, amount in amounts.items():
        if type(amount) is str and amount[-1:] in "nu" and amount:
            thousandths = Quantity.parse(amount).value(-3)
            amounts[name] = str(Quantity(thousandths, -3))


def _fill(tree: Object, name: str, value: object) -> None:
    if not tree.get(name):
        tree[name] = value
