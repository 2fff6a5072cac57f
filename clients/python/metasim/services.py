"""Requests and answers in simulated time.

The service PLAN is asked on the channel call:PLAN, and answers on reply:PLAN, which all callers hear; each takes what is for it.

    call:PLAN    number of the request (u64, little-endian), then the request
    reply:PLAN   number of the request (u64), 0 for an answer or 1 for a refusal (u8), length of the caller's name (u16), the name, then
                 the answer, or the text of the refusal
"""

from __future__ import annotations

import re
import struct
from typing import Callable, Dict, NoReturn, Optional, Protocol, Tuple, Union

from .errors import CallRefusedError, Error, LimitError, MistakeError, ProtocolError
from .session import Session, encoded, words
from .wire import FOREVER, Buffer, Instant, Message, at

ANSWERED, REFUSED = 0, 1
NUMBER, REPLY = struct.Struct("<Q"), struct.Struct("<QBH")

MANY = 64
"""How many requests are open before those are looked for whose time is over."""


class Timer(Protocol):
    """What a service needs of a timer."""

    def stop(self) -> None: ...


class Client(Protocol):
    """What a service needs of the client that asks or answers it: metasim.Client has it."""

    _name: str
    _running: bool
    _session: Session

    @property
    def now(self) -> Instant: ...

    def _given(self) -> Instant: ...
    def _time(self, what: str, given: int) -> int: ...
    def _publish(self, channel: str, payload: Union[Buffer, str]) -> None: ...
    def _await(self, limit: int, done: Callable[[], bool]) -> None: ...
    def _refuse_waiting(self, why: str) -> NoReturn: ...
    def _set(self, when: Instant, period: int, call: Callable[[], object]) -> Timer: ...


def channels(service: str) -> Tuple[str, str]:
    """The channels on which a service is asked and answers."""
    if not service or re.search(r"[\\.+*?()|\[\]{}^$]", service):
        raise MistakeError(f'a service cannot be called "{service}"; use a name without the characters of regular expressions, \\.+*?()|[]{{}}^$')
    return "call:" + service, "reply:" + service


def malformed(m: Message, what: str) -> ProtocolError:
    return ProtocolError(f'the message of "{m.sender}" on "{m.channel}" at {words(m.due)} ({len(m.payload)} bytes) is no {what}; channels that begin with '
                         "call: or reply: are those of services")




class Request:
    """A request that the client is to answer: once, now or later."""

    def __init__(self, client: Client, service: str, number: int, message: Message) -> None:
        self._client, self._service, self._number, self._done = client, service, number, False
        self.message = message  # with sender, sent and due
        self.payload = message.payload[NUMBER.size:]

    def reply(self, payload: Union[Buffer, str]) -> None:
        """Answers the request, at the client's present instant."""
        self._say(ANSWERED, encoded(self._client._name, "reply:" + self._service, payload))

    def refuse(self, text: str) -> None:
        """Refuses the request: its caller gets a CallRefusedError with this text."""
        self._say(REFUSED, text.encode())

    def _say(self, kind: int, body: bytes) -> None:
        name = self.message.sender
        if self._done:
            raise MistakeError(f'the request {self._number} of client "{name}" to service "{self._service}" was answered already; answer each once')
        to = name.encode()
        self._client._publish("reply:" + self._service, REPLY.pack(self._number, kind, len(to)) + to + body)
        self._done = True


class Pending:
    """A request that was sent."""

    def __init__(self, caller: Caller, number: int, limit: int) -> None:
        self._caller, self._number = caller, number
        self._asked: Instant = caller._client.now
        self._deadline = at(min(self._asked[0] + limit, FOREVER))
        self._answered = False
        self._answer = memoryview(b"")
        self._error: Optional[Error] = None
        self._then: Optional[Callable[[], object]] = None

    @property
    def done(self) -> bool:
        """Whether the answer is there, or refused, or its time is over."""
        if not self._answered and self._over():
            self._expire()
        return self._answered

    def result(self) -> memoryview:
        """Returns the answer. A refusal is a CallRefusedError, a limit that is over a LimitError; a request that is not done a MistakeError."""
        if not self.done:
            raise MistakeError(f'service "{self._caller.service}" has not answered yet; ask for the result when the request is done, or call wait')
        if self._error is not None:
            raise self._error
        return self._answer

    def wait(self) -> memoryview:
        """Advances to the instant at which the answer arrives, or to the end of the time limit, and returns the answer."""
        client = self._caller._client
        if client._running:
            client._refuse_waiting(f'cannot wait for service "{self._caller.service}" in a handler of run; use go, which calls a function')
        if not self.done:
            client._await(self._deadline[0], lambda: self._answered)
        return self.result()

    def _over(self) -> bool:
        return self._deadline < self._caller._client._given()

    def _expire(self) -> None:
        c = self._caller
        self._end(memoryview(b""), LimitError(f'service "{c.service}" has not answered the request of {words(self._asked)} until {words(self._deadline)}; '
                                              "see that a client answers it, or allow more simulated time"))

    def _end(self, answer: memoryview, error: Optional[Error]) -> None:
        self._caller._open.pop(self._number, None)
        self._answered, self._answer, self._error = True, answer, error


