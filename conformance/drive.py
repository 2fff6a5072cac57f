#!/usr/bin/env python3
"""Plays the vectors with a program: drive.py PROGRAM [vectors/NAME.json ...]

The program is a client library with a few lines around it that do what they are told. It reads calls from its standard input, a
line each, reaches its server by METASIM_SERVER, and writes what happens to its standard output: clients/c/test/player.c is one in C.

    call TEXT TEXT NUMBER SIZE STEP     texts are hexadecimal, "-" is the empty one; see perform in player.c
    on c|t TEXT call ...                the handler of a subscription or of a timer does this call

    joined TIME STEP TIMED | arrived TIME STEP | message CHANNEL FROM SEQ SENT STEP DUE STEP PAYLOAD | timer NAME TIME STEP | drawn STREAM PAYLOAD
    about ENTRY INDEX COUNT WITH DIRECTORY
    left | ended | error CODE           what happens, as README.md names it
    done                                the call has returned

What computed, cpu and core_wait say is not compared: the program measures them itself. Stories with several members, and
those that need a second thread, are skipped, and counted. The exit status is 1 where a story is played wrong.
"""

import json
import math
import os
import queue
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from play import ADVANCE, FAILED, HERE, INFINITY, POLL_WAIT, SEND, data, expected, fields, merged, to_instant

WAITING = ("join", "step", "next", "run", "leave")
PATIENCE = 30  # seconds; more than a call ever takes, so only what hangs needs it


def text(value):
    return value.encode().hex() or "-"


def line(call):
    """A call as the program reads it."""
    kind, first, second = call["call"], "", "-"
    if kind == "on":
        key = ("c " + text(call["channel"])) if "channel" in call else ("t " + text(call["name"]))
        return f"on {key} {line(call['do'])}"
    if kind in ("publication", "subscription", "publish"):
        first = call.get("channel", "")
    elif kind in ("join", "at", "after", "every", "stop", "fail", "random"):
        first = call.get("name", "")
    first = text(first)
    if kind == "join":
        second = text(call.get("token", ""))
    elif kind == "publish":
        second = call.get("payload", "") or "-"
    elif kind == "result":
        first = call.get("payload", "") or "-"
    time, step = to_instant(call["at"]) if "at" in call else (call.get("for", 0), 0)
    return f"{kind} {first} {second} {time} {call.get('size', 0)} {step if time != INFINITY[0] else 0}"


def event(words):
    """What happens, as play.expected says it."""
    def plain(i):
        return "" if words[i] == "-" else bytes.fromhex(words[i]).decode()

    def instant(i):
        return int(words[i]), int(words[i + 1])
    if words[0] == "joined":
        return "joined", instant(1), words[3] == "1"
    if words[0] == "arrived":
        return "arrived", instant(1)
    if words[0] == "message":
        return "message", plain(1), plain(2), int(words[3]), instant(4), instant(6), "" if words[8] == "-" else words[8]
    if words[0] == "about":
        return "about", plain(1).encode(), int(words[2]), int(words[3]), plain(4).encode(), plain(5).encode()
    if words[0] == "drawn":
        return "drawn", plain(1), words[2]
    if words[0] == "timer":
        return "timer", plain(1), instant(2)
    return tuple(words)


class Program:
    """The program, and the socket that it takes for its server."""

    def __init__(self, command, directory):
        path = Path(directory) / "s"
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "METASIM_SERVER": f"unix://{path}"})
        self.lines, self.said, self.connected, self.connection = queue.Queue(), bytearray(), threading.Event(), None
        self.events, self.busy, self.heard = [], False, threading.Condition()
        self.threads = [threading.Thread(target=t, daemon=True) for t in (self.listen, self.read)]
        for t in self.threads:
            t.start()

    def listen(self):
        try:
            while True:
                self.connection, _ = self.listener.accept()
                self.connected.set()
                self.listen_to(self.connection)
        except OSError:
            pass  # close ended it

    def listen_to(self, connection):
        while got := connection.recv(1 << 16):
            with self.heard:
                self.said += got
                self.heard.notify()

    def read(self):
        for got in self.process.stdout:
            self.lines.put(got.split())
        self.lines.put(["gone"])

    def call(self, text, waits):
        self.settle()
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()
        self.busy = True
        if not waits:
            self.settle()

    def settle(self, enough=math.inf):
        """Waits until the call at hand has returned, or so much has happened."""
        while self.busy and len(self.events) < enough:
            words = self.lines.get(timeout=PATIENCE)
            if words == ["gone"]:
                raise RuntimeError(f"the program ended with status {self.process.wait()}")
            self.busy = words != ["done"]
            if self.busy:
                self.events.append(event(words))

    def hear(self, frame):
        if not self.connected.wait(PATIENCE):
            raise RuntimeError("the program does not connect")
        self.connection.sendall(frame)

    def packets(self):
        """Returns the packets that it has written so far."""
        packets, left = [], bytes(self.said)
        while len(left) >= 4:
            size = int.from_bytes(left[:4], "little")
            if len(left) < 4 + size:
                break
            packets += [p for _, packet in fields(left[4:4 + size]) for p in fields(packet)]
            left = left[4 + size:]
        return packets

    def says(self, kind, count):
        """Waits until it has written so many packets of a kind. Only what a program writes at once is waited for."""
        with self.heard:
            return self.heard.wait_for(lambda: sum(k == kind for k, _ in self.packets()) >= count, PATIENCE)

    def lose(self):
        self.connected.wait(PATIENCE)
        self.connection.shutdown(socket.SHUT_WR)

    def back(self):
        """The server dies, and is there again."""
        self.connected.wait(PATIENCE)
        self.connected.clear()
        self.connection.shutdown(socket.SHUT_RDWR)

    def end(self):
        """Returns the packets that it has written."""
        self.process.stdin.close()
        if self.busy:
            self.process.kill()  # the story ends where it waits
        self.process.wait(PATIENCE)
        self.listener.shutdown(socket.SHUT_RDWR)
        for t in self.threads:  # what it wrote last is read before its pipe is closed
            t.join(PATIENCE)
        if self.connection is not None:
            self.connection.close()
        self.listener.close()
        self.process.stdout.close()
        return self.packets()


