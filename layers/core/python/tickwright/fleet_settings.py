"""What a machine of the fleet is told by its environment, beside what every function is told (settings.py).

infra/environment.py writes exactly these. What cannot be is refused at the start, in one line that names the variable.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from tickwright.domain.lanes import Lane

STOP_S_DEFAULT = 30  # what most platforms leave between SIGTERM and SIGKILL
HEALTH_PORT_DEFAULT = 8081
POLL_MS_MAX = 10_000


class FleetRefused(ValueError):  # noqa: N818 - says what happened to it
    """A machine cannot start with this environment; the message says what to change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetSettings:
    """One machine. `stop_s`: what it has from SIGTERM to SIGKILL."""

    fleet: str
    places: Mapping[Lane, int]
    handlers: str | None
    stop_s: int
    health_port: int
    agent_uri: str | None

    @property
    def poll_ms(self) -> int:
        """How long an empty lane is waited for: a long poll costs the same however long it is. A stop waits for it."""
        return min(POLL_MS_MAX, self.stop_s * 100)

    @property
    def grace_ms(self) -> int:
        """What the runs of a stop may take after the last poll: a tenth is left for what comes after their reports."""
        return self.stop_s * 900 - self.poll_ms

    @property
    def places_of_all(self) -> int:
        """How many runs it takes at most."""
        return sum(self.places.values())


def fleet_from_environment(environ: Mapping[str, str]) -> FleetSettings:
    """Read them; raises FleetRefused."""
    return FleetSettings(
        fleet=environ.get("TICKWRIGHT_FLEET", "local"),
        places=read_places(environ.get("TICKWRIGHT_PLACES", "high=20,normal=20,low=10,backfill=5")),
        handlers=environ.get("TICKWRIGHT_HANDLERS") or None,
        stop_s=_whole(environ, "TICKWRIGHT_STOP_S", STOP_S_DEFAULT, least=5),
        health_port=_whole(environ, "TICKWRIGHT_HEALTH_PORT", HEALTH_PORT_DEFAULT, least=0),
        agent_uri=environ.get("ECS_AGENT_URI") or None,
    )


def read_places(text: str) -> Mapping[Lane, int]:
    """`high=20,low=5`: how many runs of each lane a machine takes at once; it serves no other lane."""
    places: dict[Lane, int] = {}
    for part in text.split(","):
        name, _, number = part.strip().partition("=")
        lane = next((lane for lane in Lane if lane.value == name), None)
        if lane is None or lane in places or not number.isdecimal() or int(number) < 1:
            lanes = ", ".join(lane.value for lane in Lane)
            raise FleetRefused(f"TICKWRIGHT_PLACES has {part!r}: say lane=places for some of {lanes}, each once")
        places[lane] = int(number)
    return places


def _whole(environ: Mapping[str, str], name: str, default: int, *, least: int) -> int:
    text = environ.get(name, str(default))
    if not text.isdecimal() or int(text) < least:
        raise FleetRefused(f"{name} is {text!r}: say a whole number of at least {least}")
    return int(text)
