"""The process layer: all functions of the operating system that differ between Linux and other systems.

`linux` uses /proc, pidfds, memfds, prctl and inotify. `portable` uses psutil, watchfiles, threads and, on BSD systems,
kqueue. `chosen.system` is the layer of this process. `SETPOINT_PORTABLE=1` forces the portable layer on Linux, for the
tests.
"""
