#!/usr/bin/env python3
"""Plays the vectors with a client in plain Python: play.py [vectors/NAME.json ...]

The client below steps, and is written from docs/protocol.md with what wire/testdata/client.py has for the bytes. It has no
handlers, no timers, and one member on a connection, and it keeps no reports: see "What may differ" in README.md. Stories that
need more are skipped, and counted. The exit status is 1 where a story is played wrong.
"""

import hashlib
import json
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "wire" / "testdata"))
from client import (AUTHORIZE, DELIVERED, GOODBYE, HELLO, INFINITY, INTRODUCE, LEAVE, ORIGIN, POLL_WAIT, REFUSE, SEND,  # noqa: E402
                    START, VERSION, WELCOME, data, fields, instant, number, read_instant, text)

PROMISE, ADVANCE, FAILED = 8, 9, 15
MINOR = 4  # of the version of the protocol
MAX_NAME, MAX_PAYLOAD, MAX_RESULT = 1024, (64 << 20) - (64 << 10), (4 << 20) - 1024


class Failure(Exception):
    """An error with its code of README.md."""

    def __init__(self, code):
        super().__init__(code)
        self.code = code


def at(time):
    return INFINITY if time >= INFINITY[0] else (time, 0)


def react(cause, reaction):
    return cause if reaction == 0 or cause == INFINITY else at(cause[0] + reaction)


