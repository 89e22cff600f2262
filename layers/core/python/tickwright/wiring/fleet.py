"""A machine of the fleet: the kit of the installation, and the handlers that its image brings."""

from collections.abc import Mapping
from dataclasses import dataclass

from tickwright.adapters.ecs.protection import EcsProtection
from tickwright.adapters.targets.python import PythonRunner
from tickwright.adapters.telemetry.metrics import OF_CLAIMS, OF_PLACES
from tickwright.fleet_settings import FleetRefused, FleetSettings
from tickwright.ports.protection import Protection
from tickwright.ports.runner import Runner
from tickwright.services.kit import Kit
from tickwright.settings import from_environment
from tickwright.wiring.aws import kit_from_env, measured
from tickwright.wiring.targets import runners_from_env
from tickwright_sdk.handlers import Registry
from tickwright_sdk.hands import Hands
from tickwright_sdk.loading import load


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What runs on one machine, with what. `protection` is None where nothing takes machines away."""

    kit: Kit
    runners: Mapping[str, Runner]
    hands: Hands
    settings: FleetSettings
    protection: Protection | None


def machine_from_env(environ: Mapping[str, str], settings: FleetSettings) -> Machine:
    """Put it together; raises FleetRefused if the handlers cannot be loaded."""
    registry = handlers_at(settings.handlers)
    # For every place of every lane, its own: code that never ends keeps those of its lane alone.
    shares = {lane.value: places for lane, places in settings.places.items()}
    hands = Hands(threads=settings.places_of_all, children=settings.places_of_all, shares=shares)
    kit = measured(kit_from_env(environ), OF_CLAIMS, Stage=environ["TICKWRIGHT_STAGE"])
    return Machine(
        kit=measured(kit, OF_PLACES, Stage=environ["TICKWRIGHT_STAGE"], Fleet=settings.fleet),
        runners={
            **runners_from_env(environ, kit, places=settings.places_of_all),
            "python": PythonRunner(registry, hands=hands, allowed=from_environment(environ).targets),
        },
        hands=hands,
        settings=settings,
        protection=None if settings.agent_uri is None else EcsProtection(settings.agent_uri),
    )


def handlers_at(place: str | None) -> Registry:
    """The handlers at `module:name`; without a place there are none, and whoever asks for one is told so."""
    if place is None:
        return Registry()
    module_name, _, name = place.partition(":")
    try:
        module = load(module_name)
    except Exception as fault:
        raise FleetRefused(f"TICKWRIGHT_HANDLERS is {place!r}: {type(fault).__name__}: {fault}") from fault
    found = getattr(module, name or "worker", None)
    found = getattr(found, "registry", found)  # of a worker of the SDK
    if not isinstance(found, Registry):
        raise FleetRefused(f"TICKWRIGHT_HANDLERS is {place!r}: say module:name of a worker or a registry")
    return found
