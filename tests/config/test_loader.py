"""Files and flags become one configuration, and every mistake in them is named."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from setpoint.config.fields import ConfigField, all_fields
from setpoint.config.loader import MASK, read_config, shown
from setpoint.config.settings import Config
from setpoint.objects.typedyaml import Mistake, Mistakes

CASES = yaml.safe_load((Path(__file__).parent / "cases" / "mistakes.yaml").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_a_mistake_is_named_with_its_line_or_flag(tmp_path: Path, case: dict[str, Any]) -> None:
    file = tmp_path / "setpoint.yaml"
    file.write_text(case.get("text", ""))
    with pytest.raises(Mistakes) as refusal:
        read_config(file, case.get("flags"))
    found = [str(each).replace(str(file), "FILE") for each in refusal.value.found]
    assert found == case["found"]


def test_what_neither_file_nor_flag_says_has_its_default(tmp_path: Path) -> None:
    assert read_config() == Config()
    (tmp_path / "empty").write_text("# nothing\n")
    assert read_config(tmp_path / "empty") == Config()


def test_flags_win_over_the_file_field_by_field(tmp_path: Path) -> None:
    file = tmp_path / "setpoint.yaml"
    file.write_text("listen: 127.0.0.1:1\naudit: {logPath: a.log, logMaxSize: 5}\nwebhooks: {services: {a/b: 'c:1'}}\n")
    config = read_config(
        file,
        {"--audit-log-maxsize": "7", "--webhook-service": ["x/y=z:2"], "--tls-san": ["a,b", "c"], "--plain-http": True},
    )
    assert (config.listen, config.audit.log_path, config.audit.log_max_size) == ("127.0.0.1:1", "a.log", 7)
    assert config.webhooks.services == {"x/y": "z:2"}
    assert config.tls.names == ("a", "b", "c")
    assert config.plain_http


def test_a_struct_in_a_list_is_given_as_yaml() -> None:
    config = read_config(
        None, {"--oidc": ["{issuer: https://a, audiences: [me]}", "{issuer: https://b, audiences: [x]}"]}
    )
    assert [each.issuer for each in config.authentication.oidc] == ["https://a", "https://b"]


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(Mistakes, match=r"none\.yaml: cannot read the file: No such file"):
        read_config(tmp_path / "none.yaml")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(Mistakes, match="not valid UTF-8"):
        read_config(tmp_path / "bytes")


def test_what_is_shown_hides_secrets_and_can_be_read_again(tmp_path: Path) -> None:
    config = read_config(
        None, {"--token": "s3cret", "--store": "etcd:https://me:pa55@host:2379", "--listen": "127.0.0.1:1"}
    )
    tree = shown(config)
    assert "s3cret" not in str(tree)
    assert "pa55" not in str(tree)
    assert tree["token"] == MASK
    assert tree["store"] == f"etcd:https://{MASK}@host:2379"
    (tmp_path / "again").write_text(yaml.safe_dump(tree))
    again = read_config(tmp_path / "again")
    assert again.listen == config.listen
    assert again.audit == config.audit


def test_every_field_has_a_flag_of_its_own_and_a_description() -> None:
    fields = list(all_fields())
    assert len({field.flag for field in fields}) == len(fields) > 40
    assert all(field.description for field in fields)


def flagged(field: ConfigField) -> st.SearchStrategy[Any]:
    """Texts for a flag, most of which mean something."""
    texts = st.sampled_from(
        ["", "1", "0", "-3", "2.5", "true", "a", "a/b=c:1", "127.0.0.1:0", "{issuer: x}", "[", "\x00"]
    )
    if field.is_bool:
        return st.booleans()
    return st.lists(texts, min_size=1, max_size=2) if field.is_list or field.is_dict else texts


FLAGS = st.fixed_dictionaries({}, optional={field.flag: flagged(field) for field in all_fields()})


@given(FLAGS)
def test_whatever_the_flags_say_the_answer_is_a_configuration_or_its_mistakes(flags: dict[str, Any]) -> None:
    found: tuple[Mistake, ...] = ()
    try:
        config = read_config(None, flags)
    except Mistakes as mistakes:
        found = mistakes.found
    else:
        assert msgspec.convert(msgspec.to_builtins(config), Config) == config
    assert all(str(mistake).startswith("--") for mistake in found)
