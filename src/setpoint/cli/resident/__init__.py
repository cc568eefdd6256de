"""The resident process: keeps the modules of short commands imported, and runs each command in a fork.

Nearly all processor time of a short command is spent importing modules. After the first such command of a session, a
resident process remains for a while; the following commands pass their arguments, environment, directory and standard
streams to the resident process, which forks, runs the command and returns the exit code. The output is the same.
"""
