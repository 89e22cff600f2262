"""`python -m tests.fuzz.guided cron SEEDS_FOLDER -max_total_time=60`: libFuzzer at one oracle, led by what it covers.

Started in a process of its own, since libFuzzer ends it. Must not know what an oracle asks.
"""

import sys

import atheris

with atheris.instrument_imports(include=["tickwright"]):
    from tests.fuzz.oracles import ORACLES, PLANTED


def main() -> None:
    """Fuzz; exit status 0 if nothing was found until the end."""
    check = {**ORACLES, **PLANTED}[sys.argv.pop(1)]

    def one_input(raw: bytes) -> None:
        check(raw.decode("utf-8", "replace"))

    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
