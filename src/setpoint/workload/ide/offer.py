"""How an IDE says that it can be reached: by environment variables of the control plane that it starts."""

from collections.abc import Mapping

PORT, TOKEN, CERTIFICATE = "DEBUG_SESSION_PORT", "DEBUG_SESSION_TOKEN", "DEBUG_SESSION_SERVER_CERTIFICATE"


def is_offered(environ: Mapping[str, str]) -> bool:
    """Whether an IDE has said so."""
    return bool(environ.get(PORT, "").strip() and environ.get(TOKEN, "").strip())
