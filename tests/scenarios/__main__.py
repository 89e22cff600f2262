"""`make scenario NAME=spike [SIZE=n]`: play a scenario beside its control; the last line is JSON.

The plot goes to build/scenarios/NAME.svg. Exit status 1 if an expectation did not hold.
"""

import argparse
import json
import logging
import sys
from pathlib import Path

from tests.scenarios import chart, db_failover, fleet_crash, link_heals, outage, region_failover, spike

SCENARIOS = {one.NAME: one.play for one in (fleet_crash, spike, db_failover, outage, region_failover, link_heals)}


def main() -> int:
    """Play one, draw it, say whether it went as expected."""
    parser = argparse.ArgumentParser(prog="python -m tests.scenarios")
    parser.add_argument("name", choices=SCENARIOS)
    parser.add_argument("--size", type=int, default=0, help="how much of everything (default: the scenario's own)")
    parser.add_argument("--out", type=Path, default=Path("build/scenarios"), help="where the plot goes")
    asked = parser.parse_args()
    logging.getLogger("tickwright.api").setLevel(logging.CRITICAL)  # each request that is not answered has a line
    play = SCENARIOS[asked.name]
    outcome = play(size=asked.size) if asked.size else play()
    asked.out.mkdir(parents=True, exist_ok=True)
    plot = asked.out / f"{outcome.name}.svg"
    plot.write_text(chart.drawn(outcome.charts))
    for claim, held in outcome.expected.items():
        print(f"{'holds' if held else 'FAILS'}: {claim}")
    print(f"plot: {plot}")
    print(json.dumps({"scenario": outcome.name, "failed": outcome.failed, **outcome.figures}))
    return 1 if outcome.failed else 0


if __name__ == "__main__":
    sys.exit(main())
