"""signals.py: gives green to where more cars wait, each time for ten seconds at least. It hears QUEUES, and says on SIGNAL who has green."""

import json

import metasim

LEAST_GREEN = 10_000_000_000  # nanoseconds

with metasim.Client() as c:
    out = c.publication("SIGNAL")
    c.subscribe("QUEUES")
    c.join()
    green, since, switched = "north-south", 0, 0
    c.on_leave(lambda: {"switched": switched})
    for m in c.messages():
        waiting = json.loads(bytes(m.payload))
        other = "east-west" if green == "north-south" else "north-south"
        if c.now.time - since >= LEAST_GREEN and waiting[other] > waiting[green]:
            green, since, switched = other, c.now.time, switched + 1
        out.publish(green)  # again each time: the network may lose it
