"""Substitutes the variables in the tree of a file, and converts the texts of numbers and booleans."""

import re
from collections.abc import Callable
from typing import Any

from setpoint.app.compose.documents import Path
from setpoint.app.compose.patterns import Pattern, spread, table
from setpoint.app.compose.project import Problem
from setpoint.app.compose.scalars import Reference, Timestamp
from setpoint.app.compose.template import Lookup, TemplateError, substitute
from setpoint.app.compose.tree import NOWHERE, Place, path_text, place_of

_INTEGER = re.compile(r"[+-]?[0-9]+")
_UMASKS = ((re.compile(r"0[oO]?([0-7]+)"), 8), (re.compile(r"0[xX]([0-9a-fA-F]+)"), 16), (re.compile(r"(\d+)"), 10))
_YES, _NO = ("y", "yes", "on"), ("n", "no", "off")


def to_integer(text: str) -> int:
    """Converts the decimal text of an integer. Raises ValueError."""
    if not _INTEGER.fullmatch(text):
        raise ValueError(f"{text!r} is not a whole number; write digits")
    return int(text)


def to_float(text: str) -> float:
    """Converts the text of a number. Raises ValueError."""
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a number; write digits") from None


def to_boolean(text: str) -> bool:
    """Converts the text of a boolean, including the words of YAML 1.1. Raises ValueError."""
    word = text.lower()
    if word == "true" or word in _YES:
        return True
    if word == "false" or word in _NO:
        return False
    raise ValueError(f"{text!r} is not a boolean; write true or false")


def _to_umask(text: str) -> int:
    for pattern, base in _UMASKS:
        if found := pattern.fullmatch(text):
            return int(found.group(1), base)
    raise ValueError(f"{text!r} is not a file mode; write an octal number such as 022")


Cast = Callable[[str], Any]

_CONTAINER: dict[str, Cast] = {
    **dict.fromkeys(
        ["cpu_count", "cpu_period", "cpu_quota", "cpu_rt_period", "cpu_rt_runtime", "cpu_shares", "oom_score_adj"],
        to_integer,
    ),
    **dict.fromkeys(["pids_limit", "ulimits.*", "ulimits.*.hard", "ulimits.*.soft"], to_integer),
    **dict.fromkeys(["cpu_percent", "cpus"], to_float),
    **dict.fromkeys(["init", "oom_kill_disable", "privileged", "read_only"], to_boolean),
    **dict.fromkeys(["networks.*.use_service_name_alias", "volumes.[].read_only"], to_boolean),
    "volumes.[].volume.nocopy": to_boolean,
    "umask": _to_umask,
}
_WORKLOAD: dict[str, Cast] = {
    **dict.fromkeys(["depends_on.*.required", "depends_on.*.restart", "healthcheck.disable", "stdin_open"], to_boolean),
    "tty": to_boolean,
    **dict.fromkeys(["healthcheck.retries", "ports.[].target"], to_integer),
}
_SERVICE: dict[str, Cast] = {
    **dict.fromkeys(["replicas", "update_config.parallelism", "rollback_config.parallelism"], to_integer),
    **dict.fromkeys(["restart_policy.max_attempts", "placement.max_replicas_per_node"], to_integer),
    **dict.fromkeys(["update_config.max_failure_ratio", "rollback_config.max_failure_ratio"], to_float),
}
_CASTS: Pattern[Cast] = table(
    {
        **spread(("services.*", "jobs.*", "services.*.pre_start.*"), _CONTAINER),
        **spread(("services.*", "jobs.*"), _WORKLOAD),
        **spread(("services.*.deploy",), _SERVICE),
        "services.*.scale": to_integer,
        **dict.fromkeys([f"{kind}.*.external" for kind in ("networks", "volumes", "secrets", "configs")], to_boolean),
        **spread(("networks.*",), dict.fromkeys(["internal", "attachable", "enable_ipv4", "enable_ipv6"], to_boolean)),
    }
)


class Interpolation:
    """The variables of a file, with the problems and warnings of their use."""

    def __init__(self, lookup: Lookup, problems: list[Problem], warnings: list[Problem]) -> None:
        self._lookup = lookup
        self._problems = problems
        self._warnings = warnings
        self._path: Path = ()
        self._place: Place = NOWHERE

    def tree(self, value: Any) -> None:
        """Replaces the texts of a tree in place."""
        self._children(value, _CASTS, ())

    def text(self, text: str, path: Path, place: Place) -> str:
        """Substitutes the variables of one text. A text with a problem stays unchanged."""
        self._path, self._place = path, place
        try:
            return substitute(text, self._lookup, self._unset)
        except TemplateError as error:
            self._problems.append(Problem(*place, path_text(path), str(error)))
            return text

    def _children(self, value: Any, casts: Pattern[Cast] | None, path: Path) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                below = casts.key(key) if casts is not None else None
                if isinstance(inner, dict | list):
                    self._children(inner, below, (*path, key))
                elif isinstance(inner, str) and (below is not None or "$" in inner):
                    value[key] = self._scalar(inner, below, (*path, key), value, key)
            return
        below = casts.index() if casts is not None else None
        for index, inner in enumerate(value):
            if isinstance(inner, dict | list):
                self._children(inner, below, (*path, index))
            elif isinstance(inner, str) and (below is not None or "$" in inner):
                value[index] = self._scalar(inner, below, (*path, index), value, index)

    def _scalar(self, text: str, casts: Pattern[Cast] | None, path: Path, container: Any, key: str | int) -> Any:
        if isinstance(text, Timestamp):
            return text
        place = place_of(container, key)
        made = self.text(text, path, place)
        if casts is None or casts.value is None:
            return made
        try:
            return casts.value(made)
        except ValueError as error:
            self._problems.append(Problem(*place, path_text(path), str(error)))
            return made

    def _unset(self, name: str) -> None:
        text = f"the variable {name} is not set and is replaced by an empty text; set {name}, or write ${{{name}:-}}"
        self._warnings.append(Problem(*self._place, path_text(self._path), text))


def mark_references(value: Any) -> Any:
    """Marks the texts with references to variables, for trees in which they are not replaced."""
    if isinstance(value, dict):
        for key, inner in value.items():
            value[key] = mark_references(inner)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            value[index] = mark_references(inner)
    return Reference(value) if isinstance(value, str) and "$" in value else value
