"""Creates the auditor from the settings."""

from pathlib import Path

from setpoint.objects.clock import Clock
from setpoint.server.access.audit.audit_settings import Audit
from setpoint.server.access.audit.auditor import Auditor
from setpoint.server.access.audit.logfile import open_log
from setpoint.server.access.audit.policy import AuditPolicy, everything, load_policy


class AuditError(Exception):
    """The audit log cannot be opened or its policy is invalid. The message says why."""


def open_auditor(settings: Audit, clock: Clock) -> Auditor:
    """Returns the auditor for the settings. Raises AuditError."""
    policy = read_policy(settings)
    try:
        log = open_log(settings, clock)
    except OSError as error:
        raise AuditError(f"cannot write the audit log {settings.log_path}: {error.strerror}") from error
    return Auditor(policy, log, strict=settings.log_mode == "blocking-strict")


def read_policy(settings: Audit) -> AuditPolicy:
    """Returns the policy from the configured file, or a policy that records the metadata of every request if there is
    no file. Raises AuditError."""
    file = settings.policy_file
    if not file:
        return everything("Metadata")
    try:
        return load_policy(Path(file).read_text(), file)
    except OSError as error:
        raise AuditError(f"cannot read the audit policy {file}: {error.strerror}") from error
    except ValueError as error:  # mistakes in the policy, or bytes that are not UTF-8
        raise AuditError(f"the audit policy is invalid:\n{error}") from error
