"""The store in etcd. Importing this package requires the extra `etcd`."""

from setpoint.store.contract import OutcomeUnknown, Unreachable
from setpoint.store.etcd.config import EtcdConfig, Tls
from setpoint.store.etcd.store import EtcdStore

__all__ = ["EtcdConfig", "EtcdStore", "OutcomeUnknown", "Tls", "Unreachable"]
