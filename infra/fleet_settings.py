"""What differs between the fleets of the stages: which services there are, on what machines, in which network.

Must not know CDK. A service serves lanes by weight: as many of its places as it gives to a lane are that lane's alone.
Every number has its reason beside it.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from infra.required import require

# Fargate: memory in MiB, from and to, that goes with each number of CPU units (1,024 are one processor).
MEMORY_OF_CPU: Mapping[int, tuple[int, int]] = {
    256: (512, 2_048),
    512: (1_024, 4_096),
    1_024: (2_048, 8_192),
    2_048: (4_096, 16_384),
    4_096: (8_192, 30_720),
}
# What Fargate takes as the time between SIGTERM and SIGKILL.
STOP_S_MIN, STOP_S_MAX = 2, 120
# What runs has all of it to end, or to note a checkpoint.
STOP_S = STOP_S_MAX
# New machines take two to five minutes from the first sign of a herd: the free third of the places carries it so long.
PLACES_TAKEN_PERCENT = 67

_REPOSITORY = re.compile(r"[a-z0-9]+(?:[._/-][a-z0-9]+)*")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_SERVICE = re.compile(r"[A-Z][A-Za-z]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings:
    """One service of the fleet. `on_demand`: so many machines are certain, the rest on Spot; None: all are certain.

    `backlog_per_machine`: how many hints may wait for each machine; None: what waits starts none, only places taken do.
    """

    places: Mapping[str, int]
    cpu: int
    memory_mib: int
    machines_min: int
    machines_max: int
    backlog_per_machine: int | None
    on_demand: int | None = None

    def __post_init__(self) -> None:
        """Refuse what Fargate would refuse an hour later."""
        require(bool(self.places), "ServiceSettings.places", {}, "it names one lane at least")
        for lane, places in self.places.items():
            require(places >= 1, f"ServiceSettings.places[{lane!r}]", places, "1 or more, or not named")
        cpus = ", ".join(str(cpu) for cpu in MEMORY_OF_CPU)
        require(self.cpu in MEMORY_OF_CPU, "ServiceSettings.cpu", self.cpu, f"Fargate has {cpus}")
        least, most = MEMORY_OF_CPU[self.cpu]
        allowed = f"from {least} to {most} with cpu={self.cpu}"
        require(least <= self.memory_mib <= most, "ServiceSettings.memory_mib", self.memory_mib, allowed)
        # A service of no machine has no metric to be scaled by.
        machines, allowed = self.machines_min, f"from 1 to machines_max, which is {self.machines_max}"
        require(1 <= machines <= self.machines_max, "ServiceSettings.machines_min", machines, allowed)
        certain, allowed = self.on_demand, f"from 0 to machines_max, which is {self.machines_max}, or None: all"
        require(certain is None or 0 <= certain <= self.machines_max, "ServiceSettings.on_demand", certain, allowed)
        backlog = self.backlog_per_machine
        require(backlog is None or backlog >= 1, "ServiceSettings.backlog_per_machine", backlog, "1 or more, or None")

    @property
    def places_text(self) -> str:
        """As the machine reads it."""
        return ",".join(f"{lane}={places}" for lane, places in self.places.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSettings:
    """Subnets that exist. Without addresses of their own, machines need a NAT, and endpoints or that NAT for AWS."""

    vpc_id: str
    subnet_ids: tuple[str, ...]
    availability_zones: tuple[str, ...]
    public_addresses: bool

    def __post_init__(self) -> None:
        """Each subnet with its zone, two at least: a zone may fail."""
        zones, subnets = self.availability_zones, self.subnet_ids
        require(len(subnets) == len(zones), "NetworkSettings.subnet_ids", subnets, "each with its availability zone")
        require(len(set(zones)) >= 2, "NetworkSettings.availability_zones", zones, "two different ones at least")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageSettings:
    """An image in a repository of the installation's own account and region, by its digest: a tag may move."""

    repository: str
    digest: str

    def __post_init__(self) -> None:
        """Refuse a tag, and an address."""
        repository, digest = self.repository, self.digest
        allowed = "a repository of this account by its name, without an address or a tag"
        require(bool(_REPOSITORY.fullmatch(repository)), "ImageSettings.repository", repository, allowed)
        require(bool(_DIGEST.fullmatch(digest)), "ImageSettings.digest", digest, "sha256: and 64 digits, no tag")


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetSettings:
    """The pool `fargate`. No image: this repository's, which has no handlers. No network: a small one of its own.

    `handlers` is where the image has its handlers, as module:name. `scales` is for places that cannot scale.
    `flow_logs` notes what knocks in vain at the network of its own; an emulator of AWS has none.
    """

    services: Mapping[str, ServiceSettings]
    image: ImageSettings | None = None
    handlers: str = ""
    network: NetworkSettings | None = None
    scales: bool = True
    flow_logs: bool = True

    def __post_init__(self) -> None:
        """A name is the beginning of what its resources are called."""
        for name in self.services:
            allowed = "each service has a name of letters alone, the first a capital"
            require(bool(_SERVICE.fullmatch(name)), "FleetSettings.services", name, allowed)

    @property
    def lanes(self) -> frozenset[str]:
        """The lanes that some service serves."""
        return frozenset(lane for service in self.services.values() for lane in service.places)

    def worked_off_by(self, name: str) -> Iterator[str]:
        """The lanes whose backlog is this service's to work off: none has more places for them."""
        for lane in self.services[name].places:
            if max(self.services, key=lambda each: self.services[each].places.get(lane, 0)) == name:
                yield lane
