"""Plays conformance/followers.txt, whose calls it reads from standard input, and says what comes of each: the file again, if all is right."""

import struct
import sys

from metasim import follower
from metasim.frames import Core


def plain(word):
    return b"" if word == "-" else bytes.fromhex(word)


def hexed(b):
    return bytes(b).hex() or "-"


def frame(n, tracked):
    replies = []
    try:
        f = n.next(replies, tracked)
        result = "wait" if f is None else f"frame {f.frame} {f.tracked} {f.local} {f.delta} {f.rate[0]} {f.rate[1]} {f.reset:d} {f.scene}"
    except follower.MissingError as e:
        result = " ".join(["missing", str(e.data.frame), str(int(e.data.reset)), *map(hexed, e.inputs)])
    except follower.FollowerError as e:
        result = problem(e)
    return [f"reply {hexed(r)}" for r in replies] + [result]


def problem(e):
    """What other clients have done, or the director has said, is told with its sentence."""
    said = str(e) if isinstance(e, follower.PeerError) and e.rs_code != 12 else e.reason if isinstance(e, follower.QuitError) else ""
    return f"error {e.rs_code} {said.encode().hex()}".rstrip()


def hear(n):
    replies = []
    try:
        n.hear(replies)
        result = "ok"
    except follower.FollowerError as e:
        result = problem(e)
    return [f"reply {hexed(r)}" for r in replies] + [result]


def send(n, state):
    pieces, notice = n.send(state)
    return [f"data {hexed(p)}" for p in pieces] + [f"reply {hexed(notice)}", "ok"]


def ok(_, *words):
    return [" ".join(["ok", *words])]


def follow(n, word):
    n.follows = word == "1"
    return ["ok"]


def bits(x):
    return struct.pack(">d", x).hex()


def streams(n):
    lines = []
    for _, name, c, clip in n.streams_now():
        floats = map(bits, (*c.position, *c.rotation, c.fov, c.near, c.far))
        lines.append(" ".join(["stream", hexed(name.encode()), hexed(c.of.encode()), *floats, str(c.width), str(c.height), *map(str, clip)]))
    return lines + ["ok"]


def charge(n, peer, why):
    message = n.charge(peer, plain(why).decode())
    return ([] if message is None else [f"reply {hexed(message)}"]) + ["ok"]


CALLS = {
    "hello": lambda n, role, order: [f"reply {hexed(n.hello(int(role), int(order)))}"],
    "order": lambda n, sender, b: ok(n.order(sender, plain(b))),
    "data": lambda n, sender, b: ok(n.take_data(sender, plain(b))),
    "next": lambda n: frame(n, None),
    "begin": lambda n, tracked: frame(n, int(tracked)),
    "hear": hear,
    "follow": follow,
    "is": lambda n: ok(n.now(), str(int(n.controls))),
    "sync": lambda n: ok(n, str(int(n.now().sync))),
    "send": lambda n, state: send(n, plain(state)),
    "receive": lambda n: ok(n, hexed(n.receive())),
    "inputs": lambda n: ok(n, *map(hexed, n.now().inputs)),
    "input": lambda n, b: [f"reply {hexed(n.input(plain(b)))}"],
    "back": lambda n, state, *pictures: [f"reply {hexed(n.back(plain(state), [plain(p) for p in pictures]))}", "ok"],
    "streams": streams,
    "charge": charge,
    "refused": lambda n: ok(n, str(n.refused)),
}


def main():
    node = None
    for line in sys.stdin:
        if line.startswith(" "):  # what is to come
            continue
        print(line, end="")
        call, *words = line.split()
        if call == "node":
            node = Core(words[0], int(words[1]), int(words[2]))
        elif call != "story":
            try:
                came = CALLS[call](node, *words)
            except follower.FollowerError as e:
                came = [problem(e)]
            print("".join(f" {c}\n" for c in came), end="")


main()
