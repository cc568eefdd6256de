"""What expressions of policies learn about rights."""

from typing import Any

import pytest
from tests.server.authorization.cluster import Cluster, binding, role, rule, somebody

from setpoint.schema.cel.program import Program
from setpoint.schema.cel.values import EvaluationError
from setpoint.server.access.authorization.cel_authorizer import check_authorizer, request_check
from setpoint.server.ports import CREATE, Operation
from setpoint.server.registry.kinds.admissionregistration.expressions import environment

RIGHTS = [
    rule("get", "pods/log deployments", groups="- apps"),
    rule("delete", "secrets", names="mine"),
    rule("get", urls="/metrics"),
    rule("publish", "articles", groups="example.com"),
]
ROBOT = {"kind": "ServiceAccount", "name": "robot", "namespace": "kube-system"}


async def evaluated(cluster: Cluster, expression: str) -> Any:
    """What an expression says in a request of ann's for a new ConfigMap in `default`."""
    await cluster.grant("ann", *RIGHTS)
    await cluster.grant("ann", rule("create", "configmaps"), namespace="default")
    await cluster.made(role("robots", rule("list", "nodes")))
    await cluster.made(binding("robots", subjects=[ROBOT]))
    services = cluster.server.services
    resource = services.registry.resource("", "v1", "configmaps")
    assert resource is not None
    authorizer = await check_authorizer(services, somebody("ann"))
    operation = Operation(CREATE, resource, "default", "c", "", {}, None)
    program = Program(expression, environment(params=False))
    variables = {"authorizer": authorizer, "authorizer.requestResource": request_check(authorizer, operation)}
    return program.exact(program.start(variables))


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("authorizer.group('apps').resource('deployments').check('get').allowed()", True),
        ("authorizer.group('apps').resource('deployments').namespace('any').name('x').check('get').allowed()", True),
        ("authorizer.group('apps').resource('deployments').check('list').allowed()", False),
        ("authorizer.group('').resource('pods').subresource('log').check('get').allowed()", True),
        ("authorizer.group('').resource('pods').check('get').allowed()", False),
        ("authorizer.group('').resource('secrets').name('mine').check('delete').allowed()", True),
        ("authorizer.group('').resource('secrets').name('yours').check('delete').allowed()", False),
        ("authorizer.group('example.com').resource('articles').check('publish').allowed()", True),
        ("authorizer.path('/metrics').check('get').allowed()", True),
        ("authorizer.path('/metrics').check('post').allowed()", False),
        ("authorizer.requestResource.check('create').allowed()", True),
        ("authorizer.requestResource.check('delete').allowed()", False),
        ("authorizer.requestResource.namespace('kube-system').check('create').allowed()", False),
        ("authorizer.serviceAccount('kube-system', 'robot').group('').resource('nodes').check('list').allowed()", True),
        ("authorizer.serviceAccount('default', 'robot').group('').resource('nodes').check('list').allowed()", False),
        ("authorizer.serviceAccount('default', 'x').path('/api').check('get').allowed()", True),
        (
            "authorizer.path('/metrics').check('get').reason()",
            'RBAC: allowed by ClusterRoleBinding "anns" of ClusterRole "anns" to User "ann"',
        ),
        ("authorizer.path('/metrics').check('get').errored()", False),
        ("authorizer.path('/metrics').check('get').error()", ""),
        (
            "authorizer.requestResource.fieldSelector('a=b').labelSelector('a').check('create').allowed()",
            True,
        ),
    ],
)
async def test_an_expression_asks_what_the_user_or_a_service_account_may_do(
    cluster: Cluster, expression: str, value: Any
) -> None:
    assert await evaluated(cluster, expression) == value


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ("authorizer.path(' ').check('get').allowed()", "path must not be empty"),
        ("authorizer.group('').resource('').check('get').allowed()", "resource must not be empty"),
        ("authorizer.serviceAccount('default', 'A').path('/').check('get').allowed()", "Invalid service account name"),
        ("authorizer.serviceAccount('a.b', 'x').path('/').check('get').allowed()", "Invalid service account namespace"),
    ],
)
async def test_a_question_about_nothing_is_an_error(cluster: Cluster, expression: str, error: str) -> None:
    with pytest.raises(EvaluationError, match=error):
        await evaluated(cluster, expression)
