"""The built-in resources: the path, names, verbs and subresources of each kind.

The order is that of discovery, which decides between groups that use the same short name. Schemas come from the
published definitions, the rules of each kind from `setpoint.server.registry.kinds`.
"""

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import NamedTuple

from setpoint.objects.errors import BadRequest
from setpoint.objects.gvk import GroupVersion, GroupVersionKind
from setpoint.objects.tree import Object
from setpoint.schema import builtin
from setpoint.server.registry import kinds, metrics_resources
from setpoint.server.registry.builtin_shape import shape_of
from setpoint.server.registry.resource import ALL_VERBS, CREATE_ONLY, Resource, Subresource
from setpoint.server.registry.storage import Storage
from setpoint.server.registry.strategy import Strategy

_CONNECT = ("create", "get")
_PROXY = ("create", "delete", "get", "patch", "update")

_SCALE = GroupVersionKind("autoscaling", "v1", "Scale")
_SUBRESOURCES = {
    "status": Subresource("status"),
    "scale": Subresource("scale", kind=_SCALE),
    "finalize": Subresource("finalize", ("update",)),
    "approval": Subresource("approval"),
    "ephemeralcontainers": Subresource("ephemeralcontainers"),
    "resize": Subresource("resize"),
    "binding": Subresource("binding", CREATE_ONLY, GroupVersionKind("", "v1", "Binding")),
    "eviction": Subresource("eviction", CREATE_ONLY, GroupVersionKind("policy", "v1", "Eviction")),
    "token": Subresource("token", CREATE_ONLY, GroupVersionKind("authentication.k8s.io", "v1", "TokenRequest")),
    "log": Subresource("log", ("get",)),
    "attach": Subresource("attach", _CONNECT, GroupVersionKind("", "v1", "PodAttachOptions")),
    "exec": Subresource("exec", _CONNECT, GroupVersionKind("", "v1", "PodExecOptions")),
    "portforward": Subresource("portforward", _CONNECT, GroupVersionKind("", "v1", "PodPortForwardOptions")),
}


class _Row(NamedTuple):
    """One resource. `scope` is N (namespaced) or C (cluster); lists are separated by blanks."""

    resource: str
    kind: str
    scope: str
    short: str = ""
    subresources: str = ""
    categories: str = ""
    verbs: Sequence[str] = ALL_VERBS
    # The warning that every request to a deprecated resource receives.
    deprecated: str = ""


_POD_SUBRESOURCES = "attach binding ephemeralcontainers eviction exec log portforward proxy resize status"
_NO_COLLECTION = tuple(verb for verb in ALL_VERBS if verb != "deletecollection")

