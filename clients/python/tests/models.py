"""models.py MODEL ARGUMENTS: some built-in models again, to take their places in the scenarios that come with metasim:

    echo IN OUT    ring IN OUT    sink IN...    controller    phold LPS POPULATION REMOTE MEAN LOOKAHEAD CLIENTS
"""

import hashlib
import heapq
import math
import struct
import sys

import metasim


def pass_on(c, heard, said, counts):
    out = c.publication(said)
    c.subscribe(heard)
    c.join()
    passed = 0
    for m in c.messages():
        passed += 1
        out.publish(m.payload)
    return {counts: passed}


def sink(c, *patterns):
    for pattern in patterns:
        c.subscribe(pattern)
    c.join()
    sizes = [len(m.payload) for m in c.messages()]
    return {"received": len(sizes), "bytes": sum(sizes)}


def controller(c):
    out = c.publication("CARTPOLE_FORCE")
    c.subscribe("CARTPOLE_STATE")
    c.join()
    latest, commands = (-1,), 0
    for t, messages in c.steps(10_000_000):
        for m in messages:
            state = struct.unpack("<q4d", m.payload)
            latest = state if state[0] > latest[0] else latest
        if latest[0] >= 0:
            commands += 1
            _, x, v, angle, rate = latest
            force = 4.13551399 * x + 7.75462354 * v + 61.829526 * angle + 15.3610756 * rate
            out.publish(struct.pack("<qd", t, max(-20.0, min(20.0, force))))
    return {"commands": commands}


def logarithm(x):
    """In the operations and in the order of federates/phold/log.go: another one may differ in the last bit."""
    l1, l2, l3, l4 = 6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01, 2.222219843214978396e-01
    l5, l6, l7 = 1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01
    fraction, exponent = math.frexp(x)
    if fraction < math.sqrt(2) / 2:
        fraction, exponent = fraction * 2, exponent - 1
    f, k = fraction - 1, float(exponent)
    s = f / (2 + f)
    s2 = s * s
    s4 = s2 * s2
    odd = s2 * (l1 + s4 * (l3 + s4 * (l5 + s4 * l7)))
    even = s4 * (l2 + s4 * (l4 + s4 * l6))
    half = 0.5 * (f * f)
    rest = s * (half + odd + even) + k * 1.90821492927058770002e-10
    return k * 6.93147180369123816490e-01 - ((half - rest) - f)


class Process:
    """A logical process of phold."""

    def __init__(self, seed, number):
        self.number, self.sent, self.past = number, 0, hashlib.sha256()
        self.draws = metasim.Stream(seed, "", "")
        key = hashlib.sha256(b"phold" + seed.to_bytes(8, "little") + number.to_bytes(4, "little")).digest()
        high, low = struct.unpack("<QQ", key[:16])
        self.draws.setstate((high << 64 | low, None))

    def uniform(self):
        return ((self.draws.bits() >> 11) + 1) / 2**53

    def send(self, to, now, mean, lookahead):
        more = -float(mean - lookahead) * logarithm(self.uniform())
        self.sent += 1
        return now + lookahead + math.floor(more + 0.5), to, self.number, self.sent - 1


def phold(c, *words):
    lps, population, remote, mean, lookahead, clients = int(words[0]), int(words[1]), float(words[2]), int(words[3]), int(words[4]), int(words[5])
    names = [f"phold-{i}" for i in range(clients)]
    outs = [c.publication(name) if name != c.name else c.subscribe(name) for name in names]
    c.join()
    first, end = (i * lps // c.count for i in (c.index, c.index + 1))
    processes = {n: Process(c.seed, n) for n in range(first, end)}
    calendar = [p.send(p.number, 0, mean, lookahead) for p in processes.values() for _ in range(population)]
    heapq.heapify(calendar)
    executed = 0
    try:
        while True:
            for m in c.next(calendar[0][0] if calendar else metasim.FOREVER):
                to, time, sender, count = struct.unpack("<IqIQ", m.payload)
                heapq.heappush(calendar, (time, to, sender, count))
            while calendar and calendar[0][0] == c.now.time:
                time, number, sender, _ = heapq.heappop(calendar)
                p, executed = processes[number], executed + 1
                p.past.update(struct.pack("<qI", time, sender))
                to = number if p.uniform() > remote else p.draws.bits() * lps >> 64
                event = p.send(to, time, mean, lookahead)
                owner = ((to + 1) * c.count - 1) // lps
                if owner == c.index:
                    heapq.heappush(calendar, event)
                else:
                    outs[owner].publish(struct.pack("<IqIQ", to, event[0], event[2], event[3]))
    except metasim.EndError:
        hashed = sum(int.from_bytes(p.past.digest()[:8], "little") for p in processes.values()) % 2**64
        return {"events": executed, "hash": f"{hashed:016x}"}


def main(model, *words):
    with metasim.Client() as c:
        c.set_result({"echo": lambda: pass_on(c, *words, "echoed"), "ring": lambda: pass_on(c, *words, "hops"), "sink": lambda: sink(c, *words),
                      "controller": lambda: controller(c), "phold": lambda: phold(c, *words)}[model]())


main(*sys.argv[1:])
