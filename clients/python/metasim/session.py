"""The client's end of a session: what it may say and when. No socket and no clock are here; client.py has them.

It is docs/protocol.md, section 6, and says what the reference client in Go says.
"""

from __future__ import annotations

from collections import deque
from typing import Callable, Deque, Dict, List, Optional, Tuple, Union

from . import wire
from .errors import EndError, Error, LeftError, MistakeError, ProtocolError, PromiseRegressError, RefusedError, SendBeforePromiseError, TimeRegressError
from .memory import Memory
from .wire import (FOREVER, INFINITY, MAX_FRAME, MAX_PACKETS, ORIGIN, Buffer, Instant, Malformed, Message, Packet, as_bytes, as_number, as_text, at, data, instant, number, packet,
                   read_instant, text)


def words(i: Instant) -> str:
    """An instant in words, as other parts of metasim write it."""
    if i[0] == FOREVER:
        return "infinity"
    return f"{i[0] / 1e9:.9f} s" + (f", step {i[1]}" if i[1] else "")


def encoded(client: str, channel: str, payload: Union[Buffer, str]) -> bytes:
    """The bytes of a payload. What is no bytes is refused: bytes(5) would be five zero bytes."""
    if payload.__class__ is bytes:  # mypy understands isinstance alone, which takes longer: so here and below
        return payload  # type: ignore[return-value]
    if isinstance(payload, str):
        return payload.encode()
    try:
        return bytes(memoryview(payload))
    except TypeError:
        raise MistakeError(f'client "{client}" publishes {repr(payload):.40} on "{channel}": a payload is bytes, what is like bytes, or text; encode it, '
                           "as with struct.pack or json.dumps") from None


