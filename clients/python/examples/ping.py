"""ping.py OUT IN ROUNDS: publishes a count on OUT, and the next one at each answer on IN, as the built-in model "ping"."""

import sys

import metasim


def main(said: str, heard: str, rounds: int) -> None:
    answers = 0
    with metasim.Client() as c:  # metasim says in the environment where the server is
        out = c.publication(said)
        c.subscribe(heard)
        c.join()
        out.publish(answers.to_bytes(8, "little"))
        for _ in c.messages():
            answers += 1
            if answers == rounds:
                break
            out.publish(answers.to_bytes(8, "little"))
        c.set_result({"rounds": answers})


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(f"usage: {sys.argv[0]} OUT IN ROUNDS")
    try:
        main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    except metasim.Error as e:
        sys.exit(f"ping.py: {e}")
