#!/usr/bin/env python3
"""An echo that is not deterministic where no delivery shows it: liar.py PATH_OF_CLIENT_PY HOW IN OUT

clock: it publishes the wall clock on WALL, which nobody hears. random: it leaves with a random result. order: its result is the
same each time, written in another way, which is no lie.
"""

import json
import os
import random
import sys
import time

sys.path.insert(0, os.path.dirname(sys.argv[1]))
import client  # noqa: E402


class Liar(client.Echo):
    def publications(self):
        return ["WALL"] + super().publications()

    def handle(self):
        packets = super().handle()
        if sys.argv[2] == "clock" and packets:
            wall = str(time.time_ns()).encode()
            packets += client.packet(client.SEND, client.text(1, "WALL") + client.instant(2, self.now) + client.data(3, wall))
        return packets

    def result(self):
        if sys.argv[2] == "random":
            return json.dumps({"echoed": self.handled, "luck": random.SystemRandom().random()})
        pairs = [("echoed", self.handled), ("one", 1.5), ("big", 2**63 + 1)]
        random.SystemRandom().shuffle(pairs)
        return json.dumps(dict(pairs), indent=random.SystemRandom().choice([None, 1, 2]))


Liar(client.Connection(os.environ["METASIM_SERVER"]), sys.argv[3], sys.argv[4]).run()