class Caller:
    """Asks a service. A client has one Caller for a service."""

    def __init__(self, client: Client, service: str) -> None:
        self._client, self.service = client, service
        self._next, self._sweep = 0, MANY
        self._open: Dict[int, Pending] = {}

    def start(self, request: Union[Buffer, str], limit: int = FOREVER) -> Pending:
        """Sends a request at the client's present instant. limit is simulated time, in nanoseconds from now on; an answer that arrives at its end
        counts. Several requests may be on their way, and their answers may come in another order."""
        limit = self._client._time(f'the time limit of a request to service "{self.service}"', limit)
        if limit <= 0:
            raise MistakeError(f'a request to service "{self.service}" with the time limit {limit} ns; use a positive duration, or leave it out')
        number = self._next
        self._client._publish("call:" + self.service, NUMBER.pack(number) + encoded(self._client._name, "call:" + self.service, request))
        self._next += 1
        if len(self._open) >= self._sweep:  # those that nobody asks for any more
            self._open = {n: p for n, p in self._open.items() if not p._over()}
            self._sweep = 2 * len(self._open) + MANY
        pending = self._open[number] = Pending(self, number, limit)
        return pending

    def call(self, request: Union[Buffer, str], limit: int = FOREVER) -> memoryview:
        """Sends a request and waits for its answer, in a loop: the client advances to the instant at which it arrives, or to the end of the limit.
        What else arrives meanwhile is not lost: the next step, next or run gives it. Where the run ends before, EndError is raised."""
        return self.start(request, limit).wait()

    def go(self, request: Union[Buffer, str], then: Callable[[Optional[memoryview], Optional[Error]], object], limit: int = FOREVER) -> None:
        """Sends a request, in a handler or timer of run: then(answer, error) is called at the instant of the answer, or at the end of the limit."""
        if not self._client._running:
            raise MistakeError(f'service "{self.service}": go is called by handlers and timers of run; in a loop use start or call')
        p = self.start(request, limit)
        timer: Optional[Timer] = None

        def end() -> None:
            if timer is not None:
                timer.stop()
            then(None if p._error else p._answer, p._error)

        def expire() -> None:
            p._expire()
            end()

        if p._deadline[0] < FOREVER:
            timer = self._client._set(p._deadline, 0, expire)
        p._then = end

    def _take(self, m: Message) -> None:
        if len(m.payload) < REPLY.size:
            raise malformed(m, "answer of a service")
        number, kind, size = REPLY.unpack_from(m.payload)
        body = m.payload[REPLY.size:]
        if kind > REFUSED or size > len(body):
            raise malformed(m, "answer of a service")
        p = self._open.get(number)
        if p is None or not self._client._session.is_called(bytes(body[:size]).decode(errors="replace")) or p._deadline < m.due:
            return  # for another client, the second one, or too late
        if kind == REFUSED:
            text = bytes(body[size:]).decode(errors="replace")
            p._end(memoryview(b""), CallRefusedError(f'service "{self.service}": client "{m.sender}" refused: {text}'))
        else:
            p._end(body[size:], None)
        if p._then is not None:
            p._then()


def answers(client: Client, service: str, handle: Callable[[Request], object]) -> Callable[[Message], None]:
    """Returns what takes the requests to a service."""

    def take(m: Message) -> None:
        if len(m.payload) < NUMBER.size:
            raise malformed(m, "request to a service")
        handle(Request(client, service, NUMBER.unpack_from(m.payload)[0], m))

    return take
