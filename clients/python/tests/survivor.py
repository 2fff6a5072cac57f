"""survivor.py run|step|next DIRECTORY: as clients/c/test/survivor.c."""

import os
import sys
import time

import metasim

style, directory = sys.argv[1:]
MS = 1_000_000
total = n = 0


def say():
    out.publish(((total + noise.bits()) % 2**64).to_bytes(8, "little"))


def take(m):
    global total, n
    total = (total * 31 + m.due.time) % 2**64
    for byte in m.payload:
        total = (total * 31 + byte) % 2**64
    n += 1
    if n % 3 == 0:
        say()


def take_all(messages):
    for m in messages:
        take(m)


def hold(file):
    print("holds", flush=True)
    while not os.path.exists(f"{directory}/{file}"):
        time.sleep(0.001)


with metasim.Client() as c:
    out = c.publication(f"OUT-{c.name}")
    c.subscribe("OUT-.*|TICK", take)
    c.join()
    c.on_leave(lambda: {"n": n, "sum": total})
    noise = c.rand("noise")
    say()
    if style == "run":
        c.every(MS, say)
        c.after(50 * MS, lambda: hold("50"))
        c.after(100 * MS, lambda: hold("100"))
        c.run()
    elif style == "step":
        for _, messages in c.steps(MS):
            take_all(messages)
            say()
    else:
        try:
            while True:
                take_all(c.next(c.now.time + 3 * MS))
        except metasim.EndError:
            pass
