"""Addresses and ranges that older readers take, and how they should be written."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.server.kinds import judged

from setpoint.server.registry.kinds.validation.address_warnings import cidr_warnings, ip_warnings


@given(st.ip_addresses())
def test_an_address_in_its_canonical_form_is_not_talked_about(address: ipaddress.IPv4Address) -> None:
    mapped = getattr(address, "ipv4_mapped", None)
    assert (ip_warnings(str(address), "p") == []) is (mapped is None)
    whole = f"{address}/{address.max_prefixlen}"
    assert (cidr_warnings(whole, "p") == []) is (mapped is None)


@given(st.text(max_size=30))
def test_what_is_no_address_is_left_to_others(text: str) -> None:
    assert isinstance(ip_warnings(text, "p"), list)
    assert isinstance(cidr_warnings(text, "p"), list)


@pytest.mark.parametrize(
    ("value", "warning"),
    [
        ("010.0.0.01", 'p: non-standard IP address "010.0.0.01" is invalid: use "10.0.0.1"'),
        ("::ffff:1.2.3.4", 'p: non-standard IP address "::ffff:1.2.3.4" is invalid: use "1.2.3.4"'),
        ("2001:DB8::1", 'p: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")'),
    ],
)
def test_an_odd_address_is_told_as_it_should_be(value: str, warning: str) -> None:
    assert ip_warnings(value, "p") == [warning]


@pytest.mark.parametrize(
    ("value", "warning"),
    [
        (
            "10.1.2.3/8",
            'p: CIDR value "10.1.2.3/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.1.2.3/32"?)',
        ),
        ("010.0.0.0/8", 'p: non-standard CIDR value "010.0.0.0/8" is invalid: use "10.0.0.0/8"'),
        (
            "2001:DB8::/64",
            'p: IPv6 CIDR value "2001:DB8::/64" should be in RFC 5952 canonical format ("2001:db8::/64")',
        ),
    ],
)
def test_an_odd_range_is_told_as_it_should_be(value: str, warning: str) -> None:
    assert cidr_warnings(value, "p") == [warning]


def test_warnings_name_the_place_of_the_address() -> None:
    body = judged.TABLES["networking"].objects["NetworkPolicy"]
    odd = {"spec.egress.0.to.0.ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.1/16"]}}
    tree = judged.created(judged.changed(body, odd, []))
    (warning,) = judged.strategy_of(tree).warnings(tree, None)
    assert warning.startswith("spec.egress[0].to[0].ipBlock.except[0]: ")
    slices = judged.TABLES["networking"].objects["EndpointSlice"]
    tree = judged.created(judged.changed(slices, {"endpoints.0.addresses": ["010.1.2.3"]}, []))
    (warning,) = judged.strategy_of(tree).warnings(tree, None)
    assert warning.startswith("endpoints[0].addresses[0]: ")
    tree["metadata"]["labels"] = {"endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"}
    assert judged.strategy_of(tree).warnings(tree, None) == []
