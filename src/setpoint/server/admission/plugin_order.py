"""The admission plugins of a server, in kube-apiserver's order.

Upstream's order, with plugins that are off by default in brackets: (AlwaysAdmit), (NamespaceAutoProvision),
NamespaceLifecycle, (NamespaceExists), (LimitPodHardAntiAffinityTopology), LimitRanger, ServiceAccount,
(NodeRestriction), TaintNodesByCondition, (AlwaysPullImages), (ImagePolicyWebhook), PodSecurity, (PodNodeSelector),
Priority, DefaultTolerationSeconds, (PodTolerationRestriction), (EventRateLimit), (ExtendedResourceToleration),
DefaultStorageClass, StorageObjectInUseProtection, PodGroupProtection, (OwnerReferencesPermissionEnforcement),
PersistentVolumeClaimResize, RuntimeClass, CertificateApproval, CertificateSigning, ClusterTrustBundleAttest,
CertificateSubjectRestriction, DefaultIngressClass, (DenyServiceExternalIPs), PodTopologyLabels,
NodeDeclaredFeatureValidator, PodResizeValidator, MutatingAdmissionPolicy, MutatingAdmissionWebhook,
ValidatingAdmissionPolicy, ValidatingAdmissionWebhook, ResourceQuota, (AlwaysDeny).

DenyPrivilegedContainers is specific to Setpoint and does the same as kube-apiserver without `--allow-privileged`.

Deliberately missing: plugins without a purpose here (AlwaysAdmit, AlwaysDeny), plugins that need real nodes
(NodeRestriction, NodeDeclaredFeatureValidator), ImagePolicyWebhook, which needs an external server, and
PodGroupProtection, whose kinds are not served.
"""

from collections.abc import Callable, Collection, Sequence

from setpoint.server.admission.plugins.always_pull_images import AlwaysPullImages
from setpoint.server.admission.plugins.certificate_approval import CertificateApproval
from setpoint.server.admission.plugins.certificate_signing import CertificateSigning
from setpoint.server.admission.plugins.certificate_subject_restriction import CertificateSubjectRestriction
from setpoint.server.admission.plugins.cluster_trust_bundle_attest import ClusterTrustBundleAttest
from setpoint.server.admission.plugins.default_ingress_class import DefaultIngressClass
from setpoint.server.admission.plugins.default_storage_class import DefaultStorageClass
from setpoint.server.admission.plugins.default_toleration_seconds import DefaultTolerationSeconds
from setpoint.server.admission.plugins.deny_privileged_containers import DenyPrivilegedContainers
from setpoint.server.admission.plugins.deny_service_external_ips import DenyServiceExternalIPs
from setpoint.server.admission.plugins.event_rate_limit import EventRateLimit
from setpoint.server.admission.plugins.extended_resource_toleration import ExtendedResourceToleration
from setpoint.server.admission.plugins.limit_pod_hard_anti_affinity_topology import LimitPodHardAntiAffinityTopology
from setpoint.server.admission.plugins.limit_ranger import LimitRanger
from setpoint.server.admission.plugins.namespace_auto_provision import NamespaceAutoProvision
from setpoint.server.admission.plugins.namespace_exists import NamespaceExists
from setpoint.server.admission.plugins.namespace_lifecycle import NamespaceLifecycle
from setpoint.server.admission.plugins.owner_references_permission_enforcement import (
    OwnerReferencesPermissionEnforcement,
)
from setpoint.server.admission.plugins.persistent_volume_claim_resize import PersistentVolumeClaimResize
from setpoint.server.admission.plugins.pod_node_selector import PodNodeSelector
from setpoint.server.admission.plugins.pod_resize_validator import PodResizeValidator
from setpoint.server.admission.plugins.pod_security import PodSecurity
from setpoint.server.admission.plugins.pod_topology_labels import PodTopologyLabels
from setpoint.server.admission.plugins.priority import Priority
from setpoint.server.admission.plugins.resource_quota import ResourceQuota
from setpoint.server.admission.plugins.runtime_class import RuntimeClass
from setpoint.server.admission.plugins.service_account import ServiceAccount
from setpoint.server.admission.plugins.storage_object_in_use_protection import StorageObjectInUseProtection
from setpoint.server.admission.plugins.taint_nodes_by_condition import TaintNodesByCondition
from setpoint.server.admission.policies.plugins import MutatingAdmissionPolicy, ValidatingAdmissionPolicy
from setpoint.server.admission.webhook.plugins import MutatingAdmissionWebhook, ValidatingAdmissionWebhook
from setpoint.server.request.admission_plugin import Plugin

_OWN: Sequence[Callable[[], Plugin]] = (
    NamespaceAutoProvision,
    NamespaceLifecycle,
    NamespaceExists,
    LimitPodHardAntiAffinityTopology,
    LimitRanger,
    ServiceAccount,
    TaintNodesByCondition,
    AlwaysPullImages,
    DenyPrivilegedContainers,
    PodSecurity,
    PodNodeSelector,
    Priority,
    DefaultTolerationSeconds,
    EventRateLimit,
    ExtendedResourceToleration,
    DefaultStorageClass,
    StorageObjectInUseProtection,
    OwnerReferencesPermissionEnforcement,
    PersistentVolumeClaimResize,
    RuntimeClass,
    CertificateApproval,
    CertificateSigning,
    ClusterTrustBundleAttest,
    CertificateSubjectRestriction,
    DefaultIngressClass,
    DenyServiceExternalIPs,
    PodTopologyLabels,
    PodResizeValidator,
)
# The plugins that call other servers.
WEBHOOKS = ("MutatingAdmissionWebhook", "ValidatingAdmissionWebhook")
# Plugins registered by the program run between these two groups.
_LAST: Sequence[Callable[[], Plugin]] = (
    MutatingAdmissionPolicy,
    MutatingAdmissionWebhook,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionWebhook,
    ResourceQuota,
)

OFF_BY_DEFAULT = frozenset(
    (
        *("NamespaceAutoProvision", "NamespaceExists", "LimitPodHardAntiAffinityTopology", "AlwaysPullImages"),
        *("PodNodeSelector", "EventRateLimit", "ExtendedResourceToleration"),
        *("OwnerReferencesPermissionEnforcement", "DenyServiceExternalIPs"),
    )
)


def plugins(
    registered: Sequence[Plugin] = (),
    disabled: Collection[str] = (),
    enabled: Collection[str] = (),
) -> list[Plugin]:
    """Returns the enabled plugins in order.

    Plugins registered by the program run after the built-in plugins that fill in objects and before those that only
    validate. A registered plugin with the name of a built-in plugin replaces and enables that plugin. `enabled` names
    plugins to enable that are off by default.
    """
    first, last = [make() for make in _OWN], [make() for make in _LAST]
    own = {plugin.name for plugin in (*first, *last)}
    instead = {plugin.name: plugin for plugin in registered if plugin.name in own}
    off = (OFF_BY_DEFAULT - {*enabled, *instead}) | {*disabled}

    def those(found: Sequence[Plugin]) -> list[Plugin]:
        return [instead.get(plugin.name, plugin) for plugin in found if plugin.name not in off]

    return [*those(first), *(plugin for plugin in registered if plugin.name not in own), *those(last)]
