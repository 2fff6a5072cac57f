"""rogue.py WHAT: a node that does one thing that is not allowed, by the messages of the wire where the library refuses it. It leaves with the error that it got."""

import struct
import sys
import time

import metasim
from metasim import follower, frames


def never_awaits(c, n):
    while True:  # until the run ends
        try:
            c.next()
        except metasim.EndError:
            return "it was never told"


def hangs(c, n):
    while True:
        time.sleep(1)


def shows_until_told(c, n):
    while True:
        try:
            n.await_frame()
            if n.is_controller():
                n.send_follower_data(b"rogue")
            else:
                n.receive_follower_data()
        except follower.QuitError as e:
            return str(e)
        except follower.MissingError:
            pass


def sends(*pieces):
    """Sends pieces in frame 3, where the controller sends its data."""
    def run(c, n):
        try:
            while n.await_frame().frame < 3:
                n.send_follower_data(b"as it should")
            for frame, part, parts, size, data in pieces:
                n._data.publish(struct.pack("<BBQIIIQ", frames.DATA, frames.VERSION, frame, 1, part, parts, size) + data)
            n.send_follower_data(b"as it should")
            if not pieces:
                n.send_follower_data(b"again")
        except follower.NodeError as e:
            said = f"{type(e).__name__}: {e}"
            shows_until_told(c, n)
            return said
        return shows_until_told(c, n)
    return run


def announces(frame):
    """Says in frame 3 that it has sent the data, and has sent that of another frame, or none."""
    def run(c, n):
        while n.await_frame().frame < 3:
            n.send_follower_data(b"as it should")
        _, notice = n._core.send(b"as it should")
        if frame is not None:
            n._data.publish(struct.pack("<BBQIIIQ", frames.DATA, frames.VERSION, frame, 1, 0, 1, 1) + b"x")
        n._replies.publish(notice)
        return shows_until_told(c, n)
    return run


def leads_too(c, n):
    """Sends data for frame 3 when that is asked for, which another node does too."""
    order = n._core.order

    def hears(sender, b):
        order(sender, b)
        if b[0] == frames.REQUEST and struct.unpack_from("<Q", b, 14)[0] == 3:
            n._data.publish(struct.pack("<BBQIIIQ", frames.DATA, frames.VERSION, 3, 1, 0, 1, 1) + b"x")
    n._core.order = hears
    return shows_until_told(c, n)


def directs(c, n):
    """Publishes on the channel of the director."""
    while n.await_frame().frame < 3:
        pass
    n.orders.publish(b"an order")
    return shows_until_told(c, n)


WHAT = {
    "hangs": ("controller", hangs),
    "never-awaits": ("follower", never_awaits),
    "sends-twice": ("controller", sends()),
    "sends-twice-on-the-wire": ("controller", sends((3, 0, 1, 1, b"x"), (3, 0, 1, 1, b"y"))),
    "another-run": ("controller", sends(*((1000 + i, 0, 1, 1, b"x") for i in range(1025)))),
    "other-sizes": ("controller", sends((3, 0, 2, 10, b"abc"), (3, 1, 2, 10, b"abc"))),
    "announces": ("controller", announces(None)),
    "sends-an-older-frame": ("controller", announces(2)),
    "leads-too": ("understudy", leads_too),
    "directs": ("follower", directs),
    "second-controller": ("controller", shows_until_told),
    "late": ("follower", shows_until_told),
}


def main(what):
    role, run = WHAT[what]
    with metasim.Client() as c:
        n = follower.Node(c, role=role)
        n.orders = c.publication("director/orders")
        c.join()
        n.join()
        c.set_result({"said": run(c, n)})


main(*sys.argv[1:])
