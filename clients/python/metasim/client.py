"""A client of a run: its connection, its loop, and its timers."""

from __future__ import annotations

import heapq
import json
import logging
import operator
import os
import re
import time as real_time
from types import TracebackType
from typing import Any, Callable, Dict, Iterator, List, NoReturn, Optional, Tuple, Type, Union

from . import services, wire
from .connection import Connection
from .errors import CompleteError, EndError, Error, LeftError, LostError, MistakeError, ProtocolError, TimedOutError, TimeRegressError
from .memory import Memory
from .session import Session, encoded, words
from .streams import Stream
from .wire import FOREVER, INFINITY, Buffer, Instant, Malformed, Message, at, number

FULL = 1 << 20  # bytes that may be published before they are written

LOOKS = 16
"""A client that has looked so often in vain whether the server has authorized more looks once in so many times: a look is a system call."""

WRITES_UNREAD = 64
"""After so many writes without a read the client looks whether something has come: a server drops who writes and does not read."""

LONG_STRETCH = 50_000
"""Nanoseconds: after so long a stretch of computing the client looks at its processor time, which is a system call."""

FIRST_PAUSE, LAST_PAUSE = 0.01, 0.5  # seconds, before a client looks for its server again: the longer it has looked, the longer

Handler = Callable[[Message], object]


class _Broken(Exception):
    """The connection has ended while the client comes back."""


class Timer:
    """A call at an instant that is to come, in Client.run."""

    def __init__(self, when: Instant, period: int, call: Callable[[], object]) -> None:
        self._when, self._period, self._call, self._stopped = when, period, call, False

    def stop(self) -> None:
        """Makes the timer fire no more. Its own handler may call it."""
        self._stopped = True


class Publication:
    """A channel that a client sends on."""

    def __init__(self, client: Client, channel: str) -> None:
        self._client, self.channel = client, channel

    def publish(self, payload: Union[Buffer, str]) -> None:
        """Sends a payload at the client's present instant: bytes, what is like bytes, or text as UTF-8. It is written with the next advance."""
        self._client._publish(self.channel, payload)


