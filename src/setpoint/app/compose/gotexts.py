"""Texts of values, as Go prints them."""

from typing import Any

from setpoint.app.compose.scalars import Timestamp
from setpoint.objects.gotext import general_float


def go_text(value: Any) -> str:
    """Formats a value as Go's `%v` does."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "<nil>"
    if isinstance(value, float):
        return general_float(value) if value - value == 0 else "NaN" if value != value else f"{value:+}".title()
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{go_text(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(go_text, value))}]"
    return str(value)


def plain_tree(value: Any) -> Any:
    """Returns a tree of plain JSON values."""
    if isinstance(value, dict):
        return {key: plain_tree(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [plain_tree(inner) for inner in value]
    return value.rfc3339 if isinstance(value, Timestamp) else value
