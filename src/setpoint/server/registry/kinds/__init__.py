"""The rules of the built-in kinds: defaults, validation, allowed updates, table columns.

`strategy_for` finds them. The table below has the module of each strategy; a module is imported on first use of one of
its kinds, so that a server starts without the rules of unused kinds. A kind that is not in the table has no rules
beyond its schema.
"""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Final, cast

from setpoint.server.registry.strategy import Strategy

# Group and kind, and the location of the strategy: module (below this package) and class.
_STRATEGIES: Final[Mapping[tuple[str, str], str]] = {
    ("", "Binding"): "core.component_status:BindingStrategy",
    ("", "ComponentStatus"): "core.component_status:ComponentStatusStrategy",
    ("", "ConfigMap"): "core.config_map:ConfigMapStrategy",
    ("", "Endpoints"): "core.endpoints:EndpointsStrategy",
    ("", "Event"): "core.event:EventStrategy",
    ("", "LimitRange"): "core.resource_quota:LimitRangeStrategy",
    ("", "Namespace"): "core.namespace:NamespaceStrategy",
    ("", "Node"): "core.node:NodeStrategy",
    ("", "PersistentVolume"): "core.persistent_volume:PersistentVolumeStrategy",
    ("", "PersistentVolumeClaim"): "core.persistent_volume:PersistentVolumeClaimStrategy",
    ("", "Pod"): "core.pod.strategy:PodStrategy",
    ("", "PodTemplate"): "core.replication_controller:PodTemplateStrategy",
    ("", "ReplicationController"): "core.replication_controller:ReplicationControllerStrategy",
    ("", "ResourceQuota"): "core.resource_quota:ResourceQuotaStrategy",
    ("", "Secret"): "core.config_map:SecretStrategy",
    ("", "Service"): "core.service.strategy:ServiceStrategy",
    ("", "ServiceAccount"): "core.service_account:ServiceAccountStrategy",
    ("events.k8s.io", "Event"): "core.event:NewerEventStrategy",
    ("apiextensions.k8s.io", "CustomResourceDefinition"): "apiextensions.custom_resource_definition:DefinitionStrategy",
    (
        "admissionregistration.k8s.io",
        "MutatingAdmissionPolicy",
    ): "admissionregistration.policies:MutatingAdmissionPolicyStrategy",
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"): (
        "admissionregistration.policies:MutatingAdmissionPolicyBindingStrategy"
    ),
    (
        "admissionregistration.k8s.io",
        "MutatingWebhookConfiguration",
    ): "admissionregistration.webhooks:MutatingWebhookConfigurationStrategy",
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): (
        "admissionregistration.policies:ValidatingAdmissionPolicyStrategy"
    ),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"): (
        "admissionregistration.policies:ValidatingAdmissionPolicyBindingStrategy"
    ),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): (
        "admissionregistration.webhooks:ValidatingWebhookConfigurationStrategy"
    ),
    ("apiregistration.k8s.io", "APIService"): "apiregistration.apiservice:APIServiceStrategy",
    ("apps", "ControllerRevision"): "apps.statefulset:ControllerRevisionStrategy",
    ("apps", "DaemonSet"): "apps.daemonset:DaemonSetStrategy",
    ("apps", "Deployment"): "apps.deployment:DeploymentStrategy",
    ("apps", "ReplicaSet"): "apps.deployment:ReplicaSetStrategy",
    ("apps", "StatefulSet"): "apps.statefulset:StatefulSetStrategy",
    ("autoscaling", "HorizontalPodAutoscaler"): "autoscaling:HorizontalPodAutoscalerStrategy",
    ("batch", "CronJob"): "batch.cronjob:CronJobStrategy",
    ("batch", "Job"): "batch.job:JobStrategy",
    (
        "certificates.k8s.io",
        "CertificateSigningRequest",
    ): "certificates.signing_request:CertificateSigningRequestStrategy",
    ("certificates.k8s.io", "ClusterTrustBundle"): "certificates.signing_request:ClusterTrustBundleStrategy",
    ("certificates.k8s.io", "PodCertificateRequest"): "certificates.pod_certificates:PodCertificateRequestStrategy",
    ("coordination.k8s.io", "Lease"): "coordination.lease:LeaseStrategy",
    ("coordination.k8s.io", "LeaseCandidate"): "coordination.lease:LeaseCandidateStrategy",
    ("discovery.k8s.io", "EndpointSlice"): "discovery.endpointslice:EndpointSliceStrategy",
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"): "flowcontrol.flow_schema:FlowSchemaStrategy",
    (
        "flowcontrol.apiserver.k8s.io",
        "PriorityLevelConfiguration",
    ): "flowcontrol.flow_schema:PriorityLevelConfigurationStrategy",
    ("internal.apiserver.k8s.io", "StorageVersion"): "storagemigration.migration:StorageVersionStrategy",
    ("metrics.k8s.io", "NodeMetrics"): "metrics.usage_columns:NodeMetricsStrategy",
    ("metrics.k8s.io", "PodMetrics"): "metrics.usage_columns:PodMetricsStrategy",
    ("networking.k8s.io", "IPAddress"): "networking.network_policy:IPAddressStrategy",
    ("networking.k8s.io", "Ingress"): "networking.ingress:IngressStrategy",
    ("networking.k8s.io", "IngressClass"): "networking.ingress:IngressClassStrategy",
    ("networking.k8s.io", "NetworkPolicy"): "networking.network_policy:NetworkPolicyStrategy",
    ("networking.k8s.io", "ServiceCIDR"): "networking.network_policy:ServiceCIDRStrategy",
    ("node.k8s.io", "RuntimeClass"): "node.runtimeclass:RuntimeClassStrategy",
    ("policy", "Eviction"): "policy.pod_disruption_budget:EvictionStrategy",
    ("policy", "PodDisruptionBudget"): "policy.pod_disruption_budget:PodDisruptionBudgetStrategy",
    ("rbac.authorization.k8s.io", "ClusterRole"): "rbac.roles:ClusterRoleStrategy",
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): "rbac.roles:ClusterRoleBindingStrategy",
    ("rbac.authorization.k8s.io", "Role"): "rbac.roles:RoleStrategy",
    ("rbac.authorization.k8s.io", "RoleBinding"): "rbac.roles:RoleBindingStrategy",
    ("resource.k8s.io", "DeviceClass"): "resource.devices:DeviceClassStrategy",
    ("resource.k8s.io", "DeviceTaintRule"): "resource.devices:DeviceTaintRuleStrategy",
    ("resource.k8s.io", "ResourceClaim"): "resource.devices:ResourceClaimStrategy",
    ("resource.k8s.io", "ResourceClaimTemplate"): "resource.devices:ResourceClaimTemplateStrategy",
    ("resource.k8s.io", "ResourceSlice"): "resource.resource_slices:ResourceSliceStrategy",
    ("scheduling.k8s.io", "PriorityClass"): "scheduling.priorityclass:PriorityClassStrategy",
    ("storage.k8s.io", "CSIDriver"): "storage.storage_class:CSIDriverStrategy",
    ("storage.k8s.io", "CSINode"): "storage.storage_class:CSINodeStrategy",
    ("storage.k8s.io", "CSIStorageCapacity"): "storage.storage_class:CSIStorageCapacityStrategy",
    ("storage.k8s.io", "StorageClass"): "storage.storage_class:StorageClassStrategy",
    ("storage.k8s.io", "VolumeAttachment"): "storage.storage_class:VolumeAttachmentStrategy",
    ("storage.k8s.io", "VolumeAttributesClass"): "storage.storage_class:VolumeAttributesClassStrategy",
    (
        "storagemigration.k8s.io",
        "StorageVersionMigration",
    ): "storagemigration.migration:StorageVersionMigrationStrategy",
}


@cache
def strategy_for(group: str, kind: str) -> Strategy | None:
    """Returns the rules of a built-in kind, or None if the kind has no special rules. They have no state: servers share
    them."""
    place = _STRATEGIES.get((group, kind))
    if place is None:
        return None
    module, _, name = place.partition(":")
    return cast(type[Strategy], getattr(import_module(f"{__name__}.{module}"), name))()