_TABLE: dict[str, tuple[_Row, ...]] = {
    "v1": (
        _Row("bindings", "Binding", "N", verbs=CREATE_ONLY),
        _Row(
            *("componentstatuses", "ComponentStatus", "C", "cs"),
            verbs=("get", "list"),
            deprecated="v1 ComponentStatus is deprecated in v1.19+",
        ),
        _Row("configmaps", "ConfigMap", "N", "cm"),
        _Row(
            *("endpoints", "Endpoints", "N", "ep"),
            deprecated="v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
        ),
        _Row("events", "Event", "N", "ev"),
        _Row("limitranges", "LimitRange", "N", "limits"),
        _Row("namespaces", "Namespace", "C", "ns", "finalize status", verbs=_NO_COLLECTION),
        _Row("nodes", "Node", "C", "no", "proxy status"),
        _Row("persistentvolumeclaims", "PersistentVolumeClaim", "N", "pvc", "status"),
        _Row("persistentvolumes", "PersistentVolume", "C", "pv", "status"),
        _Row("pods", "Pod", "N", "po", _POD_SUBRESOURCES, "all"),
        _Row("podtemplates", "PodTemplate", "N"),
        _Row("replicationcontrollers", "ReplicationController", "N", "rc", "scale status", "all"),
        _Row("resourcequotas", "ResourceQuota", "N", "quota", "status"),
        _Row("secrets", "Secret", "N"),
        _Row("serviceaccounts", "ServiceAccount", "N", "sa", "token"),
        _Row("services", "Service", "N", "svc", "proxy status", "all"),
    ),
    "apiregistration.k8s.io/v1": (_Row("apiservices", "APIService", "C", "", "status", "api-extensions"),),
    "apps/v1": (
        _Row("controllerrevisions", "ControllerRevision", "N"),
        _Row("daemonsets", "DaemonSet", "N", "ds", "status", "all"),
        _Row("deployments", "Deployment", "N", "deploy", "scale status", "all"),
        _Row("replicasets", "ReplicaSet", "N", "rs", "scale status", "all"),
        _Row("statefulsets", "StatefulSet", "N", "sts", "scale status", "all"),
    ),
    "events.k8s.io/v1": (_Row("events", "Event", "N", "ev"),),
    "authentication.k8s.io/v1": (
        _Row("selfsubjectreviews", "SelfSubjectReview", "C", verbs=CREATE_ONLY),
        _Row("tokenreviews", "TokenReview", "C", verbs=CREATE_ONLY),
    ),
    "authorization.k8s.io/v1": (
        _Row("localsubjectaccessreviews", "LocalSubjectAccessReview", "N", verbs=CREATE_ONLY),
        _Row("selfsubjectaccessreviews", "SelfSubjectAccessReview", "C", verbs=CREATE_ONLY),
        _Row("selfsubjectrulesreviews", "SelfSubjectRulesReview", "C", verbs=CREATE_ONLY),
        _Row("subjectaccessreviews", "SubjectAccessReview", "C", verbs=CREATE_ONLY),
    ),
    "autoscaling/v2": (_Row("horizontalpodautoscalers", "HorizontalPodAutoscaler", "N", "hpa", "status", "all"),),
    "autoscaling/v1": (_Row("horizontalpodautoscalers", "HorizontalPodAutoscaler", "N", "hpa", "status", "all"),),
    "batch/v1": (
        _Row("cronjobs", "CronJob", "N", "cj", "status", "all"),
        _Row("jobs", "Job", "N", "", "status", "all"),
    ),
    "certificates.k8s.io/v1": (
        _Row("certificatesigningrequests", "CertificateSigningRequest", "C", "csr", "approval status"),
        _Row("clustertrustbundles", "ClusterTrustBundle", "C"),
        _Row("podcertificaterequests", "PodCertificateRequest", "N", "", "status"),
    ),
    "networking.k8s.io/v1": (
        _Row("ingressclasses", "IngressClass", "C"),
        _Row("ingresses", "Ingress", "N", "ing", "status"),
        _Row("ipaddresses", "IPAddress", "C", "ip"),
        _Row("networkpolicies", "NetworkPolicy", "N", "netpol"),
        _Row("servicecidrs", "ServiceCIDR", "C", "", "status"),
    ),
    "policy/v1": (_Row("poddisruptionbudgets", "PodDisruptionBudget", "N", "pdb", "status"),),
    "rbac.authorization.k8s.io/v1": (
        _Row("clusterrolebindings", "ClusterRoleBinding", "C"),
        _Row("clusterroles", "ClusterRole", "C"),
        _Row("rolebindings", "RoleBinding", "N"),
        _Row("roles", "Role", "N"),
    ),
    "storage.k8s.io/v1": (
        _Row("csidrivers", "CSIDriver", "C"),
        _Row("csinodes", "CSINode", "C", "", "status"),
        _Row("csistoragecapacities", "CSIStorageCapacity", "N"),
        _Row("storageclasses", "StorageClass", "C", "sc"),
        _Row("volumeattachments", "VolumeAttachment", "C", "", "status"),
        _Row("volumeattributesclasses", "VolumeAttributesClass", "C", "vac"),
    ),
    "admissionregistration.k8s.io/v1": (
        _Row("mutatingadmissionpolicies", "MutatingAdmissionPolicy", "C", "", "", "api-extensions"),
        _Row("mutatingadmissionpolicybindings", "MutatingAdmissionPolicyBinding", "C", "", "", "api-extensions"),
        _Row("mutatingwebhookconfigurations", "MutatingWebhookConfiguration", "C", "", "", "api-extensions"),
        _Row("validatingadmissionpolicies", "ValidatingAdmissionPolicy", "C", "", "status", "api-extensions"),
        _Row("validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", "C", "", "", "api-extensions"),
        _Row("validatingwebhookconfigurations", "ValidatingWebhookConfiguration", "C", "", "", "api-extensions"),
    ),
    "apiextensions.k8s.io/v1": (
        _Row("customresourcedefinitions", "CustomResourceDefinition", "C", "crd crds", "status", "api-extensions"),
    ),
    "scheduling.k8s.io/v1": (_Row("priorityclasses", "PriorityClass", "C", "pc"),),
    "coordination.k8s.io/v1": (_Row("leases", "Lease", "N"),),
    "node.k8s.io/v1": (_Row("runtimeclasses", "RuntimeClass", "C"),),
    "discovery.k8s.io/v1": (_Row("endpointslices", "EndpointSlice", "N"),),
    "resource.k8s.io/v1": (
        _Row("deviceclasses", "DeviceClass", "C"),
        _Row("devicetaintrules", "DeviceTaintRule", "C", "", "status"),
        _Row("resourceclaims", "ResourceClaim", "N", "", "status"),
        _Row("resourceclaimtemplates", "ResourceClaimTemplate", "N"),
        _Row("resourceslices", "ResourceSlice", "C"),
    ),
    "flowcontrol.apiserver.k8s.io/v1": (
        _Row("flowschemas", "FlowSchema", "C", "", "status"),
        _Row("prioritylevelconfigurations", "PriorityLevelConfiguration", "C", "", "status"),
    ),
    "storagemigration.k8s.io/v1": (_Row("storageversionmigrations", "StorageVersionMigration", "C", "", "status"),),
}

