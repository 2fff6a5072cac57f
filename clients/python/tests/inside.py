"""inside.py: says at each TICK on SAID what it is called, and leaves with the names that it knows and hears, and with what the service PLAN calls it."""

import metasim

with metasim.Client() as c:
    said = c.publication("SAID")
    plan = c.caller("PLAN")
    c.subscribe("SAID|TICK|HORN")
    c.join()
    names = [c.name, c.entry, bytes(plan.call("2")).decode().split()[0]]
    for m in c.messages():
        names.append(f"{m.sender} {m.channel} {m.sender == c.name}")
        if m.channel == "TICK":
            said.publish(c.name)
    c.set_result(names)
