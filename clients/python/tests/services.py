"""services.py planner | asker | goer: a client that answers the service PLAN, and two that ask it. clients/services_test.go has the same in Go."""

import sys

import metasim

MS = 1_000_000


def words(c, answer, error):
    what = "limit" if isinstance(error, metasim.LimitError) else str(error) if error else bytes(answer).decode()
    return f"{c.now.time // 1000} us: {what}"


def planner(c):
    def handle(r):
        n = int(bytes(r.payload))
        text = f"{r.message.sender} asked {n} at {r.message.sent.time // 1000}"
        if n == 0:
            r.refuse("no way")
        elif n == 2:
            r.reply(text)
        elif n > 2:
            c.after(n * MS, lambda: r.reply(text))

    c.answer("PLAN", handle)
    c.join()
    c.run()


def asker(c):
    plan, lines = c.caller("PLAN"), []
    c.subscribe("ANGLE")
    c.join()
    for n, limit in ((2, 1000), (0, 1000), (1, 3), (2, 4), (5, 4), (3, 1000)):
        try:
            lines.append(words(c, plan.call(str(n), limit * MS), None))
        except metasim.Error as e:
            lines.append(words(c, None, e))
    several = [plan.start(str(n), 12 * MS) for n in (5, 3, 1, 2)]
    angles = len(c.next())
    for _, messages in c.steps(MS, start=c.now.time + 1):
        angles += len(messages)
        for p in [p for p in several if p.done]:
            several.remove(p)
            try:
                lines.append(words(c, p.result(), None))
            except metasim.Error as e:
                lines.append(words(c, None, e))
        if not several:
            break
    c.set_result({"lines": lines, "angles": angles})
    c.leave()


def goer(c):
    plan, lines = c.caller("PLAN"), []

    def ask():
        for n, limit in ((2, 1000), (1, 5), (3, 1000), (0, 1000), (3, 6)):
            plan.go(str(n), lambda answer, error: lines.append(words(c, answer, error)), limit * MS)

    c.join()
    try:
        plan.go("2", print)
    except metasim.MistakeError as e:
        lines.append("refused" if "go is called by handlers" in str(e) else str(e))
    c.after(0, ask)
    c.on_leave(lambda: {"lines": lines})
    c.run()


if __name__ == "__main__":
    with metasim.Client() as client:
        {"planner": planner, "asker": asker, "goer": goer}[sys.argv[1]](client)
