"""The rules of the built-in kinds: defaults, validation, what an update may change, table columns.

`strategy_for` finds them. The table below says where each strategy lives; a module is imported when one of its kinds is
first asked for, so that a server starts without reading the rules of kinds that nobody uses. A kind that is not in the
table has no rules beyond its schema.
"""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Final, cast

from setpoint.server.strategy import Strategy

# Group and kind, and where the strategy is: module (below this package) and class.
_STRATEGIES: Final[Mapping[tuple[str, str], str]] = {
    ("", "Binding"): "component:BindingStrategy",
    ("", "ComponentStatus"): "component:ComponentStatusStrategy",
    ("", "ConfigMap"): "config:ConfigMapStrategy",
    ("", "Endpoints"): "endpoints:EndpointsStrategy",
    ("", "Event"): "event:EventStrategy",
    ("", "LimitRange"): "quota:LimitRangeStrategy",
    ("", "Namespace"): "namespace:NamespaceStrategy",
    ("", "Node"): "node:NodeStrategy",
    ("", "PersistentVolume"): "volume:PersistentVolumeStrategy",
    ("", "PersistentVolumeClaim"): "volume:PersistentVolumeClaimStrategy",
    ("", "Pod"): "pod.strategy:PodStrategy",
    ("", "PodTemplate"): "replication:PodTemplateStrategy",
    ("", "ReplicationController"): "replication:ReplicationControllerStrategy",
    ("", "ResourceQuota"): "quota:ResourceQuotaStrategy",
    ("", "Secret"): "config:SecretStrategy",
    ("", "Service"): "service.strategy:ServiceStrategy",
    ("", "ServiceAccount"): "account:ServiceAccountStrategy",
    ("events.k8s.io", "Event"): "event:NewerEventStrategy",
    ("apiextensions.k8s.io", "CustomResourceDefinition"): "definition:DefinitionStrategy",
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"): "admission_policies:MutatingAdmissionPolicyStrategy",
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"): (
        "admission_policies:MutatingAdmissionPolicyBindingStrategy"
    ),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): "webhooks:MutatingWebhookConfigurationStrategy",
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): (
        "admission_policies:ValidatingAdmissionPolicyStrategy"
    ),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"): (
        "admission_policies:ValidatingAdmissionPolicyBindingStrategy"
    ),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): (
        "webhooks:ValidatingWebhookConfigurationStrategy"
    ),
    ("apiregistration.k8s.io", "APIService"): "apiservice:APIServiceStrategy",
    ("apps", "ControllerRevision"): "statefulset:ControllerRevisionStrategy",
    ("apps", "DaemonSet"): "daemonset:DaemonSetStrategy",
    ("apps", "Deployment"): "deployment:DeploymentStrategy",
    ("apps", "ReplicaSet"): "deployment:ReplicaSetStrategy",
    ("apps", "StatefulSet"): "statefulset:StatefulSetStrategy",
    ("autoscaling", "HorizontalPodAutoscaler"): "autoscaler:HorizontalPodAutoscalerStrategy",
    ("batch", "CronJob"): "cronjob:CronJobStrategy",
    ("batch", "Job"): "job:JobStrategy",
    ("certificates.k8s.io", "CertificateSigningRequest"): "certificates:CertificateSigningRequestStrategy",
    ("certificates.k8s.io", "ClusterTrustBundle"): "certificates:ClusterTrustBundleStrategy",
    ("certificates.k8s.io", "PodCertificateRequest"): "certificates:PodCertificateRequestStrategy",
    ("coordination.k8s.io", "Lease"): "lease:LeaseStrategy",
    ("coordination.k8s.io", "LeaseCandidate"): "lease:LeaseCandidateStrategy",
    ("discovery.k8s.io", "EndpointSlice"): "endpointslice:EndpointSliceStrategy",
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"): "flowcontrol:FlowSchemaStrategy",
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): "flowcontrol:PriorityLevelConfigurationStrategy",
    ("internal.apiserver.k8s.io", "StorageVersion"): "migration:StorageVersionStrategy",
    ("networking.k8s.io", "IPAddress"): "networking:IPAddressStrategy",
    ("networking.k8s.io", "Ingress"): "ingress:IngressStrategy",
    ("networking.k8s.io", "IngressClass"): "ingress:IngressClassStrategy",
    ("networking.k8s.io", "NetworkPolicy"): "networking:NetworkPolicyStrategy",
    ("networking.k8s.io", "ServiceCIDR"): "networking:ServiceCIDRStrategy",
    ("node.k8s.io", "RuntimeClass"): "runtimeclass:RuntimeClassStrategy",
    ("policy", "Eviction"): "disruption:EvictionStrategy",
    ("policy", "PodDisruptionBudget"): "disruption:PodDisruptionBudgetStrategy",
    ("rbac.authorization.k8s.io", "ClusterRole"): "rbac:ClusterRoleStrategy",
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): "rbac:ClusterRoleBindingStrategy",
    ("rbac.authorization.k8s.io", "Role"): "rbac:RoleStrategy",
    ("rbac.authorization.k8s.io", "RoleBinding"): "rbac:RoleBindingStrategy",
    ("resource.k8s.io", "DeviceClass"): "devices:DeviceClassStrategy",
    ("resource.k8s.io", "DeviceTaintRule"): "devices:DeviceTaintRuleStrategy",
    ("resource.k8s.io", "ResourceClaim"): "devices:ResourceClaimStrategy",
    ("resource.k8s.io", "ResourceClaimTemplate"): "devices:ResourceClaimTemplateStrategy",
    ("resource.k8s.io", "ResourceSlice"): "devices:ResourceSliceStrategy",
    ("scheduling.k8s.io", "PriorityClass"): "scheduling:PriorityClassStrategy",
    ("storage.k8s.io", "CSIDriver"): "storage:CSIDriverStrategy",
    ("storage.k8s.io", "CSINode"): "storage:CSINodeStrategy",
    ("storage.k8s.io", "CSIStorageCapacity"): "storage:CSIStorageCapacityStrategy",
    ("storage.k8s.io", "StorageClass"): "storage:StorageClassStrategy",
    ("storage.k8s.io", "VolumeAttachment"): "storage:VolumeAttachmentStrategy",
    ("storage.k8s.io", "VolumeAttributesClass"): "storage:VolumeAttributesClassStrategy",
    ("storagemigration.k8s.io", "StorageVersionMigration"): "migration:StorageVersionMigrationStrategy",
}


@cache
def strategy_for(group: str, kind: str) -> Strategy | None:
    """The rules of a built-in kind, or None where it has none of its own. They have no state: servers share them."""
    place = _STRATEGIES.get((group, kind))
    if place is None:
        return None
    module, _, name = place.partition(":")
    return cast(type[Strategy], getattr(import_module(f"{__name__}.{module}"), name))()
