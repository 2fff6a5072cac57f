"""mistakes.py FIFO: a client that calls what cannot be, and leaves with the sentences that it got. Another client waits for the pipe: until it is opened the
run stands still."""

import sys
import threading

import metasim
from metasim import follower


def sentence(call, *args):
    try:
        call(*args)
    except metasim.MistakeError as e:
        return str(e)
    return "it was taken"


def timed_out(call):
    try:
        call(timeout=0)
    except metasim.TimedOutError as e:
        return str(e)
    return "it came back"


def ends(call, *args):
    try:
        call(*args)
    except metasim.EndError:
        return
    raise AssertionError("the run went on")


with metasim.Client() as c:
    out = c.publication("OUT")
    gain = c.caller("GAIN")
    c.subscribe("GATE")
    c.join()
    said = [
        sentence(c.step, 0.5),
        sentence(c.next, "5ms"),
        sentence(lambda: next(c.steps(1e6))),
        sentence(c.promise, None),
        sentence(gain.start, "pole", 0.1),
        sentence(out.publish, 5),
        sentence(out.publish, [1, 2, 3]),
        sentence(gain.start, 5),
    ]
    other = metasim.Client()
    said += [sentence(other.publication, 5), sentence(other.subscribe, None), sentence(other.caller, 1), sentence(other.reaction, 0.5)]
    said.append(sentence(lambda: follower.Node(other, role="boss")))
    failing = metasim.Client()  # that has failed in a handler: run says so, and each later run
    failing._session.started, failing._session.granted = True, metasim.Instant(1)
    failing.after(0, lambda: failing.fail("no reason"))
    said += [sentence(failing.run), sentence(failing.run)]
    out.publish(bytearray(b"taken"))
    said.append(timed_out(c.next))
    waits = threading.Thread(target=ends, args=(c.next,))
    waits.start()
    while not sentence(out.publish, 5).endswith("by a queue"):  # until the other thread waits
        pass
    said += [sentence(call) for call in (c.leave, lambda: c.promise(1), lambda: c.step(1))]
    open(sys.argv[1], "w").close()
    waits.join()
    ends(c.step, 10**9)
    c.set_result(said)
