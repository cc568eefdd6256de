"""The flags of kube-apiserver, as its users write them."""

import pytest

from setpoint.envtest.flags import FlagError, Flags, help_text


def test_flags_are_written_with_an_equals_sign_or_without() -> None:
    flags = Flags.parse(["--secure-port=1234", "--bind-address", "::1", "--cert-dir=/c=d", "--audit_log_path", "-"])
    assert flags.text("audit-log-path") == "-"
    assert flags.port("secure-port", 6443) == 1234
    assert flags.text("bind-address") == "::1"
    assert flags.text("cert-dir") == "/c=d"


def test_a_switch_takes_no_value_but_with_an_equals_sign() -> None:
    flags = Flags.parse(["--allow-privileged", "--anonymous-auth=false", "--secure-port", "1"])
    assert flags.switch("allow-privileged", False)
    assert not flags.switch("anonymous-auth", True)


def test_of_several_values_the_last_counts_and_lists_are_joined() -> None:
    flags = Flags.parse(["--secure-port=1", "--etcd-servers=a,b", "--secure-port=2", "--etcd-servers= c"])
    assert flags.port("secure-port", 3) == 2
    assert flags.many("etcd-servers") == ["a", "b", "c"]
    assert flags.many("api-audiences", ["x"]) == ["x"]


def test_a_feature_is_on_unless_the_last_word_says_otherwise() -> None:
    flags = Flags.parse(["--feature-gates=A=false,B=true", "--feature-gates=B=false", "--feature-gates=A=true"])
    assert [flags.gate(name) for name in "ABC"] == [True, False, True]


def test_flags_that_change_nothing_are_named_unless_a_test_server_has_no_use_for_them() -> None:
    flags = Flags.parse(["--tracing-config-file=x", "--nobody-knows-this", "value", "--v=4", "--profiling=false"])
    assert flags.ignored() == ["nobody-knows-this", "tracing-config-file"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["serve"], "unexpected argument 'serve': kube-apiserver takes flags only"),
        (["--"], "unexpected argument '--': kube-apiserver takes flags only"),
        (["--secure-port=http"], "--secure-port=http: expected a number"),
        (["--secure-port=65536"], "--secure-port=65536: expected a port from 1 to 65535"),
        (["--anonymous-auth=perhaps"], "--anonymous-auth=perhaps: expected true or false"),
    ],
)
def test_a_wrong_flag_is_named(arguments: list[str], message: str) -> None:
    with pytest.raises(FlagError) as raised:
        _read(arguments)
    assert str(raised.value) == message


def _read(arguments: list[str]) -> None:
    flags = Flags.parse(arguments)
    flags.port("secure-port", 6443)
    flags.switch("anonymous-auth", True)


def test_the_help_names_each_flag_at_the_beginning_of_a_line_and_none_that_is_gone() -> None:
    names = [line.split()[0] for line in help_text().splitlines() if line.strip().startswith("--")]
    assert "--secure-port" in names
    assert names == sorted(set(names))
    assert "insecure-port" not in help_text()
