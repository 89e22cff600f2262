"""What the front door lets through, and under which name it is found.

Must not know CDK, nor the routes (infra/stacks/api.py).
"""

import re
from dataclasses import dataclass

from infra.required import require

# How long API Gateway keeps what an authorizer said, at most.
AUTHORIZER_CACHE_S_MAX = 3_600
# Fewer requests of an address in five minutes than this are nothing that WAF counts.
WAF_RATE_MIN, WAF_RATE_MAX = 10, 2_000_000_000

_NAME = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,}")
_CERTIFICATE = re.compile(r"arn:aws[a-z-]*:acm:[a-z0-9-]+:\d{12}:certificate/[0-9a-f-]+")
_ZONE = re.compile(r"Z[A-Z0-9]{4,31}")


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainSettings:
    """A name of one's own for the API; its certificate is in the same region.

    `zone_id`, `zone_name`: the hosted zone of Route 53 that the name is entered in; without one, somebody enters it.
    """

    name: str
    certificate_arn: str
    zone_id: str | None = None
    zone_name: str | None = None

    def __post_init__(self) -> None:
        """Refuse what no browser finds, and half a zone."""
        name, zone = self.name, self.zone_name
        require(bool(_NAME.fullmatch(name)), "DomainSettings.name", name, "a whole name, such as jobs.example.com")
        allowed = "arn:aws:acm:REGION:ACCOUNT:certificate/ID, of the same Region"
        certificate = self.certificate_arn
        require(bool(_CERTIFICATE.fullmatch(certificate)), "DomainSettings.certificate_arn", certificate, allowed)
        require(
            (self.zone_id is None) == (zone is None), "DomainSettings.zone_id", self.zone_id, "with zone_name, or none"
        )
        zone_id_fits = self.zone_id is None or _ZONE.fullmatch(self.zone_id) is not None
        require(zone_id_fits, "DomainSettings.zone_id", self.zone_id, "as Route 53 says it: Z and capitals and digits")
        within = zone is None or name == zone or name.endswith(f".{zone}")
        require(within, "DomainSettings.zone_name", zone, f"the zone that {name} is in")


@dataclass(frozen=True, slots=True, kw_only=True)
class WafSettings:
    """A web ACL before the API. `requests_of_an_address`: so many in five minutes, and the next are refused.

    AWS's common rules refuse what is no request of a program of ours; those that look into bodies only count, since a
    tenant's payload may look like anything.
    """

    requests_of_an_address: int

    def __post_init__(self) -> None:
        """Refuse what WAF refuses."""
        rate = self.requests_of_an_address
        allowed = f"from {WAF_RATE_MIN} to {WAF_RATE_MAX} in five minutes"
        require(WAF_RATE_MIN <= rate <= WAF_RATE_MAX, "WafSettings.requests_of_an_address", rate, allowed)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiSettings:
    """What the front door lets through, for all tenants together: none has a limit of its own (docs/security.md)."""

    rate_per_s: int
    burst: int
    # A revoked key opens the door for this long.
    authorizer_cache_s: int
    # Logs of API Gateway need a role that an account has once. False where another stack of the account has set it.
    sets_account_log_role: bool = True
    # With a name of its own the API is found under no other.
    domain: DomainSettings | None = None
    waf: WafSettings | None = None

    def __post_init__(self) -> None:
        """A bucket of tokens holds a second's at least, and API Gateway keeps an answer for an hour at most."""
        allowed = f"from 1 to burst, which is {self.burst}"
        require(1 <= self.rate_per_s <= self.burst, "ApiSettings.rate_per_s", self.rate_per_s, allowed)
        cache_s, allowed = self.authorizer_cache_s, f"from 0 to {AUTHORIZER_CACHE_S_MAX}"
        require(0 <= cache_s <= AUTHORIZER_CACHE_S_MAX, "ApiSettings.authorizer_cache_s", cache_s, allowed)
