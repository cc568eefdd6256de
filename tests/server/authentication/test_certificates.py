"""The authority and what it issues, judged by OpenSSL as Python's ssl module sees it."""

import os
import ssl
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from setpoint.objects.clock import ManualClock, SystemClock
from setpoint.server import secret_files
from setpoint.server.edge.certificates import LIFETIME, RENEWAL, Authority, CertificateError, Pair
from setpoint.server.edge.identity import Identity, token
from setpoint.server.edge.kubeconfig import is_ours, kubeconfig
from setpoint.server.server_keys import ServerKeys

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


def names_of(pair: Pair) -> set[str]:
    found = x509.load_pem_x509_certificate(pair.certificate).extensions.get_extension_for_class(
        x509.SubjectAlternativeName
    )
    return {str(name.value) for name in found.value}


def test_a_serving_certificate_bears_names_and_addresses() -> None:
    pair = Authority.create(NOW).issue_server(["api.example.com", "10.1.2.3", "fd00::1", "api.example.com"], NOW)
    assert names_of(pair) == {"api.example.com", "10.1.2.3", "fd00::1"}


@pytest.mark.parametrize("name", ["", "x" * 65])
def test_a_name_that_a_certificate_cannot_hold_is_refused(name: str) -> None:
    with pytest.raises(CertificateError, match="1 to 64 characters"):
        Authority.create(NOW).issue_client(name, [], NOW)


def test_the_key_of_a_client_names_its_algorithm() -> None:
    """fabric8's client reads a key without the name as RSA."""
    key = Authority.create(NOW).issue_client("jane", [], NOW).key
    assert key.startswith(b"-----BEGIN EC PRIVATE KEY-----\n")
    assert isinstance(load_pem_private_key(key, None), EllipticCurvePrivateKey)


def test_an_authority_is_the_same_after_being_written_down() -> None:
    authority = Authority.create(NOW)
    again = Authority(authority.pair)
    pair = again.issue_server(["localhost"], NOW)
    assert authority.still_serves(pair, ["localhost"], NOW)


def test_what_is_no_authority_is_refused() -> None:
    one, other = Authority.create(NOW).pair, Authority.create(NOW).pair
    for pair in (Pair(b"", b""), Pair(b"nonsense", one.key), Pair(one.certificate, b"nonsense")):
        with pytest.raises(CertificateError, match="PEM"):
            Authority(pair)
    with pytest.raises(CertificateError, match="does not match its certificate"):
        Authority(Pair(one.certificate, other.key))


def test_a_certificate_serves_until_its_time_is_near_its_names_change_or_its_authority_does() -> None:
    authority = Authority.create(NOW)
    pair = authority.issue_server(["a", "10.0.0.1"], NOW)
    assert authority.still_serves(pair, ["10.0.0.1"], NOW)
    assert authority.still_serves(pair, ["a"], NOW + LIFETIME - RENEWAL - timedelta(hours=1))
    assert not authority.still_serves(pair, ["a"], NOW + LIFETIME - RENEWAL)
    assert not authority.still_serves(pair, ["a"], NOW - timedelta(days=1))
    assert not authority.still_serves(pair, ["a", "b"], NOW)
    assert not Authority.create(NOW).still_serves(pair, ["a"], NOW)
    assert not authority.still_serves(Pair(pair.certificate, authority.pair.key), ["a"], NOW)
    assert not authority.still_serves(Pair(b"", b""), ["a"], NOW)


def test_nothing_issued_outlives_its_authority() -> None:
    authority = Authority.create(NOW)
    late = authority.expires - timedelta(days=10)
    pair = authority.issue_client("jane", ["dev"], late)
    assert x509.load_pem_x509_certificate(pair.certificate).not_valid_after_utc == authority.expires


