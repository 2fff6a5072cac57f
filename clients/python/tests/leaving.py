"""leaving.py HOW: leaves in one of the ways that there are, and has its result asked for then."""

import sys

import metasim

how = sys.argv[1]
seen = 0


def result():
    if how == "raises":
        raise ValueError("out of fuel")
    return {1, 2} if how == "no-json" else {"seen": seen}


with metasim.Client() as c:
    out = c.publication("X")
    c.join()
    c.set_result("not this")
    c.on_leave(result)
    for t, _ in c.steps(0 if how == "period" else 10_000_000):
        assert t == seen * 10_000_000, t
        seen += 1
        out.publish("x")
        if how == "inside" and t == 20_000_000:
            c.leave()
    if how == "run":
        c.run()
