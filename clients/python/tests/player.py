"""Plays sessions for conformance/drive.py, which says how: python3 player.py, with this library in PYTHONPATH."""

import logging
import sys

import metasim
from metasim import wire

logging.disable()  # drive.py has standard error for mistakes
client = metasim.Client()
client._session.returns = False  # the stories in which it does say so
reactions, timers, handled = [], {}, []
left = False


def say(*words):
    print(*words, flush=True)


def hexed(value):
    return bytes(value).hex() or "-" if not isinstance(value, str) else value.encode().hex() or "-"


def text(word):
    return "" if word == "-" else bytes.fromhex(word).decode()


def message(m):
    say("message", hexed(m.channel), hexed(m.sender), m.seq, *m.sent, *m.due, hexed(m.payload))


def react(kind, key):
    for of, of_key, call in reactions:
        if (of, of_key) == (kind, key):
            attempt(call)


def on_message(pattern):
    def handle(m):
        if m is not (handled and handled[-1]):
            handled.append(m)
            message(m)
        react("c", pattern)
    return handle


def on_timer(name):
    def handle():
        say("timer", hexed(name), *client.now)
        react("t", name)
    return handle


def arrive(messages):
    say("arrived", *client.now)
    for m in messages:
        message(m)


def join(name, pad, token):
    if not client._joined:
        client._name, client._token = name + "x" * pad, token
    client.join()
    say("joined", *client.until, int(client._session.timed > 0))


def set_at(name, value, step):
    if step:
        return client._set(wire.Instant(value, step), 0, on_timer(name))
    return client.at(value, on_timer(name))


def run():
    client.run()
    if not left:
        say("left")
    say("ended")


def draw(name, count):
    stream = client.rand(name)
    drawn = [stream.bits() for _ in range(count)] + [int(stream.random() * 2**53)]
    say("drawn", hexed(name), b"".join(d.to_bytes(8, "little") for d in drawn).hex())


def leave():
    global left
    client.leave()
    left = True
    say("left")


def perform(words):
    call, first, second, value, pad, step = words[0], words[1], words[2], int(words[3]), int(words[4]), int(words[5])
    {
        "publication": lambda: client.publication(text(first)),
        "subscription": lambda: client.subscribe(text(first), on_message(text(first))),
        "reaction": lambda: client.reaction(value),
        "join": lambda: join(text(first), pad, text(second)),
        "step": lambda: arrive(client.step(value)),
        "next": lambda: arrive(client.next(value)),
        "publish": lambda: client._publish(text(first), bytes.fromhex("" if second == "-" else second) + bytes(pad)),
        "promise": lambda: client.promise(value),
        "result": lambda: client.set_result(text(first) + "x" * pad),
        "at": lambda: timers.update({text(first): set_at(text(first), value, step)}),
        "after": lambda: timers.update({text(first): client.after(value, on_timer(text(first)))}),
        "every": lambda: timers.update({text(first): client.every(value, on_timer(text(first)))}),
        "stop": lambda: timers[text(first)].stop(),
        "random": lambda: draw(text(first), pad),
        "about": lambda: say("about", hexed(client.entry), client.index, client.count, hexed(client._session.parameters), hexed(client.directory)),
        "survives": lambda: setattr(client._session, "returns", True),
        "run": run,
        "leave": leave,
        "fail": lambda: client.fail(text(first)),
    }[call]()


def attempt(words):
    try:
        perform(words)
    except metasim.Error as e:
        if words[0] not in ("at", "after", "every"):  # the vectors have these as what run returns
            say("error", e.code)
        if isinstance(e, metasim.EndError):
            for m in e.messages:
                message(m)


for line in sys.stdin:
    words = line.split()
    if words[0] == "on":
        reactions.append((words[1], text(words[2]), words[3:]))
    else:
        attempt(words)
    say("done")