def test_what_is_kept_is_found_again_and_is_for_our_own_user(tmp_path: Path) -> None:
    directory = tmp_path / "deep" / "keys"
    first = Identity(["10.0.0.1"], SystemClock(), ServerKeys(directory))
    second = Identity(["10.0.0.1"], SystemClock(), ServerKeys(directory))
    assert second.authority.pair == first.authority.pair
    assert not second.renew()
    assert token(ServerKeys(directory)) == token(ServerKeys(directory)) != token(ServerKeys())
    assert (directory / "ca.crt").read_bytes() == first.authority.pair.certificate
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()}
    assert modes == {"authority.pem": 0o600, "server.pem": 0o600, "admin.token": 0o600, "ca.crt": 0o644}
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_a_new_name_makes_a_new_certificate_of_the_same_authority(tmp_path: Path) -> None:
    Identity([], SystemClock(), ServerKeys(tmp_path))
    before = (tmp_path / "server.pem").read_bytes()
    again = Identity(["10.9.9.9"], SystemClock(), ServerKeys(tmp_path))
    assert (tmp_path / "server.pem").read_bytes() != before
    assert again.authority.pair.certificate == (tmp_path / "ca.crt").read_bytes()


def test_a_certificate_is_renewed_while_the_server_runs(tmp_path: Path) -> None:
    clock = ManualClock(NOW)
    identity = Identity([], clock, ServerKeys(tmp_path))
    before = (tmp_path / "server.pem").read_bytes()
    clock.advance((LIFETIME - RENEWAL).total_seconds() - 60)
    assert not identity.renew()
    clock.advance(120)
    assert identity.renew()
    assert (tmp_path / "server.pem").read_bytes() != before
    assert not identity.renew()


def test_an_authority_that_cannot_be_used_is_named_with_the_remedy(tmp_path: Path) -> None:
    clock = ManualClock(NOW)
    Identity([], clock, ServerKeys(tmp_path))
    clock.advance(4000 * 86400)
    with pytest.raises(CertificateError, match=r"authority\.pem: the authority has expired; move the file away"):
        Identity([], clock, ServerKeys(tmp_path))
    (tmp_path / "authority.pem").write_bytes(b"nonsense")
    with pytest.raises(CertificateError, match=r"authority\.pem: .*; move the file away"):
        Identity([], clock, ServerKeys(tmp_path))


def test_a_file_is_replaced_whole_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    secret_files.write(path, b"one")
    secret_files.write(path, b"two")
    assert secret_files.write_once(path, b"three") == b"two"
    assert secret_files.write_once(tmp_path / "other", b"four") == b"four"
    assert sorted(os.listdir(tmp_path)) == ["other", "secret"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_that_cannot_be_put_in_its_place_leaves_nothing_beside_it(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(IsADirectoryError):
        secret_files.write(tmp_path / "taken", b"x")
    assert os.listdir(tmp_path) == ["taken"]


def test_a_kubeconfig_names_one_server_and_one_user() -> None:
    text = kubeconfig("https://127.0.0.1:6443", authority=b"PEM", token="t0ken")
    config = yaml.safe_load(text)
    assert config["clusters"] == [
        {"name": "setpoint", "cluster": {"server": "https://127.0.0.1:6443", "certificate-authority-data": "UEVN"}}
    ]
    assert config["users"] == [{"name": "admin", "user": {"token": "t0ken"}}]
    assert config["current-context"] == config["contexts"][0]["name"] == "setpoint"
    by_certificate = yaml.safe_load(kubeconfig("https://x", certificate=b"C", key=b"K", user="jane"))
    assert by_certificate["users"][0]["user"] == {"client-certificate-data": "Qw==", "client-key-data": "Sw=="}


def test_only_what_we_wrote_counts_as_ours() -> None:
    assert is_ours(kubeconfig("https://x"))
    assert is_ours(" \n")
    assert not is_ours("apiVersion: v1\nkind: Config\n")


def test_the_context_speaks_modern_tls_only() -> None:
    context = Identity([], SystemClock(), ServerKeys()).context
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2
    assert context.verify_mode is ssl.CERT_OPTIONAL
