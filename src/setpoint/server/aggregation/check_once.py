"""One check of an extension API server: its availability, its documents, and the condition of its APIService."""

from collections.abc import Callable
from contextlib import suppress

from setpoint.client.http.connection import Broken
from setpoint.server.aggregation.api_service_status import write_status
from setpoint.server.aggregation.availability import TIMEOUT_SECONDS, check
from setpoint.server.aggregation.followed_version import FollowedVersion
from setpoint.server.aggregation.remote_client import RemoteClient, TooLargeError
from setpoint.server.aggregation.remote_documents import DocumentError, read_documents
from setpoint.server.aggregation.remote_swagger import read_swagger
from setpoint.server.outbound.client import AuthoritiesError
from setpoint.server.outbound.failure import CallFailed
from setpoint.server.outbound.service_resolver import ServiceError
from setpoint.server.request.context import Services

_FAILURES = (AuthoritiesError, Broken, CallFailed, DocumentError, ServiceError, TimeoutError, TooLargeError)


async def check_once(
    services: Services, client: RemoteClient, followed: FollowedVersion, publish: Callable[[], None]
) -> bool:
    """Calls `publish` after the documents were read, and writes the condition. Returns True if the server is available
    and its documents are read."""
    declared = followed.declared
    server = declared.version.server
    verdict = await check(services, client, declared.gv, server)
    documents = followed.documents._replace(resources=(), is_fresh=False)
    if verdict.is_available:
        documents = followed.documents._replace(is_fresh=False)
        with suppress(*_FAILURES):
            documents = await read_documents(client, server, declared.gv, verdict.resource_list, TIMEOUT_SECONDS)
            documents = documents._replace(swagger=followed.documents.swagger)
            swagger = await read_swagger(
                services, client, server, declared.gv, followed.documents.swagger, TIMEOUT_SECONDS
            )
            documents = documents._replace(swagger=swagger)
    if server == followed.declared.version.server:
        followed.documents = documents
        publish()
    await write_status(services, declared.name, declared.uid, verdict)
    return verdict.is_available and documents.is_fresh