class Client:
    """One simulator's part in a run. One thread uses it at a time.

    What is not given comes from the environment, which metasim sets for the programs that it starts: METASIM_SERVER (unix:///path,
    tcp://host:port or, on Linux, shm:///path), METASIM_CLIENT and METASIM_TOKEN.

    A client outlives its server where the run can be resumed, and metasim has not started the client itself: a call that loses the connection waits until
    metasim resume has brought the server back at the same address, catches up there, and goes on as if nothing had been; for start_timeout of the scenario at
    most, 30 seconds by default, then it raises LostError. It says so with logging, to the logger "metasim". For that it keeps its last messages: 65,536 at
    most, of 64 MiB at most.
    """

    def __init__(self, name: Optional[str] = None, server: Optional[str] = None, token: Optional[str] = None) -> None:
        environment = os.environ
        self._name = environment.get("METASIM_CLIENT", "") if name is None else name
        self._server = environment.get("METASIM_SERVER", "") if server is None else server
        self._token = environment.get("METASIM_TOKEN", "") if token is None else token
        self._alone = self._name == environment.get("METASIM_CLIENT")  # the processor time of the process is the client's
        self._publications: List[str] = []
        self._subscriptions: List[Tuple[str, Optional[Handler]]] = []
        self._inputs: Dict[str, Callable[[Message], None]] = {}  # what takes requests and answers, by channel
        self._unread: List[Message] = []  # that came while a call waited
        self._giving: Optional[Instant] = None  # when the message arrived that an input takes now
        self._mistake: Optional[Error] = None
        self._joined = False
        self._session = Session(self._name)
        self._connection: Optional[Connection] = None
        self._timers: List[Tuple[Instant, int, Timer]] = []
        self._timers_set = 0
        self._running = False
        self._on_leave: Optional[Callable[[], Any]] = None
        self._refused: Optional[Error] = None  # the first publish or timer that was refused in run
        self._handlers: dict[str, List[Handler]] = {}  # by channel, as they were found
        self._streams: dict[str, Stream] = {}
        self._writes = 0
        self._fruitless = 0  # looks in vain since the last one that was not, and those left out
        self._lives = 0  # how many servers it has lost
        self._went_on = self._cpu = 0
        self._deadline: Optional[float] = None  # of this call, by the clock of the machine
        self._waits: Optional[int] = None  # the limit of a wait that a timeout has left
        self._asked = 0  # in which of its lives
        self._waiting = False  # a call reads what the server says: then no other thread may use the client

    # Declaring.

    def _declare(self, error: Optional[Error]) -> None:
        if self._joined:
            raise CompleteError(f'client "{self._name}": what a client declares is fixed once it has joined; declare it before join')
        if error is not None:
            self._mistake = self._mistake or error
            raise error

    def publication(self, channel: str) -> Publication:
        """Declares a channel that the client sends on. Declaring it twice is no mistake."""
        self._text("a publication", channel)
        if channel not in self._publications:
            self._declare(None if channel else MistakeError(f'client "{self._name}": a publication needs the name of a channel'))
            self._publications.append(channel)
        return Publication(self, channel)

    def subscribe(self, pattern: str, handler: Optional[Handler] = None) -> None:
        """Declares what the client hears: the name of a channel, or a regular expression that matches whole names. run calls the handler."""
        self._text("a subscription", pattern)
        wrong = None
        try:
            re.compile(pattern)
        except re.error as e:
            wrong = str(e)
        if not pattern:
            wrong = "it is empty; write the name of a channel, or .* for all"
        self._declare(None if wrong is None else MistakeError(
            f'client "{self._name}": subscription "{pattern}" is neither the name of a channel nor a regular expression: {wrong}'))
        self._subscriptions.append((pattern, handler))

    def answer(self, service: str, handle: Callable[[services.Request], object]) -> None:
        """Declares that the client answers a service: handle is called for each request, by step, next or run, at the instant at which the client is
        given it. It calls reply or refuse of the request, at once or at a later instant. What it raises, step or next raises, or ends run."""
        call, reply = self._service(service)
        if call in self._inputs:
            self._declare(MistakeError(f'the client answers service "{service}" already; answer it once'))
        self.publication(reply)
        self._inputs[call] = services.answers(self, service, handle)

    def caller(self, service: str) -> services.Caller:
        """Declares that the client asks a service. An answer has its limit in simulated time."""
        call, reply = self._service(service)
        if reply in self._inputs:
            self._declare(MistakeError(f'the client has a caller of service "{service}" already; use that one'))
        self.publication(call)
        caller = services.Caller(self, service)
        self._inputs[reply] = caller._take
        return caller

    def _text(self, what: str, given: str) -> None:
        if not isinstance(given, str):
            self._declare(MistakeError(f'client "{self._name}": {what} is the text of a name, and {given!r} is none; write it in quotes'))

    def _time(self, what: str, given: int) -> int:
        """A time of the caller: a whole number, also one of numpy."""
        try:
            return operator.index(given)
        except TypeError:
            raise MistakeError(f'client "{self._name}": {what} is a whole number of nanoseconds, and {given!r} is none; for half a second write '
                               "500_000_000, and int(...) around what is computed") from None

    def _service(self, name: str) -> Tuple[str, str]:
        self._text("a service", name)
        try:
            channels = services.channels(name)
        except Error as e:
            self._declare(e)
            raise
        self._declare(None)
        return channels

    def reaction(self, nanoseconds: int) -> None:
        """Declares the least time from a delivery to a send that it causes. 0 is the default."""
        nanoseconds = self._time("the reaction time", nanoseconds)
        self._declare(None if nanoseconds >= 0 else MistakeError(f'client "{self._name}": the reaction time is {nanoseconds} ns; use a positive duration, or 0'))
        self._session.reaction = nanoseconds

    def _hello(self) -> bytes:
        if self._mistake is not None:
            raise self._mistake
        if not self._name:
            raise MistakeError("the client has no name; give Client one, or set METASIM_CLIENT")
        patterns = [p for p, _ in self._subscriptions] + list(self._inputs)
        for what, texts in (("a client", [self._name]), ("a token", [self._token]), ("a publication", self._publications), ("a subscription", patterns)):
            sizes = [len(t.encode()) for t in texts]
            if max(sizes, default=0) > wire.MAX_NAME:
                raise ProtocolError(f'client "{self._name[:40]}": {what} of {max(sizes)} bytes: it has at most {wire.MAX_NAME}; use a shorter one')
            if sum(sizes) + 8 * len(sizes) > wire.MAX_LIST:
                raise ProtocolError(f'client "{self._name}": {len(texts)} names, each {what}, take more than 1 MiB; use fewer or shorter ones')
        return (number(1, wire.VERSION) + wire.text(2, self._name) + wire.text(3, self._token) + b"".join(wire.text(4, c) for c in self._publications)
                + b"".join(wire.text(5, p) for p in patterns) + number(6, self._session.reaction) + number(7, wire.MINOR) + self._session.back())

    def join(self) -> Client:
        """Connects, joins, and returns when all clients of the run have joined. The client is at time 0 then, and may publish there."""
        self._session.check()
        self._declare(None)
        hello = self._hello()
        self._joined = True
        self._session.name = self._name
        try:
            self._connection = self._connection or Connection(self._server, self._name, self._session.names)
        except Error as e:
            self._session.end(e)
            raise
        self._session.put(wire.HELLO, hello)
        self._flush()
        while not self._session.started:
            self._hear(wait=True)
        if self._session.timed:
            self._went_on, self._cpu = real_time.monotonic_ns(), real_time.process_time_ns()
        return self

    # What the client knows.

    @property
    def name(self) -> str:
        """The name of the client in its scenario: of one that joined as "cell/arm", in a scenario inside of another one, it is "arm" once it has joined."""
        return self._session.own or self._name

    @property
    def scenario(self) -> str:
        """The name of the scenario, once the client has joined."""
        return self._session.scenario

    @property
    def entry(self) -> str:
        """The name of the scenario's entry: "robot" of a client "robot-2". An old server does not tell it, nor what follows."""
        return self._session.entry

    @property
    def index(self) -> int:
        """Which of the clients of its entry the client is, from 0."""
        return self._session.place[0]

    @property
    def count(self) -> int:
        """How many clients the entry has."""
        return self._session.place[1]

    @property
    def parameters(self) -> dict[str, Any]:
        """What the scenario says in the entry's with."""
        parameters: dict[str, Any] = json.loads(self._session.parameters) if self._session.parameters else {}
        return parameters

    @property
    def directory(self) -> str:
        """The run directory, on the server's host, where the client may put files of its own. Empty where there is none: then write none."""
        return self._session.directory

    @property
    def seed(self) -> int:
        """The seed of the run. rand has generators that are keyed by it."""
        return self._session.seed

    def rand(self, stream: str) -> Stream:
        """Returns the random stream of this name: a generator that only this client has, keyed by the seed of the run, the name of the client
        and that of the stream. The first call begins it; later calls return the same one, which goes on."""
        if not self._session.started:
            self._not_joined()
        if stream not in self._streams:
            self._streams[stream] = Stream(self.seed, self._name, stream)
        return self._streams[stream]

    @property
    def now(self) -> Instant:
        """The instant of what the client did last: what it publishes carries it."""
        return self._session.now

    @property
    def until(self) -> Instant:
        """The end of the run: nothing happens at it or later. Its time is FOREVER where the run has no end."""
        return self._session.until

    # Advancing.

    def step(self, time: int) -> List[Message]:
        """Advances to a time, and returns all messages due at or before it: nothing due then or earlier comes later. It is a promise to send
        nothing before. Where the run ends first it raises EndError, which has what was due before the end. (HLA: time advance request.)"""
        return self._advance(time, False)

    def next(self, limit: int = FOREVER, timeout: Optional[float] = None) -> List[Message]:
        """Advances to the next message, or to limit if that is earlier, and returns the messages due at that instant: none if it is the limit.
        Where the run ends first it raises EndError. (HLA: next message request.)

        With a timeout it raises TimedOutError when so many seconds of real time have passed. Nothing is lost: call next again with the same limit. Until it
        has returned the client still waits, so it publishes nothing, and steps to nothing else; it may leave."""
        if timeout is None:
            return self._advance(limit, True)
        self._deadline = real_time.monotonic() + timeout
        try:
            return self._advance(limit, True)
        finally:
            self._deadline = None

    def steps(self, period: int, start: Optional[int] = None) -> Iterator[Tuple[int, List[Message]]]:
        """A loop of steps: yields the present time, or start, and each period later, with the messages that have come until then. It ends where the
        run does, and where its body leaves. What is due after the last step and before the end of the run is not yielded: step returns it."""
        period = self._time("the period of steps", period)
        start = None if start is None else self._time("the first step", start)
        if period <= 0:
            raise MistakeError(f'client "{self._name}" steps by {period} ns; use a positive period')
        time = self._session.now[0] if start is None else start
        while True:
            now = self._session.now[0]
            if start is None and time < now:  # the body has stepped itself
                time += -(-(now - time) // period) * period
            try:
                messages = self.step(time)
            except (EndError, LeftError):
                return
            yield time, messages
            time += period

    def messages(self) -> Iterator[Message]:
        """Yields message after message until nothing can come any more, or the body has left; what is published meanwhile is sent at the instant of
        the message."""
        while True:
            try:
                yield from self._advance(FOREVER, True)
            except (EndError, LeftError):
                return

    def _advance(self, time: int, messages: bool) -> List[Message]:
        s = self._session
        if not s.started:
            self._not_joined()
        if time.__class__ is not int:
            time = self._time("the limit of next" if messages else "the time of a step", time)
        if self._waiting:
            self._alone_here()
        if self._running:
            self._refuse_waiting("cannot step in a handler of run; set a timer instead")
        if self._waits is not None and (not messages or time != self._waits):
            raise MistakeError(f'client "{self._name}" still waits for the next message until {self._waits} ns, since a timeout; call next again for this time')
        if messages and self._unread:
            unread, self._unread = self._unread, []
            return unread
        want = s.goal(time, messages)
        waited = self._waits is not None  # the server knows what the client is after
        free = s.authorized(want, messages) or self._look(want, messages)
        if free and not waited:
            s.go_on(s.now if messages else want, want, self._computed() if s.timed else 0)
            self._flush()
            free = s.authorized(want, messages)  # it may have come back meanwhile
        try:
            given: List[Message] = s.arrive(want, messages) if free and not waited else self._wait(want, messages, s.arrive)
        except EndError as e:
            self._waits = None
            e.messages = self._give(list(e.messages))
            raise
        return self._give(given) if self._inputs or self._unread else given

    def _give(self, messages: List[Message]) -> List[Message]:
        """Gives messages to the inputs, and returns those that step and next show, behind those that came while a call waited."""
        shown, self._unread = self._unread, []
        if not self._inputs:
            return shown + messages if shown else messages
        try:
            for m in messages:
                self._giving = m.due
                take = self._inputs.get(m.channel)
                if take is not None:
                    take(m)
                if take is None or any(p == m.channel or _matches(p, m.channel) for p, _ in self._subscriptions):
                    shown.append(m)
        finally:
            self._giving = None
        return shown

    def _given(self) -> Instant:
        """The instant before which the client was given all messages."""
        if self._giving is not None:
            return self._giving
        now = self._session.now
        return now if self._running else Instant(now[0], now[1] + 1)

    def _await(self, limit: int, done: Callable[[], bool]) -> None:
        """Advances from message to message until done, or to the limit. The next step, next or run gives what inputs have not taken."""
        while not done():
            unread, self._unread = self._unread, []
            try:
                unread += self._advance(limit, True)
            finally:
                self._unread = unread
            if self._session.now[0] >= limit:
                return

    def _wait(self, want: Instant, messages: bool, ready: Callable[[Instant, bool], Any]) -> Any:
        """Says that the client waits, and returns what ready says once that is not None."""
        s, asked = self._session, -1 if self._waits is None else self._asked
        while True:
            if asked == self._lives:
                done = ready(want, messages)
                if done is not None:
                    break
                if self._deadline is not None and real_time.monotonic() >= self._deadline:
                    self._waits, self._asked = want[0], asked
                    raise TimedOutError(f'client "{self._name}" has waited for as long as it wanted, at {words(s.now)}; call next again')
                self._read(wait=True)
            else:
                computed = self._computed() if s.timed and asked < 0 else 0
                asked = self._lives  # a server that was resumed is asked again
                s.wait(want, messages, computed, self._processor_time(computed) if computed >= LONG_STRETCH else 0)
                self._write()
            if s.over is not None:
                raise s.over
        self._waits = None
        if s.timed:
            self._went_on = real_time.monotonic_ns()
        return done

    def _computed(self) -> int:
        """For how many nanoseconds the client has computed since its last report: it is for reports on the run."""
        now = real_time.monotonic_ns()
        took, self._went_on = now - self._went_on, now
        return took

    def _processor_time(self, computed: int) -> int:
        if not self._alone:
            return 0
        before, self._cpu = self._cpu, real_time.process_time_ns()
        return self._cpu - before if self._cpu - before <= 64 * computed else 0  # else it is mostly of shorter stretches

    def _alone_here(self) -> None:
        if self._waiting:
            raise MistakeError(f'client "{self._name}": another thread waits with this client; use a client in one thread, and give the others what they need by a queue')

    def _not_joined(self) -> NoReturn:
        self._session.check()
        raise MistakeError(f'client "{self._name}" has not joined; call join first')

    # Speaking.

    def _publish(self, channel: str, payload: Union[Buffer, str]) -> None:
        s = self._session
        if not s.started:
            self._not_joined()
        if self._waiting:
            self._alone_here()
        try:
            s.publish(channel, payload if payload.__class__ is bytes else encoded(self._name, channel, payload))  # type: ignore[arg-type]
        except Error as e:
            self._refuse(e)
            raise
        if s.out_size >= FULL:
            self._flush()

    def promise(self, time: int) -> None:
        """Promises that the client sends nothing before a time, whatever it hears, so that other clients need not wait for it."""
        if not self._session.started:
            self._not_joined()
        self._alone_here()
        self._session.promise(self._time("a promise", time))
        self._flush()

    def set_result(self, value: Any) -> None:
        """Says what the outcome of the run shows for this client: a value that json can write. It is sent when the client leaves."""
        self._session.check()
        try:
            result = json.dumps(value, allow_nan=False).encode()
        except (TypeError, ValueError) as e:
            raise MistakeError(f'client "{self._name}": the result is no JSON: {e}') from e
        if len(result) > wire.MAX_RESULT:
            raise ProtocolError(f'client "{self._name}": a result of {len(result)} bytes; it has at most {wire.MAX_RESULT}: say less, or publish it')
        self._session.result = result

    def on_leave(self, result: Callable[[], Any]) -> None:
        """Has result called when the client leaves, by leave, by run at its end, or by the end of the with block: what it returns is the result, in the
        place of what set_result has set. If it raises, or returns what is no JSON, the client fails and the exception is raised again."""
        self._on_leave = result

    def _ask_result(self) -> None:
        ask, self._on_leave = self._on_leave, None
        if ask is None:
            return
        try:
            result = ask()
            if self._session.over is None:  # it may leave itself
                self.set_result(result)
        except BaseException as e:
            if self._session.over is None:
                self.fail(str(e) if isinstance(e, Error) else f"{type(e).__name__}: {e}")
            raise

    def leave(self) -> None:
        """Ends the client's part, and returns when the server has everything that it sent. Leaving twice is no error."""
        s = self._session
        if isinstance(s.over, LeftError):
            return
        if not s.started:
            self._not_joined()
        self._alone_here()
        self._ask_result()
        if isinstance(s.over, LeftError):
            return
        told = -1
        try:
            while True:
                if told == self._lives:
                    self._hear(wait=True)
                    continue
                told = self._lives  # a server that was resumed is told again
                s.leave()
                self._flush()
        except LeftError:
            self._close()

    def fail(self, reason: str) -> None:
        """Ends the client's part without leaving, and tells the server why. Later calls raise MistakeError."""
        s = self._session
        if s.over is None:
            s.memory = None  # it need not come back to say so
            if self._connection is not None:
                s.fail(reason)
                self._write()
            s.end(MistakeError(f'client "{self._name}" has failed: {reason}'))
        self._close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        if error is not None:
            self.fail(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)
        elif self._session.started:
            self.leave()

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    # Hearing and writing.

    def _write(self) -> None:
        """Writes what waits. What fails is noted: a server that ends the run says why, then closes."""
        assert self._connection is not None
        s, life = self._session, self._lives
        try:
            self._connection.write(s.frames())
        except (OSError, EOFError):
            while s.over is None and life == self._lives:
                self._read(wait=True)
        except Malformed as e:
            self._malformed(e)

    def _flush(self) -> None:
        self._write()
        if self._session.over is not None:
            raise self._session.over
        self._writes += 1
        if self._writes > WRITES_UNREAD:
            self._hear(wait=False)

    def _look(self, want: Instant, messages: bool) -> bool:
        """Looks whether the server has authorized more, before the client says that it waits."""
        looks = self._fruitless
        self._fruitless = looks + 1
        if looks >= LOOKS and looks % LOOKS:
            return False
        had = self._session.granted
        self._hear(wait=False)
        if self._session.granted > had:
            self._fruitless = 0
        return self._session.authorized(want, messages)

    def _hear(self, wait: bool) -> None:
        self._read(wait)
        if self._session.over is not None:
            raise self._session.over

    def _read(self, wait: bool) -> None:
        assert self._connection is not None
        c, s = self._connection, self._session
        self._writes = 0
        broken: Union[None, Malformed, LostError] = None
        if s.over is None:
            if self._waiting:
                self._alone_here()  # also of two threads that came at the same time only one waits
            self._waiting = True
            try:
                c.read(wait, self._deadline)
            except Malformed as e:
                broken = e
            except (OSError, EOFError) as e:
                broken = LostError(f'client "{self._name}": lost the server at {words(s.now)}: {getattr(e, "strerror", None) or e}')
            finally:
                self._waiting = False
        s.hear(c.packets)
        c.packets.clear()
        if broken is None:
            return
        if isinstance(broken, Malformed):
            self._malformed(broken)
        elif s.over is None:
            self._lost(broken)

    def _lost(self, error: LostError) -> None:
        """Takes the end of the connection: the client comes back, if it can."""
        m = self._session.memory
        if m is None:
            self._session.end(error)
        elif m.coming:
            raise _Broken
        else:
            try:
                self._come_back(m, error)
            except BaseException:
                self._session.end(error)
                raise
            finally:
                m.coming = False

    def _come_back(self, m: Memory, lost: LostError) -> None:
        """Waits for the server to be resumed, and catches up there. Afterwards the client is where it was, and says again what it waited for; or the
        session is over."""
        s, seconds, pause = self._session, m.patience / 1e9, FIRST_PAUSE
        logging.getLogger("metasim").warning("%s; it waits %.3f s for metasim resume, or for its relay", lost, seconds)
        end = real_time.monotonic() + seconds
        while s.over is None:
            left = end - real_time.monotonic()
            if left <= 0:
                s.end(LostError(f"{lost}; nobody was at its address again within {seconds:.3f} s: use metasim resume, or start its relay there again, as the client "
                                "knows no other address; raise start_timeout if that takes longer"))
                return
            real_time.sleep(min(pause, left))
            pause = min(2 * pause, LAST_PAUSE)
            self._lives += 1
            s.come_back(m)
            self._close()
            try:
                self._connection = Connection(self._server, self._name, self._session.names)
                s.put(wire.HELLO, self._hello())
                if self._catch_up(m):
                    return
            except (LostError, _Broken):
                continue  # it is not there yet
            if isinstance(s.over, MistakeError):  # the server is told why the client ends, and not how far it is by now
                s.started = False
                s.fail(str(s.over))
                self._write()

    def _catch_up(self, m: Memory) -> bool:
        """Returns True when the client is where it was, and False when the session is over."""
        s = self._session
        while s.over is None:
            there = s.caught_up(m)
            self._write()
            if there and s.over is None:
                return True
            self._read(wait=True)
        return False

    def _malformed(self, e: Malformed) -> None:
        self._session.end(ProtocolError(f'client "{self._name}": the server sent {e}; use a server and a client of the same version'))

    # Handlers and timers.

    def _refuse(self, error: Error) -> None:
        if self._running and self._refused is None:
            self._refused = error

    def _refuse_waiting(self, why: str) -> NoReturn:
        error = MistakeError(f'client "{self._name}" {why}')
        self._refuse(error)
        raise error

    def _set(self, when: Instant, period: int, call: Callable[[], object]) -> Timer:
        timer = Timer(when, period, call)
        self._push(timer)
        return timer

    def _push(self, timer: Timer) -> None:
        heapq.heappush(self._timers, (timer._when, self._timers_set, timer))
        self._timers_set += 1

    def _refuse_timer(self, error: Error) -> NoReturn:
        self._refused = self._refused or error
        raise error

    def _timer_time(self, time: int) -> int:
        try:
            return self._time("the time of a timer", time)
        except MistakeError as e:
            self._refuse_timer(e)

    def at(self, time: int, call: Callable[[], object]) -> Timer:
        """Calls at a time, in run; at the present time at the present instant. A time that has passed is a TimeRegressError, which ends run."""
        now = self._session.now
        time = self._timer_time(time)
        if time < now[0]:
            self._refuse_timer(TimeRegressError(f'client "{self._name}" sets a timer for {time} ns, and is at {words(now)}; use a later time'))
        return self._set(max(at(time), now) if time == now[0] else at(time), 0, call)

    def after(self, nanoseconds: int, call: Callable[[], object]) -> Timer:
        """Calls when so much time has passed, in run; for 0 at the present instant, after all that was set before."""
        now = self._session.now
        nanoseconds = self._timer_time(nanoseconds)
        if nanoseconds < 0:
            self._refuse_timer(MistakeError(f'client "{self._name}" sets a timer for after {nanoseconds} ns, at {words(now)}; use a positive duration, or 0'))
        return self._set(at(now[0] + nanoseconds) if nanoseconds else now, 0, call)

    def every(self, period: int, call: Callable[[], object]) -> Timer:
        """Calls each period, in run, for the first time after one period."""
        period = self._timer_time(period)
        if period <= 0:
            self._refuse_timer(MistakeError(f'client "{self._name}" sets a timer for every {period} ns; use a positive period'))
        return self._set(at(self._session.now[0] + period), period, call)

    def _next_timer(self) -> Instant:
        while self._timers and self._timers[0][2]._stopped:
            heapq.heappop(self._timers)
        return self._timers[0][0] if self._timers else INFINITY

    def _goes_on(self) -> bool:
        return self._session.over is None and self._refused is None

    def run(self) -> None:
        """Calls handlers for messages and timers at their instants, in order, until nothing can happen any more or the run ends, and then
        leaves. At one instant the messages come first, in their order, then the timers, in the order in which they were set. What a handler
        raises ends run, which raises it again; the run fails for that reason."""
        if not self._session.started or self._session.over is not None:
            self._not_joined()
        if self._running:
            self._refuse_waiting("runs already; return from the handler")
        self._running = True
        try:
            self._act()
            if self._refused is not None:
                raise self._refused
            self._session.check()  # a handler may have caught what ended the session
        except LeftError:
            pass
        except BaseException as e:
            if self._session.over is None:
                self.fail(str(e) if isinstance(e, Error) else f"{type(e).__name__}: {e}")
            raise
        finally:
            self._running = False

    def _act(self) -> None:
        s = self._session
        unread, self._unread = self._unread, []
        for m in unread:
            if not self._handle(m):
                return
        want = max(self._next_timer(), s.now)
        if self._goes_on() and s.authorized(want, True):
            s.go_on(s.now, want, self._computed() if s.timed else 0)  # a step has led here
        while self._goes_on():
            want = max(self._next_timer(), s.now)
            to = s.reach(want, True)
            if to < s.granted:
                s.now = to
                self._call()
                if not self._goes_on():
                    return
                want = max(self._next_timer(), s.now)
                if s.authorized(want, True) or self._look(want, True):
                    s.go_on(s.now, want, self._computed() if s.timed else 0)
                    self._flush()
            elif s.granted == s.until:
                self.leave()
            else:
                self._wait(want, True, s.answered)

    def _call(self) -> None:
        """Calls the handlers of the present instant."""
        s = self._session
        while self._goes_on() and s.given and s.given[0].due == s.now:
            m = s.pop()
            take = self._inputs.get(m.channel)
            if take is not None:
                take(m)
                if not self._goes_on():
                    return
            if not self._handle(m):
                return
        while self._goes_on() and self._next_timer() <= s.now:
            timer = heapq.heappop(self._timers)[2]
            timer._call()
            if timer._period and not timer._stopped:
                timer._when = at(timer._when[0] + timer._period)
                self._push(timer)

    def _handle(self, m: Message) -> bool:
        """Calls the handlers of a message. It reports whether the client goes on."""
        for handler in self._handlers_of(m.channel):
            handler(m)
            if not self._goes_on():
                return False
        return True

    def _handlers_of(self, channel: str) -> List[Handler]:
        known = self._handlers.get(channel)
        if known is None:
            known = [h for p, h in self._subscriptions if h is not None and (p == channel or _matches(p, channel))]
            self._handlers[channel] = known
        return known


def _matches(pattern: str, channel: str) -> bool:
    try:
        return re.fullmatch(pattern, channel) is not None
    except re.error:
        return False
