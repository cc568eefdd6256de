"""Who asks: certificates, tokens, nobody."""

import pytest

from setpoint.objects.errors import Forbidden
from setpoint.server.access.authentication.credentials import Credentials
from setpoint.server.access.authentication.users import ADMIN, ANONYMOUS
from setpoint.server.app import Server
from setpoint.server.message import Peer, Request
from setpoint.server.ports import User
from setpoint.server.requestinfo import request_info
from setpoint.server.server_options import AccessControl
from setpoint.store.memory import MemoryStore

JANE = User("jane", ("dev", "system:authenticated"))
KNOWN = Credentials({"s3cret": ADMIN, "janes": JANE})


async def who(
    *,
    authorization: str | None = None,
    peer: Peer | None = None,
    path: str = "/healthz",
    credentials: Credentials | None = None,
) -> User | None:
    headers = {} if authorization is None else {"authorization": authorization}
    request = Request("GET", path, headers=headers, peer=peer or Peer("10.0.0.1:5"))
    server = Server(MemoryStore(), access=AccessControl(credentials or KNOWN))
    return await server.services.authenticator.authenticate(request, request_info("GET", path))


@pytest.mark.parametrize("header", ["Bearer janes", "bearer janes", "BEARER   janes ", " Bearer janes"])
async def test_a_known_token_is_its_user(header: str) -> None:
    assert await who(authorization=header) == JANE


@pytest.mark.parametrize("token", ["wrong", "s3cre", "s3crett", "s3cret,janes", "S3CRET", "schlüssel", "\udcff"])
async def test_a_token_that_nobody_knows_is_refused_even_where_nobody_would_be_let_in(token: str) -> None:
    assert await who(authorization=f"Bearer {token}") is None
    assert await who(authorization=f"Bearer {token}", peer=Peer(in_process=True)) is None


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer ", "Basic s3cret", "s3cret"])
async def test_who_brings_no_token_is_anonymous(header: str | None) -> None:
    assert await who(authorization=header) == ANONYMOUS


@pytest.mark.parametrize("path", ["/api", "/api/v1/pods", "/", "/metrics", "//healthz", "/health", "/healthzz"])
async def test_who_brings_no_token_is_let_in_only_where_health_and_version_are_told(path: str) -> None:
    with pytest.raises(Forbidden, match=r'User "system:anonymous" cannot (get|list)'):
        await who(path=path)
    assert await who(path=path, credentials=Credentials({}, anonymous="always")) == ANONYMOUS
    assert await who(path=path, credentials=Credentials({}, anonymous="never")) is None


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/livez/ping", "/readyz", "/version", "/version/"])
async def test_where_nobody_is_let_in_without_credentials_even_health_is_not_told(path: str) -> None:
    assert await who(path=path) == ANONYMOUS
    assert await who(path=path, credentials=Credentials({}, anonymous="never")) is None


async def test_code_in_our_own_process_is_the_administrator_unless_it_says_otherwise() -> None:
    inside = Peer(in_process=True)
    assert await who(peer=inside) == ADMIN
    assert await who(authorization="Bearer janes", peer=inside) == JANE


async def test_a_certificate_names_its_user_and_groups_and_counts_before_a_token() -> None:
    peer = Peer("10.0.0.1:5", "joe", ("ops", "dev"), "ab12")
    for authorization in (None, "Bearer janes", "Bearer wrong"):
        user = await who(authorization=authorization, peer=peer)
        assert user is not None
        assert (user.name, user.groups) == ("joe", ("ops", "dev", "system:authenticated"))
        assert user.extra == {"authentication.kubernetes.io/credential-id": ("X509SHA256=ab12",)}
