"""How the URL of an etcd cluster is read, and how its values are kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.objects.provenance import Actor, Cause
from setpoint.store.contract import StoreError
from setpoint.store.etcd import EtcdConfig, Tls, envelope
from setpoint.store.etcd.keys import prefix_end

FILES = {"/etc/ca": b"authority", "/etc/cert": b"certificate", "/etc/key": b"key"}


def read(path: str) -> bytes:
    try:
        return FILES[path]
    except KeyError:
        raise FileNotFoundError(2, "No such file or directory") from None


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        ("http://localhost", EtcdConfig(("localhost:2379",), "/setpoint")),
        ("http://a:1,b,[::1]:3,[::2]/", EtcdConfig(("a:1", "b:2379", "[::1]:3", "[::2]:2379"), "/setpoint")),
        ("http://a:1/some/root/", EtcdConfig(("a:1",), "/some/root")),
        ("http://me:s%40cret%2F@a:1", EtcdConfig(("a:1",), user="me", password="s@cret/")),
        ("https://a:1", EtcdConfig(("a:1",), tls=Tls())),
        (
            "https://a:1,b:2/r?ca=/etc/ca&cert=/etc/cert&key=/etc/key&server-name=etcd.internal",
            EtcdConfig(("a:1", "b:2"), "/r", Tls(b"authority", b"certificate", b"key", "etcd.internal")),
        ),
    ],
)
def test_a_url_says_where_etcd_is(url: str, wanted: EtcdConfig) -> None:
    assert EtcdConfig.from_url(url, read) == wanted


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("localhost:2379", "must begin with http:// or https://"),
        ("http://", "'' is not HOST or HOST:PORT"),
        ("http://a:1,,b:2", "'' is not HOST or HOST:PORT"),
        ("http://a:port", "'a:port' is not HOST or HOST:PORT"),
        ("https://a?ca=/nowhere", "cannot read ca /nowhere: No such file or directory"),
        ("https://a?cert=/etc/cert", "needs both cert and key"),
        ("https://a?wrong=1", "unknown option 'wrong'; there are ca, cert, key, server-name"),
        ("http://a?ca=/etc/ca", "need https://"),
    ],
)
def test_a_bad_url_is_refused_with_the_reason(url: str, complaint: str) -> None:
    with pytest.raises(StoreError) as refused:
        EtcdConfig.from_url(url, read)
    assert complaint in str(refused.value)


def test_the_password_is_shown_nowhere() -> None:
    assert "secret" not in repr(EtcdConfig.from_url("http://me:secret@a:1"))
    with pytest.raises(StoreError) as refused:
        EtcdConfig.from_url("http://me:secret@a:1?ca=/etc/ca", read)
    assert "secret" not in str(refused.value)


actors = st.builds(Actor, st.text(), st.lists(st.text(), max_size=3).map(tuple), st.text(), st.text())
metas = st.builds(
    envelope.Meta,
    st.floats(0, 1e12),
    actors,
    st.none() | st.builds(Cause, st.text(), st.text(), st.text()),
    st.none() | st.floats(0, 1e12),
    st.integers(0, 2**62),
)


@given(st.binary(max_size=200), metas)
def test_an_envelope_gives_back_what_was_sealed(value: bytes, meta: envelope.Meta) -> None:
    sealed = envelope.seal(value, meta)
    assert envelope.open_(sealed, b"k") == (value, meta)
    assert envelope.value_of(sealed, b"k") == value


@given(st.binary(max_size=20), st.binary(max_size=20), metas)
def test_etcd_can_tell_by_the_order_of_bytes_whether_a_value_changes(
    value: bytes, other: bytes, meta: envelope.Meta
) -> None:
    low = envelope.unchanged_from(value)
    high = envelope.unchanged_to(low)
    assert low < envelope.seal(value, meta) < high
    assert (low < envelope.seal(other, meta) < high) == (value == other)


def test_an_actor_that_is_too_long_to_keep_is_refused() -> None:
    with pytest.raises(StoreError, match="at most 65535"):
        envelope.seal(b"", envelope.Meta(0.0, Actor("x" * 70_000)))


@given(st.binary(min_size=1, max_size=6), st.binary(max_size=6))
def test_a_prefix_ends_after_everything_that_begins_with_it(prefix: bytes, rest: bytes) -> None:
    end = prefix_end(prefix)
    assert end == b"\0" or prefix + rest < end
    assert end == b"\0" or not end.startswith(prefix)
