#!/usr/bin/env python3
"""Clients that wait, at first, until somebody has opened and closed a FIFO:

    slow.py PATH_OF_CLIENT_PY FIFO sink CHANNELS     handles one message, and waits before the next
    slow.py PATH_OF_CLIENT_PY FIFO clock CHANNEL     publishes once, and waits before the next time; 100 ms apart
"""

import os
import sys

sys.path.insert(0, os.path.dirname(sys.argv[1]))
import client  # noqa: E402


def wait():
    open(sys.argv[2]).close()


class Sink(client.Client):
    def run(self):
        self.join()
        while self.granted < self.until:
            self.wait(b"", client.INFINITY, True)
            for _ in self.messages():
                if self.handled == 1:
                    wait()
        self.leave(b"", "{}")


class Clock(client.Client):
    def run(self):
        self.join()
        while True:
            step = (self.now[0] + 100_000_000, 0)
            self.wait(self.send(self.publish[0], b""), step, False, promise=step)
            if step >= self.granted:
                return self.leave(b"", "{}")
            if self.now == client.ORIGIN:
                wait()
            self.now = step


kinds = {"sink": lambda c: Sink(c, [], sys.argv[4:]), "clock": lambda c: Clock(c, sys.argv[4:], [])}
kinds[sys.argv[3]](client.Connection(os.environ["METASIM_SERVER"])).run()
