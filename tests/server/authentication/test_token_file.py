"""The file of static tokens."""

from pathlib import Path

import pytest

from setpoint.server.access.authentication.token_file import read_token_file
from setpoint.server.ports import User


def test_users_have_names_uids_and_groups(tmp_path: Path) -> None:
    path = tmp_path / "tokens.csv"
    path.write_text('t1,jane,u1,"dev,ops"\nt2,joe,,\n\nt3, mary ,u3\nt4,ann,u4,"system:authenticated,x"\n')
    assert read_token_file(path) == {
        "t1": User("jane", ("dev", "ops", "system:authenticated"), "u1"),
        "t2": User("joe", ("system:authenticated",), ""),
        "t3": User("mary ", ("system:authenticated",), "u3"),
        "t4": User("ann", ("system:authenticated", "x"), "u4"),
    }


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("t1,jane,u1\nt2,joe\n", r"line 2: expected token,user,uid"),
        (",jane,u1\n", r"line 1: a token must be printable ASCII"),
        ("t1,,u1\n", r"line 1: .* have a user name"),
        ("a b,jane,u1\n", r"line 1: a token must be printable ASCII without spaces"),
        ("t1,jane,u1\nt1,joe,u2\n", r"line 2: duplicate token, already assigned to jane"),
        ('t1,"jane,u1\n', r"line 1: unexpected end"),
        ("t1,\udcff,u1\n", r"line 0: .*codec can't decode"),
    ],
)
def test_a_line_that_cannot_be_used_is_named(text: str, fault: str, tmp_path: Path) -> None:
    path = tmp_path / "tokens.csv"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ValueError, match=rf"tokens\.csv, {fault}"):
        read_token_file(path)
