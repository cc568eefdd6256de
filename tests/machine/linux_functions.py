"""Records each function of Linux that our code uses, in a process and in the Python processes that it starts.

`install` writes a module `sitecustomize` to a directory for PYTHONPATH. The isolated guardian gets the same code with
its program. psutil and watchfiles may use functions of Linux; our modules may not.
"""

from pathlib import Path

import setpoint

_CODE = """
import os, subprocess, sys

CODE, FOUND, OURS = {code!r}, {found!r}, {ours!r}
FOREIGN = ("/psutil/", "/watchfiles/", "/uvloop/")
FUNCTIONS = ("prctl", "inotify_init", "inotify_init1", "inotify_add_watch", "memfd_create", "pidfd_open", "syscall")
NETLINK = 16


def record(line):
    descriptor = os.open(FOUND, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(descriptor, (line + "\\n").encode())
    os.close(descriptor)


def used(name):
    frame = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        if any(each in file for each in FOREIGN):
            return
        if file.startswith(OURS):
            record(f"USED {{name}} in {{file}}:{{frame.f_lineno}}")
            return
        frame = frame.f_back


def is_proc(path):
    return isinstance(path, (str, bytes, os.PathLike)) and os.fsdecode(path).startswith("/proc")


def hook(event, arguments):
    if event in ("open", "os.listdir", "os.scandir", "os.chdir") and is_proc(arguments[0]):
        used(arguments[0])
    elif event == "ctypes.dlsym" and arguments[1] in FUNCTIONS:
        used(arguments[1])
    elif event == "socket.__new__" and arguments[1] == NETLINK:
        used("netlink")
    elif event in ("socket.bind", "socket.connect") and isinstance(arguments[1], (str, bytes)):
        if os.fsencode(arguments[1])[:1] in (b"", b"\\0"):
            used("an abstract socket")


def watched(name, real, counts):
    def call(*args, **named):
        if counts(args):
            used(name)
        return real(*args, **named)

    return call


for name in ("stat", "lstat", "readlink", "access"):
    setattr(os, name, watched(name, getattr(os, name), lambda args: is_proc(args[0])))
for name in ("pidfd_open", "memfd_create", "pipe2", "eventfd", "waitid", "sched_getaffinity"):
    if hasattr(os, name):
        setattr(os, name, watched(name, getattr(os, name), lambda args: True))
sys.addaudithook(hook)
_start = subprocess.Popen.__init__


def start(self, args, *more, **named):
    if "-I" in args and "-c" in args:
        place = args.index("-c") + 1
        args = (*args[:place], f"exec(open({{CODE!r}}).read()); " + args[place], *args[place + 1 :])
    _start(self, args, *more, **named)


subprocess.Popen.__init__ = start
record("RUNS " + " ".join(sys.orig_argv[1:])[-200:].replace("\\n", " "))
"""


def install(directory: Path) -> Path:
    """Writes the module to a directory. Returns the path of the file with the records."""
    directory.mkdir()
    found, code = directory / "found", directory / "sitecustomize.py"
    ours = str(Path(setpoint.__file__).parent) + "/"
    code.write_text(_CODE.format(code=str(code), found=str(found), ours=ours))
    return found
