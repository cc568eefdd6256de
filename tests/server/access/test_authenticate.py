"""Who asks: certificates, tokens, nobody."""

import asyncio

import pytest

from setpoint.server.authentication.credentials import Credentials
from setpoint.server.authentication.users import ADMIN, ANONYMOUS
from setpoint.server.authorization.authorizer import Masters
from setpoint.server.context import User
from setpoint.server.exchange import Peer, Request
from setpoint.server.requestinfo import request_info

JANE = User("jane", ("dev", "system:authenticated"))
KNOWN = Credentials({"s3cret": ADMIN, "janes": JANE})


def who(*, authorization: str | None = None, peer: Peer | None = None) -> User | None:
    headers = {} if authorization is None else {"authorization": authorization}
    return asyncio.run(KNOWN.authenticate(Request("GET", "/", headers=headers, peer=peer or Peer("10.0.0.1:5"))))


@pytest.mark.parametrize("header", ["Bearer janes", "bearer janes", "BEARER   janes ", " Bearer janes"])
def test_a_known_token_is_its_user(header: str) -> None:
    assert who(authorization=header) == JANE


@pytest.mark.parametrize("token", ["wrong", "s3cre", "s3crett", "s3cret,janes", "S3CRET", "schlüssel", "\udcff"])
def test_a_token_that_nobody_knows_is_refused_even_where_nobody_would_be_let_in(token: str) -> None:
    assert who(authorization=f"Bearer {token}") is None
    assert who(authorization=f"Bearer {token}", peer=Peer(in_process=True)) is None


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer ", "Basic s3cret", "s3cret"])
def test_who_brings_no_token_is_anonymous(header: str | None) -> None:
    assert who(authorization=header) == ANONYMOUS


def test_code_in_our_own_process_is_the_administrator_unless_it_says_otherwise() -> None:
    inside = Peer(in_process=True)
    assert who(peer=inside) == ADMIN
    assert who(authorization="Bearer janes", peer=inside) == JANE


def test_a_certificate_names_its_user_and_groups_and_counts_before_a_token() -> None:
    peer = Peer("10.0.0.1:5", "joe", ("ops", "dev"), "ab12")
    for authorization in (None, "Bearer janes", "Bearer wrong"):
        user = who(authorization=authorization, peer=peer)
        assert user is not None
        assert (user.name, user.groups) == ("joe", ("ops", "dev", "system:authenticated"))
        assert user.extra == {"authentication.kubernetes.io/credential-id": ("X509SHA256=ab12",)}


@pytest.mark.parametrize(
    ("path", "method", "anonymous", "authenticated"),
    [
        ("/version", "GET", True, True),
        ("/healthz", "GET", True, True),
        ("/livez/ping", "HEAD", True, True),
        ("/readyz", "GET", True, True),
        ("/readyz", "POST", False, False),
        ("/api", "GET", False, True),
        ("/apis/apps/v1", "GET", False, True),
        ("/openapi/v3", "GET", False, True),
        ("/metrics", "GET", False, False),
        ("/versions", "GET", False, False),
        ("/api/v1/pods", "GET", False, False),
        ("/api/v1/version", "GET", False, False),
    ],
)
def test_without_rules_nobody_but_an_administrator_sees_more_than_the_public_paths(
    path: str, method: str, anonymous: bool, authenticated: bool
) -> None:
    def allowed(user: User) -> bool:
        return Masters().decide(user, request_info(method, path)).allowed

    assert allowed(ANONYMOUS) is anonymous
    assert allowed(JANE) is authenticated
    assert allowed(ADMIN) is True
