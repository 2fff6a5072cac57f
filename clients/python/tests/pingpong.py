"""pingpong.py OUT IN ROUNDS: publishes on OUT, and again at each answer on IN, and says how long a round trip takes.

pingpong.py ROUNDS: the same number of bytes over the same socket, with nothing of metasim: what Python can do. The other end is c/test/pingpong.c.
"""

import os
import socket
import sys
import time


def say(rounds, wall, cpu):
    print(f"{(time.monotonic() - wall) / rounds * 1e6:.3f} us wall {(time.process_time() - cpu) / rounds * 1e6:.3f} us cpu", flush=True)


def raw(rounds):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(os.environ["METASIM_SERVER"].removeprefix("unix://"))
        s.send(bytes(20))
        s.recv(1 << 16)
        wall, cpu = time.monotonic(), time.process_time()
        message = bytes(110)
        for _ in range(rounds):
            s.send(message)
            s.recv(1 << 16)
        say(rounds, wall, cpu)


def client(said, heard, rounds, leaves):
    import metasim

    with metasim.Client() as c:
        out = c.publication(said)
        c.subscribe(heard)
        c.join()
        wall, cpu = time.monotonic(), time.process_time()
        message, answers = bytes(64), 0
        out.publish(message)
        for _ in c.messages():
            answers += 1
            if answers == rounds:
                break
            out.publish(message)
        say(rounds, wall, cpu)
        if not leaves:
            os._exit(0)  # the server that only answers does not know how to let somebody leave


if len(sys.argv) == 2:
    raw(int(sys.argv[1]))
else:
    client(sys.argv[1], sys.argv[2], int(sys.argv[3]), len(sys.argv) == 4)
