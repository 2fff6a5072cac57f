"""echo.py IN OUT: publishes on OUT each message that it hears on IN, as the built-in model "echo", by a handler."""

import sys

import metasim


def main(heard: str, said: str) -> None:
    echoed = 0
    with metasim.Client() as c:  # metasim says in the environment where the server is
        out = c.publication(said)

        def echo(m: metasim.Message) -> None:
            nonlocal echoed
            out.publish(m.payload)
            echoed += 1

        c.subscribe(heard, echo)
        c.on_leave(lambda: {"echoed": echoed})
        c.join().run()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(f"usage: {sys.argv[0]} IN OUT")
    try:
        main(*sys.argv[1:])
    except metasim.Error as e:
        sys.exit(f"echo.py: {e}")