# The storage version of resources that are stored under another group or version.
_STORED_ELSEWHERE = {
    "events.k8s.io/v1": GroupVersion("", "v1"),
    "autoscaling/v1": GroupVersion("autoscaling", "v2"),
}


def resources() -> list[Resource]:
    """Returns new built-in resources for a server, in the order of discovery."""
    families: dict[str, dict[str, Resource]] = {}
    found: list[Resource] = []
    for template in (*_templates(), *metrics_resources.templates()):
        family = families.setdefault(template.storage.prefix, {})
        resource = family[template.api_version] = template.for_server(family)
        found.append(resource)
    return found


@cache
def _templates() -> Sequence[Resource]:
    """Returns the resources that those of each server are copied from: a process may start hundreds of servers."""
    found: list[Resource] = []
    storages: dict[str, Storage] = {}
    definitions = builtin.kinds()
    for api_version, rows in _TABLE.items():
        gv = GroupVersion.parse(api_version)
        stored = _STORED_ELSEWHERE.get(api_version, gv)
        for row in rows:
            gvk = gv.with_kind(row.kind)
            if gvk not in definitions:
                continue
            storage = Storage(stored.group, row.resource, row.scope == "N", str(stored), row.kind)
            storage = storages.setdefault(storage.prefix, storage)
            rules = partial(_rules, gv.group, row.kind)
            resource = Resource(
                group=gv.group,
                version=gv.version,
                resource=row.resource,
                kind=row.kind,
                namespaced=row.scope == "N",
                storage=storage,
                make_strategy=rules,
                make_shape=partial(shape_of, definitions[gvk]),
                singular=row.kind.lower(),
                list_kind=f"{row.kind}List",
                short_names=row.short.split(),
                categories=row.categories.split(),
                verbs=row.verbs,
                subresources={name: _subresource(row.kind, name) for name in row.subresources.split()},
                definition=definitions[gvk],
                convert=partial(_convert, rules),
                deprecation_warning=row.deprecated,
            )
            # Computed once for all servers.
            _ = resource.gvk, resource.group_resource, resource.api_version
            found.append(resource)
    return found


def _rules(group: str, kind: str) -> Strategy:
    return kinds.strategy_for(group, kind) or Strategy()


def _convert(rules: Callable[[], Strategy], tree: Object, from_version: str, to_version: str) -> Object:
    kind = tree.get("kind", "")
    try:
        return rules().convert(tree, from_version, to_version)
    except ValueError as error:  # the result of an apply is converted before being decoded
        raise BadRequest.not_decodable(kind, GroupVersion.parse(from_version).version, str(error)) from None


def _subresource(kind: str, name: str) -> Subresource:
    if name == "proxy":
        return Subresource(name, _PROXY, GroupVersionKind("", "v1", f"{kind}ProxyOptions"))
    return _SUBRESOURCES[name]