class Session:
    """The state of a client that has joined."""

    # It has less than 30 attributes, and so has a Client: CPython 3.11 and later read and write those in three quarters of the time.

    def __init__(self, name: str) -> None:
        self.name, self.reaction = name, 0
        self.over: Optional[Error] = None  # why the session is over
        self.started = False
        self.timed = 0
        self.seed, self.scenario = 0, ""
        self.own = ""  # what the client is called in its scenario, which may be inside of another one
        self.entry, self.parameters, self.directory = "", "", ""
        self.place = 0, 0  # which client of its entry it is, and how many the entry has
        self.until, self.now, self.promised, self.granted = INFINITY, ORIGIN, ORIGIN, ORIGIN
        self.next_event, self.cause = ORIGIN, INFINITY  # the conditional promise, and due of the first message handled since
        self.handled = 0
        self.given: Deque[Message] = deque()
        self.names: Dict[int, str] = {}
        self.names_size = 0
        self.result = b""
        self.memory: Optional[Memory] = None  # it ends with its connection
        self.returns = True  # it can come back to a server that was resumed
        self.said = ORIGIN  # how far it has reported to a server that was lost, at least
        self.heads: Dict[str, bytes] = {}  # how the sends on a channel begin
        self.out: List[bytes] = []  # packets that wait to be written
        self.out_size = 0

    # Ending.

    def check(self) -> None:
        if self.over is not None:
            raise self.over

    def end(self, error: Error) -> None:
        if self.over is None:
            self.over = error

    # Hearing.

    def hear(self, packets: List[Packet]) -> None:
        """Takes in what the server has sent, until the session is over."""
        for kind, body in packets:
            if self.over is not None:
                return
            if body.__class__ is Message:
                if self.memory is None or not self.memory.coming:
                    self.given.append(body)  # type: ignore[arg-type]
                else:
                    self._message(body)  # type: ignore[arg-type]
            elif body.__class__ is Instant:
                if body > self.granted:  # type: ignore[operator]
                    self.granted = body  # type: ignore[assignment]
            else:
                self._take(kind, body)  # type: ignore[arg-type]

    def _take(self, kind: int, body: memoryview) -> None:
        try:
            handle = _TAKE.get(kind)
            if handle is None:
                raise Malformed("a message that a server does not send")
            handle(self, body)
        except Malformed as e:
            self.end(ProtocolError(f'client "{self.name}": the server sent {e}; use a server and a client of the same version'))

    def _welcome(self, body: memoryview) -> None:
        scenario, seed, patience, told = "", 0, 0, False
        for field, value in wire.fields(body):
            if field == 1:
                scenario = as_text(value)
            elif field == 2:
                seed = as_number(value)
            elif field == 3:
                self.timed = as_number(value, 2**32 - 1)
            elif field == 4:
                self._about(as_bytes(value))
            elif field == 5:
                patience = as_number(value, FOREVER)
            elif field == 6:
                self._known(as_bytes(value))
                told = True
            else:
                raise Malformed("a Welcome with an unknown field")
        if self.memory is not None and self.memory.coming:
            self._compare(self.memory, told, (scenario, seed))
            return
        self.scenario, self.seed = scenario, seed
        if patience and self.returns:
            self.memory = Memory(patience)

    def _known(self, body: memoryview) -> None:
        m = self.memory or Memory(0)  # nobody asked; it is read all the same
        m.known_sent = m.known_delivered = 0
        m.known_now = m.known_floor = ORIGIN
        for field, value in wire.fields(body):
            if field == 1:
                m.known_sent = as_number(value)
            elif field == 2:
                m.known_delivered = as_number(value)
            elif field == 3:
                m.known_now = read_instant(value, m.known_now)
            elif field == 4:
                m.known_floor = read_instant(value, m.known_floor)
            else:
                raise Malformed("a Welcome with an unknown field")

    def _compare(self, m: Memory, told: bool, run: Tuple[str, int]) -> None:
        """Takes what a resumed server has of the client, which ends if it cannot catch up from there."""
        m.next, m.skip = m.known_sent, self.handled - min(self.handled, m.known_delivered)
        wrong = ""
        if not told:
            wrong = ": the server that it came back to does not know that a client can: resume the run with the metasim that began it"
        elif run != (self.scenario, self.seed):
            wrong = (f' came back to another run: that of scenario "{run[0]}" with seed {run[1]}, and not of "{self.scenario}" with seed {self.seed}; '
                     "resume the run that it takes part in")
        elif m.known_sent > m.sent:
            wrong = f": the resumed server has {m.known_sent} messages of it, and it has sent {m.sent}: another process took part under its name; start it again"
        elif m.known_sent < m.sent - len(m.sends):
            wrong = (f" is ahead of the resumed server by {m.sent - m.known_sent} messages that it has sent, and remembers the last {len(m.sends)}; "
                     "start it again, or run with --durable")
        elif m.skip > len(m.handled):
            wrong = (f" is ahead of the resumed server by {m.skip} messages that it was given, and remembers the last {len(m.handled)}; "
                     "start it again, or run with --durable")
        if wrong:
            self.end(MistakeError(f'client "{self.name}"{wrong}'))

    def _about(self, body: memoryview) -> None:
        for field, value in wire.fields(body):
            if field == 1:
                self.entry = as_text(value)
            elif field == 2:
                self.place = as_number(value, 2**32 - 1), self.place[1]
            elif field == 3:
                self.place = self.place[0], as_number(value, 2**32 - 1)
            elif field == 4:
                self.parameters = as_text(value, wire.MAX_CONTROL)
            elif field == 5:
                self.directory = as_text(value, wire.MAX_CONTROL)
            else:
                raise Malformed("a Welcome with an unknown field")
        owns = [own for own in (self.entry, f"{self.entry}-{self.place[0]}") if self.entry and self.name.endswith("/" + own)]
        self.own = owns[0] if owns else self.name

    def is_called(self, name: str) -> bool:
        """Whether others may call the client so: by its own name, or from a scenario around its own by a longer one."""
        return name == self.own or len(name) > len(self.own) and ("/" + self.name).endswith("/" + name)

    def _start(self, body: memoryview) -> None:
        self.until, self.started = self._only_instant(body), True

    def _authorize(self, body: memoryview) -> None:
        until = wire.authorized(body)
        if until > self.granted:
            self.granted = until

    def _only_instant(self, body: memoryview) -> Instant:
        i = ORIGIN
        for field, value in wire.fields(body):
            if field != 1:
                raise Malformed("a message with an unknown field")
            i = read_instant(value, i)
        return i

    def _goodbye(self, body: memoryview) -> None:
        self.end(LeftError(f'client "{self.name}" has left the run; leave last'))

    def _refuse(self, body: memoryview) -> None:
        said = ""
        for field, value in wire.fields(body):
            if field == 2:
                said = as_text(value, wire.MAX_TEXT)
        self.end(RefusedError(said))

    def _introduce(self, body: memoryview) -> None:
        client, name = 0, ""
        for field, value in wire.fields(body):
            if field == 1:
                client = as_number(value, 2**32 - 1)
            elif field == 2:
                name = as_text(value)
            else:
                raise Malformed("an Introduce with an unknown field")
        self.names_size += len(name.encode()) + 64
        if client in self.names or self.names_size > wire.MAX_NAMES:
            raise Malformed("the name of a client twice, or too many names")
        self.names[client] = name

    def _delivered(self, body: memoryview) -> None:
        client, channel, seq, sent, due, payload = wire.delivered(body)
        name = self.names.get(client)
        if name is None:
            raise Malformed(f"a message from client {client}, which it has not introduced")
        self._message(Message(name, channel, seq, sent, due, payload))

    def _message(self, message: Message) -> None:
        if self.memory is not None and self.memory.coming and self.memory.skip > 0:
            self._again(self.memory, message)
        else:
            self.given.append(message)

    def _again(self, m: Memory, d: Message) -> None:
        """Takes a delivery that the client has handled before."""
        before = m.handled[-m.skip]
        m.skip -= 1
        if before != hash(d):
            self.end(MistakeError(
                f'client "{self.name}": delivery {self.handled - m.skip}, of "{d.sender}" on "{d.channel}" at {words(d.due)}, is not what it was given before '
                f'its server was lost: "{d.sender}" did not repeat what it did; make it deterministic, or run with --durable'))

    # Coming back to a server that was resumed: see Memory.

    def come_back(self, m: Memory) -> None:
        """Forgets what belongs to the connection that was lost. The caller says Hello again, with back."""
        m.coming, m.asked, m.clock = True, None, ORIGIN
        self.out, self.out_size = [], 0
        self.names, self.names_size = {}, 0
        self.given.clear()
        self.started, self.granted = False, ORIGIN

    def back(self) -> bytes:
        """What a Hello says of coming back."""
        m = self.memory
        return (number(10, 1) if self.returns else b"") + (data(11, number(1, m.sent) + number(2, self.handled)) if m is not None and m.coming else b"")

    def caught_up(self, m: Memory) -> bool:
        """Puts what the client may tell its new server by now. Returns True when the client is where it was."""
        if not self.started:
            return False
        first = m.sent - len(m.sends)
        while m.next < m.sent:
            channel, sent, payload, authorized = m.sends[m.next - first]
            if authorized and sent >= self.granted:
                self._ask(m, sent)
                return False
            self._put(wire.send(self._head(channel), sent, payload))
            m.next, m.clock = m.next + 1, sent
        last = max(self.now, m.due)
        if last != ORIGIN and (m.skip > 0 or last >= self.granted):
            self._ask(m, last)
            return False
        self.said = max(self.said, m.known_now)
        return True

    def _ask(self, m: Memory, want: Instant) -> None:
        """Waits for an instant, before which the client sends nothing more."""
        if m.asked == want:
            return
        m.asked = want
        floor = max(m.known_floor, want)
        self._put(wire.poll(max(m.known_now, m.clock), floor, floor, self.handled - m.skip, want, False, 0, 0))

    # Advancing. The caller says Goal, and then GoOn or Wait; Arrive when the client is authorized or at the end.

    def goal(self, time: int, messages: bool) -> Instant:
        """The instant that a step to a time, or the next message until then, leads to; a step is a promise too."""
        if self.over is not None:
            raise self.over
        now = self.now
        if time < now[0]:
            raise TimeRegressError(f'client "{self.name}" cannot go back to {time} ns: it is at {words(now)}; advance to a later time')
        want = INFINITY if time >= FOREVER else Instant(time, 0)
        if want < now:
            want = now
        if not messages and want > self.promised:
            self.promised = want
        return want

    def reach(self, want: Instant, messages: bool) -> Instant:
        if messages and self.given and self.given[0].due < want:
            return self.given[0].due
        return want

    def authorized(self, want: Instant, messages: bool) -> bool:
        if messages and self.given and self.given[0].due < want:
            want = self.given[0].due
        return want < self.granted

    def answered(self, want: Instant, messages: bool) -> Optional[bool]:
        """True when the client can go on, or the run ends; else None, as arrive."""
        return True if self.authorized(want, messages) or self.granted == self.until else None

    def go_on(self, now: Instant, want: Instant, computed: int = 0) -> None:
        """Says that the client goes on, after computing for so many nanoseconds."""
        now, floor = self._clocks(now, want)
        self._put(wire.advance(now, floor, self.next_event, self.handled, computed))

    def wait(self, want: Instant, messages: bool, computed: int = 0, cpu: int = 0) -> None:
        """Says that the client waits."""
        if self.memory is not None:
            self.memory.waited = True
        now, floor = self._clocks(self.now, want)
        p = wire.poll(now, floor, self.next_event, self.handled, want, messages, computed, cpu)
        self.out.append(p)
        self.out_size += len(p)

    def arrive(self, want: Instant, messages: bool) -> Optional[List[Message]]:
        """Takes the client to where it wants to be, or to its next message before: None while it is not authorized."""
        given, granted, to = self.given, self.granted, want
        if messages and given and given[0].due < want:
            to = given[0].due
        if to < granted:
            self.now = to
            seen = []
            while given and given[0].due <= to:
                seen.append(self.pop())
            return seen
        if granted != self.until:
            return None
        due = []
        while not messages and given and given[0].due <= granted:
            due.append(self.pop())
        raise EndError(f'client "{self.name}": the run ends at {words(self.until)}, before {words(want)}; leave now', due)

    def pop(self) -> Message:
        """Takes the next message: it counts as handled."""
        m = self.given.popleft()
        self.handled += 1
        if self.memory is not None:
            self.memory.took(m)
        due = m.due
        if due < self.cause:
            self.cause = due
        return m

    def _clocks(self, now: Instant, next_event: Instant) -> Tuple[Instant, Instant]:
        """What a report says of the client's clock, and of what it promises. From then on it promises to send nothing before next_event, but for answers."""
        if now < self.said:
            now = self.said
        floor = self.promised
        if floor <= now:
            floor = now
        self.next_event = INFINITY if next_event is INFINITY else max(self.may_send_from(), floor, next_event)
        self.cause = INFINITY
        return now, floor

    # Speaking.

    def may_send_from(self) -> Instant:
        answer = self.cause
        if self.reaction and answer != INFINITY:
            answer = at(answer[0] + self.reaction)
        return max(self.promised, min(self.next_event, answer))

    def publish(self, channel: str, payload: bytes) -> None:
        if self.over is not None:
            raise self.over
        now = self.now
        if now < self.promised or now < self.next_event and (now < self.cause or self.reaction):
            self._may_send(channel)
        if len(payload) > wire.MAX_PAYLOAD:
            raise ProtocolError(f'client "{self.name}" publishes {len(payload)} bytes on "{channel}" at {words(now)}: a payload has at most '
                                f"{wire.MAX_PAYLOAD}; split it")
        if now[1] == 2**32 - 1:
            raise ProtocolError(f'client "{self.name}" publishes on "{channel}" at {words(now)}, the last step of its time; publish at a later time')
        head = self.heads.get(channel)
        p = wire.send(self._head(channel) if head is None else head, now, payload)
        self.out.append(p)
        self.out_size += len(p)
        if self.memory is not None:
            self.memory.published(channel, now, payload)

    def _may_send(self, channel: str) -> None:
        if self.now < self.may_send_from():
            raise SendBeforePromiseError(f'client "{self.name}" publishes on "{channel}" at {words(self.now)}, and promised to send nothing before '
                                         f"{words(self.may_send_from())}; publish later, or promise less")

    def _head(self, channel: str) -> bytes:
        head = self.heads[channel] = text(1, channel)
        return head

    def promise(self, time: int) -> None:
        self.check()
        to = at(time)
        if time == self.now[0]:
            to = max(to, self.now)
        bound = max(self.promised, self.now)
        if to < bound:
            raise PromiseRegressError(f'client "{self.name}" promises to send nothing before {words(to)}, and is at {words(bound)} or promised that '
                                      "already; promise a later time")
        self.promised = to
        self.put(wire.PROMISE, instant(1, to))

    def leave(self) -> None:
        self.check()
        self.put(wire.LEAVE, instant(1, max(self.now, self.said)) + number(2, self.handled) + (data(3, self.result) if self.result else b""))

    def fail(self, reason: str) -> None:
        if self.started:
            self.go_on(self.now, self.now)
        self.put(wire.FAILED, data(1, reason.encode()[:wire.MAX_TEXT].decode(errors="ignore").encode()))

    def put(self, kind: int, body: bytes) -> None:
        self._put(packet(kind, body))

    def _put(self, packet: bytes) -> None:
        self.out.append(packet)
        self.out_size += len(packet)

    def frames(self) -> bytes:
        """Takes what waits to be written, in frames."""
        packets, size = self.out, self.out_size
        self.out, self.out_size = [], 0
        if len(packets) <= MAX_PACKETS and size <= MAX_FRAME:
            return b"".join((size.to_bytes(4, "little"), *packets)) if packets else b""
        parts: List[bytes] = []
        frame: List[bytes] = []
        size = 0
        for p in packets:
            if size + len(p) > MAX_FRAME or len(frame) == MAX_PACKETS:
                parts += [size.to_bytes(4, "little"), *frame]
                frame, size = [], 0
            frame.append(p)
            size += len(p)
        return b"".join(parts + [size.to_bytes(4, "little"), *frame])


_TAKE: Dict[int, Callable[[Session, memoryview], None]] = {
    wire.WELCOME: Session._welcome, wire.START: Session._start, wire.GOODBYE: Session._goodbye, wire.REFUSE: Session._refuse,
    wire.DELIVERED: Session._delivered, wire.AUTHORIZE: Session._authorize, wire.INTRODUCE: Session._introduce,
}
