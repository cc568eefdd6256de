"""Detects an IDE by the environment variables that the IDE sets for the control plane."""

from collections.abc import Mapping

PORT, TOKEN, CERTIFICATE = "DEBUG_SESSION_PORT", "DEBUG_SESSION_TOKEN", "DEBUG_SESSION_SERVER_CERTIFICATE"


def is_offered(environ: Mapping[str, str]) -> bool:
    """Returns True if an IDE has set its variables."""
    return bool(environ.get(PORT, "").strip() and environ.get(TOKEN, "").strip())
