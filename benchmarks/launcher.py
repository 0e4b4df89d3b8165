"""Runs a command, and prints its seconds, processor seconds and peak memory in KiB as JSON.

A process begins with the peak memory of the one that starts it, so a small one has to start it.
This file imports no other module of the project, and runs as ``python -I -S launcher.py COMMAND``.
"""

import json
import os
import sys
import time

if __name__ == "__main__":
    started = time.perf_counter()
    quiet = [
        (os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0)
        for stream in (sys.stdout.fileno(), sys.stderr.fileno())
    ]
    child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=quiet)
    _, status, used = os.wait4(child, 0)
    seconds = time.perf_counter() - started
    print(json.dumps([seconds, used.ru_utime + used.ru_stime, used.ru_maxrss]))
    sys.exit(os.waitstatus_to_exitcode(status))
