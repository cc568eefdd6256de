"""The auditor that settings ask for."""

from pathlib import Path

from setpoint.objects.clock import Clock
from setpoint.server.access.audit.auditor import Auditor
from setpoint.server.access.audit.logfile import open_log
from setpoint.server.access.audit.policy import Policy, everything, load_policy
from setpoint.server.access.audit.settings import Audit


class AuditError(Exception):
    """The log cannot be kept as it was asked for; says why."""


def open_auditor(settings: Audit, clock: Clock) -> Auditor:
    """Raises AuditError."""
    policy = read_policy(settings)
    try:
        log = open_log(settings, clock)
    except OSError as error:
        raise AuditError(f"the audit log cannot be written: {settings.log_path}: {error.strerror}") from error
    return Auditor(policy, log, strict=settings.log_mode == "blocking-strict")


def read_policy(settings: Audit) -> Policy:
    """The policy in the file that settings name; without one, every request is recorded with its metadata. Raises
    AuditError."""
    file = settings.policy_file
    if not file:
        return everything("Metadata")
    try:
        return load_policy(Path(file).read_text(), file)
    except OSError as error:
        raise AuditError(f"the audit policy cannot be read: {file}: {error.strerror}") from error
    except ValueError as error:  # its mistakes, or bytes that are no text
        raise AuditError(f"the audit policy is wrong:\n{error}") from error
