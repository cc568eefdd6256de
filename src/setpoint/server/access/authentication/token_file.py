"""Reads a file of static tokens in kube-apiserver's CSV format: lines of `token,user,uid,"group1,group2"`."""

import csv
from collections.abc import Mapping
from pathlib import Path

from setpoint.server.access.authentication.users import AUTHENTICATED, with_group
from setpoint.server.ports import User


def read_token_file(path: Path) -> Mapping[str, User]:
    """Returns the users of a file by token. Raises OSError, or ValueError with the number of the invalid line."""
    found: dict[str, User] = {}
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.reader(file, skipinitialspace=True, strict=True)
        try:
            for record in reader:
                if not record:
                    continue
                where = f"{path}, line {reader.line_num}"
                if len(record) < 3:
                    raise ValueError(f"{where}: expected token,user,uid and optionally the groups")
                token, name, uid = record[:3]
                if not (token and name) or not (token.isascii() and token.isprintable() and " " not in token):
                    raise ValueError(f"{where}: a token must be printable ASCII without spaces, and have a user name")
                if token in found:
                    raise ValueError(f"{where}: duplicate token, already assigned to {found[token].name}")
                groups = [group for group in record[3].split(",") if group] if len(record) > 3 else []
                found[token] = User(name, with_group(tuple(groups), AUTHENTICATED), uid)
        except (csv.Error, UnicodeDecodeError) as error:
            raise ValueError(f"{path}, line {reader.line_num}: {error}") from None
    return found
