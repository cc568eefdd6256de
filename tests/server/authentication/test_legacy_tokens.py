"""Tokens that kube-controller-manager writes into Secrets: valid as long as the Secret contains them."""

from base64 import b64encode
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.server.authentication.asking import ACCOUNTS, Asking, new_asking

from setpoint.server.access.authentication.jwt import Signer

SECRETS = "/api/v1/namespaces/default/secrets"
CLAIM = "kubernetes.io/serviceaccount/"
LAST_USED, INVALID_SINCE = "kubernetes.io/legacy-token-last-used", "kubernetes.io/legacy-token-invalid-since"


class Kept:
    """A server, its signing key, and an account with a token in a Secret."""

    def __init__(self, ask: Asking, directory: Path) -> None:
        self.ask = ask
        ask.authentication.issuer.keep_key()
        self.signer = Signer((directory / "service-accounts.pem").read_bytes())
        self.account: Any = None

    def signed(self, **changes: str | None) -> str:
        claims: dict[str, str | None] = {
            "iss": "kubernetes/serviceaccount",
            "sub": "system:serviceaccount:default:bot",
            f"{CLAIM}namespace": "default",
            f"{CLAIM}secret.name": "bot",
            f"{CLAIM}service-account.name": "bot",
            f"{CLAIM}service-account.uid": self.account["metadata"]["uid"],
        }
        return self.signer.sign({name: value for name, value in (claims | changes).items() if value is not None})

    async def store(self, token: str, **labels: str) -> None:
        """Creates the Secret, as the controller manager fills it."""
        body = {
            "metadata": {
                "name": "bot",
                "annotations": {"kubernetes.io/service-account.name": "bot"},
                "labels": labels,
            },
            "type": "kubernetes.io/service-account-token",
            "data": {"token": b64encode(token.encode()).decode()},
        }
        await self.ask.made(SECRETS, body)

    async def fault(self, token: str) -> str:
        """The reason why a token is refused."""
        status = await self.ask.review(token)
        assert not status.get("authenticated")
        return str(status["error"])


@pytest.fixture
async def kept(tmp_path: Path) -> AsyncIterator[Kept]:
    async with new_asking(directory=tmp_path) as ask:
        found = Kept(ask, tmp_path)
        found.account = await ask.account()
        yield found


async def test_a_token_of_a_secret_authenticates_its_account(kept: Kept) -> None:
    token = kept.signed()
    await kept.store(token)
    assert await kept.ask.whoami(token) == {
        "username": "system:serviceaccount:default:bot",
        "uid": kept.account["metadata"]["uid"],
        "groups": ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"],
    }
    assert (await kept.ask.review(token, "elsewhere"))["error"] == (
        'token audiences ["https://kubernetes.default.svc.cluster.local"] is invalid for the target audiences '
        '["elsewhere"]'
    )


async def test_the_day_of_the_last_use_is_recorded_once_a_day(kept: Kept) -> None:
    token = kept.signed()
    await kept.store(token)
    revisions = []
    for days in (0, 0, 1):
        kept.ask.clock.advance(timedelta(days=days).total_seconds())
        assert await kept.ask.whoami(token)
        secret = (await kept.ask("GET", f"{SECRETS}/bot")).body
        revisions.append((secret["metadata"]["labels"][LAST_USED], secret["metadata"]["resourceVersion"]))
    assert [day for day, _ in revisions] == ["2026-01-02", "2026-01-02", "2026-01-03"]
    assert len(set(revisions)) == 2, "the second use of a day writes"


async def test_a_token_ends_with_its_secret(kept: Kept) -> None:
    token = kept.signed()
    assert await kept.fault(token) == "Token has been invalidated"
    await kept.store(token)
    assert await kept.ask.whoami(token)
    await kept.ask("DELETE", f"{SECRETS}/bot")
    assert await kept.fault(token) == "Token has been invalidated"
    await kept.store("another")
    assert await kept.fault(token) == "Token does not match server's copy"


async def test_a_token_ends_with_its_account(kept: Kept) -> None:
    token = kept.signed()
    await kept.store(token)
    assert await kept.ask.whoami(token)
    await kept.ask("DELETE", f"{ACCOUNTS}/bot")
    assert await kept.fault(token) == 'serviceaccounts "bot" not found'
    new = await kept.ask.account()
    old, uid = kept.account["metadata"]["uid"], new["metadata"]["uid"]
    assert await kept.fault(token) == f"ServiceAccount UID ({uid}) does not match claim ({old})"


async def test_a_token_that_is_marked_invalid_is_refused(kept: Kept) -> None:
    token = kept.signed()
    await kept.store(token, **{INVALID_SINCE: "2026-01-01"})
    assert "has been marked invalid" in await kept.fault(token)


@pytest.mark.parametrize(
    ("claim", "value", "fault"),
    [
        ("sub", None, "sub claim is missing"),
        ("sub", "system:serviceaccount:default:other", "sub claim is invalid"),
        (f"{CLAIM}namespace", None, "namespace claim is missing"),
        (f"{CLAIM}secret.name", None, "secretName claim is missing"),
        (f"{CLAIM}service-account.name", None, "serviceAccountName claim is missing"),
        (f"{CLAIM}service-account.uid", None, "serviceAccountUID claim is missing"),
    ],
)
async def test_a_token_without_its_claims_is_refused(kept: Kept, claim: str, value: str | None, fault: str) -> None:
    token = kept.signed(**{claim: value})
    await kept.store(token)
    assert await kept.fault(token) == fault


async def test_a_token_of_another_key_is_refused(kept: Kept, tmp_path: Path) -> None:
    other = tmp_path / "other"
    async with new_asking(directory=other) as ask:
        stranger = Kept(ask, other)
        stranger.account = kept.account
        token = stranger.signed()
    await kept.store(token)
    assert await kept.fault(token) == "invalid signature, no keys found"
