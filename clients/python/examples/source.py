"""source.py OUT PERIOD: publishes a count on OUT each PERIOD nanoseconds, as the built-in model "source"."""

import sys

import metasim


def main(channel: str, period: int) -> None:
    sent = 0
    with metasim.Client() as c:  # metasim says in the environment where the server is
        out = c.publication(channel)
        c.join()
        for _ in c.steps(period):
            out.publish(sent.to_bytes(8, "little"))
            sent += 1
        c.set_result({"sent": sent})


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(f"usage: {sys.argv[0]} OUT PERIOD")
    try:
        main(sys.argv[1], int(sys.argv[2]))
    except metasim.Error as e:
        sys.exit(f"source.py: {e}")
