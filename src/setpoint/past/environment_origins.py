"""The environment variables of a workload, with the origin of each."""

from collections.abc import Iterable
from pathlib import Path

from setpoint.objects.tree import Object
from setpoint.past.secret_mask import masked
from setpoint.workload.dotenv import DotenvError, parse

# Larger files are no environment files.
_MOST_BYTES = 1 << 20


def variables_of(tree: Object, *, show_secrets: bool = False) -> list[Object]:
    """Returns the variables of a workload with value, source (`spec`, `file` or `inherited`) and a description of the
    origin.
    """
    spec, status = tree.get("spec") or {}, tree.get("status") or {}
    declared = {each["name"]: each.get("value", "") for each in spec.get("env") or ()}
    files = _names_in(spec.get("envFiles") or ())
    effective = {each["name"]: each.get("value", "") for each in status.get("effectiveEnv") or ()} or declared
    variables = [{"name": name, "value": value} for name, value in sorted(effective.items())]
    shown = variables if show_secrets else masked({"env": variables})["env"]
    found = []
    for name, value, text in ((each["name"], effective[each["name"]], each["value"]) for each in shown):
        source, words = "inherited", "inherited"
        if name in declared:
            source = "spec"
            words = (
                "spec.env" if declared[name] == value or "{{" not in declared[name] else f"spec.env: {declared[name]}"
            )
        elif name in files:
            source, words = "file", files[name]
        found.append({"name": name, "value": text, "source": source, "from": words})
    return found


def _names_in(files: Iterable[str]) -> dict[str, str]:
    """Returns the last file that defines each variable. Files that cannot be read are skipped."""
    found: dict[str, str] = {}
    for file in files:
        try:
            if not Path(file).is_file() or Path(file).stat().st_size > _MOST_BYTES:
                continue
            found |= dict.fromkeys(parse(Path(file).read_text("utf-8"), {}), file)
        except (OSError, UnicodeDecodeError, DotenvError):
            continue
    return found
