"""gate.py FIFO: a client that goes on when somebody has opened the pipe: until then the run stands still in real time."""

import sys

import metasim

with metasim.Client() as c:
    c.join()
    with open(sys.argv[1]) as pipe:
        pipe.read()