class Client:
    """The client's end of a session. Calls that wait are generators: they go on when something has come."""

    def __init__(self):
        self.publications, self.subscriptions, self.reaction = [], [], 0
        self.mistake = self.failure = None
        self.joined = self.timed = False
        self.until, self.granted, self.now, self.promised = INFINITY, ORIGIN, ORIGIN, ORIGIN
        self.next_event, self.cause = ORIGIN, INFINITY  # what was reported last, and the first message handled since
        self.names, self.given, self.handled, self.result = {}, [], 0, b""
        self.out = []  # (kind, body)
        self.about = {}  # by field of About
        self.name, self.seed, self.streams = "", 0, {}

    # Declaring.

    def declare(self, mistaken, add):
        if self.joined:
            raise Failure("complete")
        if mistaken:
            self.mistake = self.mistake or Failure("mistake")
            raise Failure("mistake")
        add()

    def publication(self, channel):
        if channel not in self.publications:
            self.declare(not channel, lambda: self.publications.append(channel))

    def subscription(self, pattern):
        try:
            re.compile(pattern)
            wrong = not pattern
        except re.error:
            wrong = True
        self.declare(wrong, lambda: self.subscriptions.append(pattern))

    def set_reaction(self, nanoseconds):
        self.declare(nanoseconds < 0, lambda: setattr(self, "reaction", nanoseconds))

    def join(self, name, token):
        if self.joined:
            raise Failure("complete")
        if self.mistake or not name:
            raise self.mistake or Failure("mistake")
        if len(name.encode()) > MAX_NAME:
            raise Failure("protocol")
        self.joined, self.name = True, name
        self.out.append((HELLO, number(1, VERSION) + text(2, name) + text(3, token) + b"".join(text(4, c) for c in self.publications)
                         + b"".join(text(5, s) for s in self.subscriptions) + number(6, self.reaction) + number(7, MINOR)))
        self.started = False
        while not self.started:
            yield
            self.check()
        return [("joined", self.until, self.timed)]

    # Hearing.

    def take(self, kind, body):
        f = dict(fields(body))
        if kind == WELCOME:
            self.timed, self.seed, self.about = bool(f.get(3)), f.get(2, 0), dict(fields(f.get(4, b"")))
        elif kind == START:
            self.started, self.until = True, read_instant(f.get(1, b""))
        elif kind == INTRODUCE:
            if f.get(1, 0) in self.names:
                self.fail("protocol")
            self.names[f.get(1, 0)] = f.get(2, b"").decode()
        elif kind == DELIVERED:
            if f.get(2, 0) not in self.names:
                return self.fail("protocol")
            due = read_instant(f.get(6, b""))
            self.given.append((due, ("message", f[4].decode(), self.names[f.get(2, 0)], f.get(3, 0), read_instant(f.get(5, b"")), due,
                                     f.get(7, b"").hex())))
        elif kind == AUTHORIZE:
            self.granted = max(self.granted, read_instant(f.get(1, b"")))
        elif kind in (GOODBYE, REFUSE):
            self.fail("left" if kind == GOODBYE else "refused")
        else:
            self.fail("protocol")

    def fail(self, code):
        self.failure = self.failure or Failure(code)

    def check(self):
        if self.failure:
            raise self.failure

    # Advancing.

    def report(self, now, next_event):
        floor = max(now, self.promised)
        self.next_event = max(self.may_send_from(), floor, next_event)
        self.cause = INFINITY
        return data(1, instant(1, now) + instant(2, floor) + instant(3, self.next_event) + number(4, self.handled))

    def advance(self, time, messages, computed, cpu, core_wait):
        self.check()
        if time < self.now[0]:
            raise Failure("time-regress")
        want = max(at(time), self.now)
        if not messages:
            self.promised = max(self.promised, want)
        if self.reach(want, messages) < self.granted:
            report = self.report(self.now if messages else want, want)
            self.out.append((ADVANCE, report + number(2, computed) + number(3, cpu) + number(4, core_wait)))
        else:
            report = self.report(self.now, want)
            self.out.append((POLL_WAIT, report + instant(2, want) + number(3, int(messages)) + number(4, computed) + number(5, cpu) + number(6, core_wait)))
            while self.reach(want, messages) >= self.granted != self.until:
                yield
                self.check()
        to = self.reach(want, messages)
        if to < self.granted:
            self.now = to
            return [("arrived", to)] + self.handle(to)
        return [("error", "end")] + ([] if messages else self.handle(self.granted))

    def reach(self, want, messages):
        return min(want, self.given[0][0]) if messages and self.given else want

    def handle(self, until):
        seen = []
        while self.given and self.given[0][0] <= until:
            due, message = self.given.pop(0)
            self.cause = min(self.cause, due)
            self.handled += 1
            seen.append(message)
        return seen

    # Speaking.

    def may_send_from(self):
        return max(self.promised, min(self.next_event, react(self.cause, self.reaction)))

    def publish(self, channel, payload):
        self.check()
        if self.now < self.may_send_from():
            raise Failure("send-before-promise")
        if len(payload) > MAX_PAYLOAD:
            raise Failure("protocol")
        self.out.append((SEND, text(1, channel) + instant(2, self.now) + (data(3, payload) if payload else b"")))

    def promise(self, time):
        self.check()
        to = max(at(time), self.now) if time == self.now[0] else at(time)
        if to < max(self.promised, self.now):
            raise Failure("promise-regress")
        self.promised = to
        self.out.append((PROMISE, instant(1, to)))

    def set_result(self, value):
        self.check()
        result = json.dumps(value).encode()
        if len(result) > MAX_RESULT:
            raise Failure("protocol")
        self.result = result

    def leave(self):
        if not (self.failure and self.failure.code == "left"):
            self.check()
            self.out.append((LEAVE, instant(1, self.now) + number(2, self.handled) + (data(3, self.result) if self.result else b"")))
            while not self.failure:
                yield
            if self.failure.code != "left":
                raise self.failure
        return [("left",)]


    def random(self, stream, count):
        """Draws numbers of 64 bits from a stream, and one below 1."""
        if stream not in self.streams:
            key = b"metasim/random" + self.seed.to_bytes(8, "little")
            for name in (self.name, stream):
                key += len(name.encode()).to_bytes(8, "little") + name.encode()
            key = hashlib.sha256(key).digest()
            self.streams[stream] = int.from_bytes(key[:8], "little") << 64 | int.from_bytes(key[8:16], "little")
        drawn = b""
        for i in range(count + 1):
            state = (self.streams[stream] * 0x2360ed051fc65da44385df649fccf645 + 0x5851f42d4c957f2d14057b7ef767814f) % 2**128
            self.streams[stream] = state
            high, low = state >> 64, state % 2**64
            high = (high ^ high >> 32) * 0xda942042e4dd58b5 % 2**64
            drawn += ((high ^ high >> 48) * (low | 1) % 2**(64 if i < count else 53)).to_bytes(8, "little")
        return drawn.hex()

    def end(self, reason):
        """Ends without leaving, and says why."""
        if self.failure is None:
            if self.started:
                self.out.append((ADVANCE, self.report(self.now, self.now)))
            self.fail("mistake")
            self.out.append((FAILED, text(1, reason)))


