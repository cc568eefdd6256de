"""Daemons and timers: long-running tasks, and periodic calls, for each object of a kind."""

from setpoint.controller.daemon.context import DaemonContext, SyncDaemonContext
from setpoint.controller.daemon.declare import daemon, timer

__all__ = ["DaemonContext", "SyncDaemonContext", "daemon", "timer"]
