"""Credentials where they do not belong: nobody is let in by them, and nobody is let in without them."""

import base64

import pytest
from tests.server.authentication.asking import ADMINS, CONFIG_MAPS, JANES, Asking

BASIC = base64.b64encode(f"admin:{ADMINS}".encode()).decode()


@pytest.mark.parametrize(
    ("headers", "query"),
    [
        ({}, f"access_token={ADMINS}"),
        ({}, f"token={ADMINS}&authorization=Bearer%20{ADMINS}"),
        ({"cookie": f"token={ADMINS}; Authorization=Bearer {ADMINS}"}, ""),
        ({"authorization": f"Basic {BASIC}"}, ""),
        ({"authorization": f"Token {ADMINS}"}, ""),
        ({"authorization": ADMINS}, ""),
        ({"proxy-authorization": f"Bearer {ADMINS}"}, ""),
        ({"x-authorization": f"Bearer {ADMINS}"}, ""),
        ({"x-forwarded-user": "admin", "x-forwarded-groups": "system:masters"}, ""),
        ({"x-remote-user": "admin", "x-remote-group": "system:masters"}, ""),
        ({"x-forwarded-authorization": f"Bearer {ADMINS}"}, ""),
        ({"sec-websocket-protocol": f"base64url.bearer.authorization.k8s.io.{BASIC}"}, ""),
        ({"impersonate-user": "admin", "impersonate-group": "system:masters"}, ""),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, dict) else value[:6],
)
async def test_a_token_counts_only_as_a_bearer_token(ask: Asking, headers: dict[str, str], query: str) -> None:
    answer = await ask("GET", CONFIG_MAPS, token=None, headers=headers, query=query)
    assert answer.status == 403
    assert 'User "system:anonymous" cannot' in answer.message


@pytest.mark.parametrize(
    "header",
    [
        f"Bearer {ADMINS}x",
        f"Bearer {ADMINS[:-1]}",
        f"Bearer {ADMINS.upper()}",
        f"Bearer {JANES}, Bearer {ADMINS}",
        f"Bearer {JANES},{ADMINS}",
        f"Bearer x {ADMINS}",
        f"Bearer \u200b{ADMINS}",
        "Bearer null",
        "Bearer undefined",
        "Bearer *",
        "Bearer ' OR '1'='1",
        "Bearer system:admin",
    ],
)
async def test_a_token_that_is_almost_one_is_refused_and_does_not_count_as_none(ask: Asking, header: str) -> None:
    for path in (CONFIG_MAPS, "/version", "/healthz"):
        answer = await ask("GET", path, token=None, headers={"authorization": header})
        assert (answer.status, answer.message) == (401, "Unauthorized")