def unmeasured(packets):
    """Packets without what a client measures."""
    left = []
    for kind, body in packets:
        if kind in (ADVANCE, POLL_WAIT):
            f = dict(fields(body))
            keep = (1,) if kind == ADVANCE else (1, 2, 3)
            body = b"".join(data(n, f[n]) if isinstance(f[n], bytes) else bytes([n, f[n]]) for n in keep if n in f)
        left.append((kind, body))
    return left


def needs_a_thread(story):
    """Whether something is done while a call waits, or what has come is seen without a call that waits: a program of one thread cannot."""
    waits = lost = False
    for step in story["steps"]:
        if any(k in step for k in ("joined", "arrived", "left", "ended", "error")):
            waits = False
        kind = step.get("call", {}).get("call")
        if kind == "cancel" or kind and kind not in ("lost", "back") and waits or lost and kind and kind not in WAITING:
            return True
        lost = kind == "lost"
        waits = waits or kind in WAITING
    return False


def noticed(steps):
    """Returns the steps, with the next call right after a loss that comes while no call waits: a program of one thread notices it there."""
    steps, waits = list(steps), False
    for i, step in enumerate(steps):
        if any(k in step for k in ("joined", "arrived", "left", "ended", "error")):
            waits = False
        kind = step.get("call", {}).get("call")
        if kind == "back" and not waits:
            later = next((j for j in range(i + 1, len(steps)) if steps[j].get("call", {}).get("call") in WAITING), None)
            if later is not None:
                steps.insert(i + 1, steps.pop(later))
        waits = waits or kind in WAITING
    return steps


def play(command, story):
    """Returns what went wrong, or None; and whether the story was skipped."""
    steps = noticed(story["steps"])
    if any(s.get("call", {}).get("call") == "saves" for s in steps):
        return None, True  # no library but the one in Go does that
    if any("member" in s or s.get("call", {}).get("member") for s in steps) or any("out" in s and "frame" not in s for s in steps) or needs_a_thread(story):
        return None, True
    want_out, want_events = [], []
    with tempfile.TemporaryDirectory() as directory:
        program = Program(command, directory)
        try:
            for step in steps:
                call = step.get("call", {})
                if call.get("call") == "lost":
                    program.lose()
                elif call.get("call") == "back":
                    program.back()
                elif call.get("call") == "clock":
                    pass  # nothing is kept, so nothing comes of time
                elif call:
                    program.call(line(call), call["call"] in WAITING)
                elif "in" in step:
                    program.hear(bytes.fromhex(step["frame"]))
                elif "frame" in step:
                    want_out += [p for _, packet in fields(bytes.fromhex(step["frame"])[4:]) for p in fields(packet)]
                    last = want_out[-1][0]
                    if last not in (SEND, ADVANCE) and not program.says(last, sum(k == last for k, _ in want_out)):
                        raise RuntimeError(f"a packet of kind {last} does not come")
                elif "timer" in step:
                    want_events.append(("timer", step["timer"], to_instant(step["at"])))
                else:
                    want_events.append(expected(step))
            program.settle(len(want_events))
            got_out = program.end()
            if want_out[-1:] and want_out[-1][0] != FAILED and got_out and got_out[-1][0] == FAILED:
                del got_out[-2 if got_out[-2:-1] and got_out[-2][0] == ADVANCE else -1:]  # it has said by itself that it fails, and where it was
        except (RuntimeError, queue.Empty, OSError, subprocess.TimeoutExpired) as e:
            program.process.kill()
            return f"{type(e).__name__} {e} after {program.events[-1:]}", False
    for what, want, got in ("happens", want_events, program.events), ("is said", merged(unmeasured(want_out)), merged(unmeasured(got_out))):
        if want != got:
            first = next((i for i, (w, g) in enumerate(zip(want, got)) if w != g), min(len(want), len(got)))
            return f"{what}: number {first}: want {want[first:first + 1]}, got {got[first:first + 1]}", False
    return None, False


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    played = skipped = wrong = 0
    for path in [Path(p) for p in sys.argv[2:]] or sorted((HERE / "vectors").glob("*.json")):
        for story in json.loads(path.read_text()):
            mistake, skip = play(sys.argv[1].split(), story)
            played, skipped, wrong = played + (not skip), skipped + skip, wrong + (mistake is not None)
            if mistake:
                print(f"{path.stem}/{story['name']}: {mistake}")
    print(f"{played} played, {wrong} of them wrong, {skipped} skipped")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
