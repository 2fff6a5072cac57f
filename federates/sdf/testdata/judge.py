"""Has Gazebo's own reader (Debian's libsdformat12) judge files: for each name on standard input, "taken" or "refused" on standard output.

It calls what `ign sdf --check` calls, each in a process of its own, as that may crash. With --say, what the reader says follows.
"""
import ctypes
import os
import sys


def judge(library, name, say):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        out = write if say else os.open(os.devnull, os.O_WRONLY)
        os.dup2(out, 1)
        os.dup2(out, 2)
        os._exit(0 if library.cmdCheck(name.encode()) == 0 else 1)
    os.close(write)
    said = b""
    while piece := os.read(read, 1 << 16):
        said += piece
    os.close(read)
    _, status = os.waitpid(child, 0)
    return "taken" if status == 0 else "refused", said.decode(errors="replace")


library = ctypes.CDLL("libsdformat12.so.12")
for line in sys.stdin:
    verdict, said = judge(library, line.rstrip("\n"), "--say" in sys.argv)
    print(verdict, flush=True)
    if "--say" in sys.argv:
        print(said, flush=True)