class Player:
    """Does the calls of a story, and notes what happens."""

    def __init__(self):
        self.client, self.waits, self.events = Client(), None, []

    def call(self, c):
        client, time = self.client, to_instant(c["at"])[0] if "at" in c else 0
        payload = bytes.fromhex(c.get("payload", ""))
        pad = c.get("size", 0)
        begin = {
            "publication": lambda: client.publication(c.get("channel", "")),
            "subscription": lambda: client.subscription(c.get("channel", "")),
            "reaction": lambda: client.set_reaction(c["for"]),
            "join": lambda: client.join(c.get("name", "") + "x" * pad, c.get("token", "")),
            "step": lambda: client.advance(time, False, c.get("computed", 0), c.get("cpu", 0), c.get("core_wait", 0)),
            "next": lambda: client.advance(time, True, c.get("computed", 0), c.get("cpu", 0), c.get("core_wait", 0)),
            "publish": lambda: client.publish(c["channel"], payload + bytes(pad)),
            "promise": lambda: client.promise(time),
            "result": lambda: client.set_result(payload.decode() + "x" * pad),
            "random": lambda: self.events.append(("drawn", c.get("name", ""), client.random(c.get("name", ""), pad))),
            "about": lambda: self.events.append(("about", *(client.about.get(i, b"" if i in (1, 4, 5) else 0) for i in range(1, 6)))),
            "leave": client.leave,
            "fail": lambda: client.end(c["name"]),
            "cancel": lambda: client.fail("cancelled"),
            "lost": lambda: client.fail("lost"),
            "clock": lambda: None,  # nothing is kept, so nothing comes of time
        }[c["call"]]
        try:
            waits = begin()
        except Failure as e:
            self.events.append(("error", e.code))
            return
        if waits is not None:
            self.waits = waits
        self.go_on()

    def go_on(self):
        if self.waits is None:
            return
        try:
            next(self.waits)
            return
        except StopIteration as end:
            self.events += end.value
        except Failure as e:
            self.events.append(("error", e.code))
        self.waits = None

    def hear(self, frame):
        for _, packet in fields(bytes.fromhex(frame)[4:]):
            for kind, body in fields(packet):
                self.client.take(kind, body)
        self.go_on()


def to_instant(i):
    return INFINITY if i == "infinity" else tuple(i)


def expected(step):
    """Returns an expected event as Player notes it."""
    kind = next(iter(step))
    if kind == "joined":
        return (kind, to_instant(step["until"]), step["timed"])
    if kind == "arrived":
        return (kind, to_instant(step[kind]))
    if kind == "message":
        return (kind, step[kind], step["from"], step["seq"], to_instant(step["sent"]), to_instant(step["due"]), step.get("payload", ""))
    if kind == "about":
        return (kind, step[kind].encode(), step.get("index", 0), step.get("count", 0), step.get("with", "").encode(), step.get("directory", "").encode())
    if kind == "drawn":
        return (kind, step[kind], step["payload"])
    return (kind, step[kind]) if kind == "error" else (kind,)


def merged(packets):
    """Drops each NotifyAdvance that another follows, as README.md has it."""
    left = []
    for kind, body in packets:
        if kind == ADVANCE and left and left[-1][0] == ADVANCE:
            now, before = dict(fields(body)), dict(fields(left.pop()[1]))
            body = data(1, now[1]) + b"".join(number(n, now.get(n, 0) + before.get(n, 0)) for n in (2, 3, 4))
        left.append((kind, body))
    return left


def play(story):
    """Returns what went wrong, or None; and whether the story was skipped."""
    calls = {"publication", "subscription", "reaction", "join", "step", "next", "publish", "promise", "result", "leave", "fail", "cancel", "lost", "clock",
             "random", "about"}
    if any("member" in s or s.get("call", {}).get("member") or s.get("call", {}).get("call", "join") not in calls for s in story["steps"]):
        return None, True
    player, want_out, want_events = Player(), [], []
    for step in story["steps"]:
        if "call" in step:
            player.call(step["call"])
        elif "in" in step:
            player.hear(step["frame"])
        elif "frame" in step:
            want_out += [p for _, packet in fields(bytes.fromhex(step["frame"])[4:]) for p in fields(packet)]
        elif "out" in step:
            return None, True  # too long to be in the vector
        else:
            want_events.append(expected(step))
    for what, want, got in ("happens", want_events, player.events), ("is said", merged(want_out), merged(player.client.out)):
        if want != got:
            first = next((i for i, (w, g) in enumerate(zip(want, got)) if w != g), min(len(want), len(got)))
            return f"{what}: number {first}: want {want[first:first + 1]}, got {got[first:first + 1]}", False
    return None, False


def main():
    played = skipped = wrong = 0
    for path in [Path(p) for p in sys.argv[1:]] or sorted((HERE / "vectors").glob("*.json")):
        for story in json.loads(path.read_text()):
            mistake, skip = play(story)
            played, skipped, wrong = played + (not skip), skipped + skip, wrong + (mistake is not None)
            if mistake:
                print(f"{path.stem}/{story['name']}: {mistake}")
    print(f"{played} played, {wrong} of them wrong, {skipped} skipped")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
