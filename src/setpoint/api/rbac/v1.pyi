"""The types of `rbac/v1`. Made by `tools/api_stubs.py`: change that, not this."""

from setpoint.api.meta import v1 as _meta_v1
from setpoint.schema.types import Model, Resource

class AggregationRule(Model):
    """AggregationRule describes how to locate ClusterRoles to aggregate into the ClusterRole"""

    cluster_role_selectors: list[_meta_v1.LabelSelector] = ...
    """clusterRoleSelectors holds a list of selectors which will be used to find ClusterRoles and create the rules. If
    any of the selectors match, then the ClusterRole's permissions will be added
    """

class ClusterRole(Resource):
    """ClusterRole is a cluster level, logical grouping of PolicyRules that can be referenced as a unit by a
    RoleBinding or ClusterRoleBinding.
    """

    aggregation_rule: AggregationRule | None = ...
    """aggregationRule is an optional field that describes how to build the Rules for this ClusterRole. If
    AggregationRule is set, then the Rules are controller managed and direct changes to Rules will be stomped by the
    controller.
    """
    rules: list[PolicyRule] = ...
    """rules holds all the PolicyRules for this ClusterRole"""

class ClusterRoleBinding(Resource):
    """ClusterRoleBinding references a ClusterRole, but not contain it.  It can reference a ClusterRole in the global
    namespace, and adds who information via Subject.
    """

    role_ref: RoleRef = ...
    """roleRef can only reference a ClusterRole in the global namespace. If the RoleRef cannot be resolved, the
    Authorizer must return an error. This field is immutable.
    """
    subjects: list[Subject] = ...
    """subjects holds references to the objects the role applies to."""

class ClusterRoleBindingList(Model):
    """ClusterRoleBindingList is a collection of ClusterRoleBindings"""

    api_version: str | None = ...
    """APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized
    schemas to the latest internal value, and may reject unrecognized values. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources
    """
    items: list[ClusterRoleBinding]
    """Items is a list of ClusterRoleBindings"""
    kind: str | None = ...
    """Kind is a string value representing the REST resource this object represents. Servers may infer this from the
    endpoint the client submits requests to. Cannot be updated. In CamelCase. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds
    """
    metadata: _meta_v1.ListMeta = ...
    """Standard object's metadata."""

class ClusterRoleList(Model):
    """ClusterRoleList is a collection of ClusterRoles"""

    api_version: str | None = ...
    """APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized
    schemas to the latest internal value, and may reject unrecognized values. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources
    """
    items: list[ClusterRole]
    """Items is a list of ClusterRoles"""
    kind: str | None = ...
    """Kind is a string value representing the REST resource this object represents. Servers may infer this from the
    endpoint the client submits requests to. Cannot be updated. In CamelCase. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds
    """
    metadata: _meta_v1.ListMeta = ...
    """Standard object's metadata."""

class PolicyRule(Model):
    """PolicyRule holds information that describes a policy rule, but does not contain information about who the rule
    applies to or which namespace the rule applies to.
    """

    api_groups: list[str] = ...
    """apiGroups is the name of the APIGroup that contains the resources.  If multiple API groups are specified, any
    action requested against one of the enumerated resources in any API group will be allowed. "" represents the
    core API group and "*" represents all API groups.
    """
    non_resource_urls: list[str] = ...
    """nonResourceURLs is a set of partial urls that a user should have access to.  *s are allowed, but only as the
    full, final step in the path Since non-resource URLs are not namespaced, this field is only applicable for
    ClusterRoles referenced from a ClusterRoleBinding. Rules can either apply to API resources (such as "pods" or
    "secrets") or non-resource URL paths (such as "/api"),  but not both.
    """
    resource_names: list[str] = ...
    """resourceNames is an optional white list of names that the rule applies to.  An empty set means that everything
    is allowed.
    """
    resources: list[str] = ...
    """resources is a list of resources this rule applies to. '*' represents all resources."""
    verbs: list[str]
    """verbs is a list of Verbs that apply to ALL the ResourceKinds contained in this rule. '*' represents all verbs.
    """

class Role(Resource):
    """Role is a namespaced, logical grouping of PolicyRules that can be referenced as a unit by a RoleBinding."""

    rules: list[PolicyRule] = ...
    """rules holds all the PolicyRules for this Role"""

class RoleBinding(Resource):
    """RoleBinding references a role, but does not contain it.  It can reference a Role in the same namespace or a
    ClusterRole in the global namespace. It adds who information via Subjects and namespace information by which
    namespace it exists in.  RoleBindings in a given namespace only have effect in that namespace.
    """

    role_ref: RoleRef = ...
    """roleRef can reference a Role in the current namespace or a ClusterRole in the global namespace. If the RoleRef
    cannot be resolved, the Authorizer must return an error. This field is immutable.
    """
    subjects: list[Subject] = ...
    """subjects holds references to the objects the role applies to."""

class RoleBindingList(Model):
    """RoleBindingList is a collection of RoleBindings"""

    api_version: str | None = ...
    """APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized
    schemas to the latest internal value, and may reject unrecognized values. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources
    """
    items: list[RoleBinding]
    """Items is a list of RoleBindings"""
    kind: str | None = ...
    """Kind is a string value representing the REST resource this object represents. Servers may infer this from the
    endpoint the client submits requests to. Cannot be updated. In CamelCase. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds
    """
    metadata: _meta_v1.ListMeta = ...
    """Standard object's metadata."""

class RoleList(Model):
    """RoleList is a collection of Roles"""

    api_version: str | None = ...
    """APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized
    schemas to the latest internal value, and may reject unrecognized values. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources
    """
    items: list[Role]
    """Items is a list of Roles"""
    kind: str | None = ...
    """Kind is a string value representing the REST resource this object represents. Servers may infer this from the
    endpoint the client submits requests to. Cannot be updated. In CamelCase. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds
    """
    metadata: _meta_v1.ListMeta = ...
    """Standard object's metadata."""

class RoleRef(Model):
    """RoleRef contains information that points to the role being used"""

    api_group: str | None = ...
    """apiGroup is the group for the resource being referenced"""
    kind: str
    """kind is the type of resource being referenced"""
    name: str
    """name is the name of resource being referenced"""

class Subject(Model):
    """Subject contains a reference to the object or user identities a role binding applies to.  This can either hold a
    direct API object reference, or a value for non-objects such as user and group names.
    """

    api_group: str | None = ...
    """apiGroup holds the API group of the referenced subject. Defaults to "" for ServiceAccount subjects. Defaults to
    "rbac.authorization.k8s.io" for User and Group subjects.
    """
    kind: str
    """kind of object being referenced. Values defined by this API group are "User", "Group", and "ServiceAccount". If
    the Authorizer does not recognized the kind value, the Authorizer should report an error.
    """
    name: str
    """name of the object being referenced."""
    namespace: str | None = ...
    """namespace of the referenced object.  If the object kind is non-namespace, such as "User" or "Group", and this
    value is not empty the Authorizer should report an error.
    """
