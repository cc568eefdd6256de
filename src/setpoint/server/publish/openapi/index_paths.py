"""The paths that are not resources and that clients may read: the indexes of discovery, the version, the issuer."""

from collections.abc import Iterable, Sequence

from setpoint.objects.gvk import GroupVersion
from setpoint.server.publish.openapi import definition_names
from setpoint.server.publish.openapi.operations import JSON, MEDIA, Operation, Path, path

_PLAIN: Sequence[Path] = (
    path(
        "/.well-known/openid-configuration/",
        [
            Operation(
                "get",
                "getServiceAccountIssuerOpenIDConfiguration",
                "get service account issuer OpenID configuration, also known as the 'OIDC discovery doc'",
                "WellKnown",
                produces=(JSON,),
            )
        ],
    ),
    path(
        "/openid/v1/jwks/",
        [
            Operation(
                "get",
                "getServiceAccountIssuerOpenIDKeyset",
                "get service account issuer OpenID JSON Web Key Set (contains public token verification keys)",
                "openid",
                produces=("application/jwk-set+json",),
            )
        ],
    ),
    path(
        "/version/",
        [
            Operation(
                "get",
                "getCodeVersion",
                "get the version information for this server",
                "version",
                consumes=(JSON,),
                answer=definition_names.VERSION_INFO,
                produces=(JSON,),
            )
        ],
    ),
    path(
        "/api/",
        [
            Operation(
                "get",
                "getCoreAPIVersions",
                "get available API versions",
                "core",
                consumes=MEDIA,
                answer=definition_names.API_VERSIONS,
            )
        ],
    ),
    path(
        "/apis/",
        [
            Operation(
                "get",
                "getAPIVersions",
                "get available API versions",
                "apis",
                consumes=MEDIA,
                answer=definition_names.API_GROUPS,
            )
        ],
    ),
)


def group_path(group: str) -> Path:
    """Returns the path of a named group."""
    operation = Operation(
        "get",
        definition_names.group_operation_id(group, "get", "APIGroup"),
        "get information of a group",
        definition_names.group_tag(group),
        consumes=MEDIA,
        answer=definition_names.API_GROUP,
    )
    return path(f"/apis/{group}/", [operation])


def version_path(gv: GroupVersion) -> Path:
    """Returns the path of the resources of a group and version."""
    operation = Operation(
        "get",
        definition_names.operation_id(gv, "get", "APIResources"),
        "get available resources",
        definition_names.tag(gv),
        consumes=MEDIA,
        answer=definition_names.API_RESOURCES,
    )
    return path(f"/{definition_names.root_path(gv)}/", [operation])


def documents(groups: Iterable[str]) -> dict[str, Path]:
    """Returns the paths that have a document of their own in version 3, by the name of the document, for a server with
    these built-in groups."""
    found = [*_PLAIN, *(group_path(group) for group in groups if group)]
    return {path.path.strip("/"): path for path in found}
