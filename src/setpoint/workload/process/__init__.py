"""The processes of this machine: started, monitored, stopped as whole trees, and never left behind.

Every process is started by a guardian, a small process of our own that adopts orphaned descendants, and that outlives a
killed control plane just long enough to stop the processes that must not survive. This package is independent of the
API.
"""
