"""The values of CEL's authorizer library: permission checks in policy expressions.

`check_authorizer` returns the value of `authorizer`, `request_check` the value of `authorizer.requestResource`. The
checks run synchronously. Like all CEL values they are immutable: each refinement of a check returns a new check.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

from setpoint.objects.names import dns1123_label, dns1123_subdomain
from setpoint.schema.cel.types import Type, struct
from setpoint.schema.cel.values import EvaluationError
from setpoint.server.ports import Decision, Operation, User
from setpoint.server.request.context import Authorizer, Services
from setpoint.server.requestinfo import RequestInfo


def service_account(namespace: str, name: str) -> User:
    """Returns the user of a service account."""
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
    return User(f"system:serviceaccount:{namespace}:{name}", groups)


async def check_authorizer(services: Services, user: User) -> "CheckAuthorizer":
    """Returns the value of `authorizer` for expressions that evaluate a request of a user."""
    await services.authorizer.prepare()
    return CheckAuthorizer(services.authorizer, user)


def request_check(authorizer: "CheckAuthorizer", operation: Operation) -> "ResourceCheck":
    """Returns the value of `authorizer.requestResource`: a check for the resource of the request."""
    resource = operation.resource
    return ResourceCheck(
        authorizer, resource.group, resource.resource, operation.subresource, operation.namespace, operation.name
    )


@dataclass(frozen=True, slots=True)
class CheckAuthorizer:
    """Checks permissions on behalf of a user."""

    cel_type: ClassVar[Type] = struct("kubernetes.authorization.Authorizer")

    authorizer: Authorizer
    user: User

    def path(self, path: str) -> "PathCheck":
        if not path.strip():
            raise EvaluationError("path must not be empty")
        return PathCheck(self, path)

    def group(self, group: str) -> "GroupCheck":
        return GroupCheck(self, group)

    def serviceAccount(self, namespace: str, name: str) -> "CheckAuthorizer":  # noqa: N802 - the name in CEL
        if dns1123_subdomain(name):
            raise EvaluationError("Invalid service account name")
        if dns1123_label(namespace):
            raise EvaluationError("Invalid service account namespace")
        return CheckAuthorizer(self.authorizer, service_account(namespace, name))

    def authorize(self, info: RequestInfo) -> "Answer":
        return Answer(self.authorizer.decide(self.user, info))


@dataclass(frozen=True, slots=True)
class PathCheck:
    """A permission check for a non-resource path."""

    cel_type: ClassVar[Type] = struct("kubernetes.authorization.PathCheck")

    authorizer: CheckAuthorizer
    info: str

    def check(self, verb: str) -> "Answer":
        return self.authorizer.authorize(RequestInfo(verb, self.info))


@dataclass(frozen=True, slots=True)
class GroupCheck:
    """The API group of a permission check for a resource."""

    cel_type: ClassVar[Type] = struct("kubernetes.authorization.GroupCheck")

    authorizer: CheckAuthorizer
    info: str

    def resource(self, resource: str) -> "ResourceCheck":
        if not resource.strip():
            raise EvaluationError("resource must not be empty")
        return ResourceCheck(self.authorizer, self.info, resource)


@dataclass(frozen=True, slots=True)
class ResourceCheck:
    """A permission check for a resource. Selectors only narrow a request and RBAC rules ignore selectors, so the result
    does not depend on them."""

    cel_type: ClassVar[Type] = struct("kubernetes.authorization.ResourceCheck")

    authorizer: CheckAuthorizer
    of_group: str
    of_resource: str
    of_subresource: str = ""
    in_namespace: str = ""
    named: str = ""

    def subresource(self, subresource: str) -> "ResourceCheck":
        return replace(self, of_subresource=subresource)

    def namespace(self, namespace: str) -> "ResourceCheck":
        return replace(self, in_namespace=namespace)

    def name(self, name: str) -> "ResourceCheck":
        return replace(self, named=name)

    def fieldSelector(self, selector: str) -> "ResourceCheck":  # noqa: N802 - the name in CEL
        return self

    def labelSelector(self, selector: str) -> "ResourceCheck":  # noqa: N802 - the name in CEL
        return self

    def check(self, verb: str) -> "Answer":
        return self.authorizer.authorize(
            RequestInfo(
                verb,
                "",
                is_resource=True,
                group=self.of_group,
                version="*",
                namespace=self.in_namespace,
                resource=self.of_resource,
                name=self.named,
                subresource=self.of_subresource,
            )
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """The decision, as expressions read the result."""

    cel_type: ClassVar[Type] = struct("kubernetes.authorization.Decision")

    decision: Decision

    def allowed(self) -> bool:
        return self.decision.allowed

    def reason(self) -> str:
        return self.decision.reason

    def errored(self) -> bool:
        """Returns False: Setpoint's authorizers never fail. An undecidable request is refused, and the reason says
        why."""
        return False

    def error(self) -> str:
        return ""
