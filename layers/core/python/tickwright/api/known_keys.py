"""Which API keys this process has found good lately: they open the door while the store does not answer.

Must not know a request. A key that the store has not confirmed for KNOWN_KEY_S_MAX is forgotten, by whichever clock has
gone further, and one that has expired opens nothing; one that was revoked since it was confirmed still does
(docs/outages.md). Promise: SEM-STALE-4.
"""

from collections import OrderedDict
from dataclasses import dataclass, field

from tickwright.domain import limits
from tickwright.domain.instants import Instant
from tickwright.domain.tenants import ApiKey
from tickwright.services.kit import Kit
from tickwright.services.silence import Silence

_KNOWN_MS_MAX = limits.KNOWN_KEY_S_MAX * 1_000


@dataclass(frozen=True, slots=True)
class _Confirmed:
    key: ApiKey
    at: Instant
    at_ms: int


@dataclass(slots=True)
class KnownKeys:
    """Keys by their hashes; the least recently confirmed are forgotten first. `silence`: of this process's store."""

    silence: Silence = field(default_factory=Silence)
    _known: "OrderedDict[str, _Confirmed]" = field(default_factory=OrderedDict)

    async def find(self, kit: Kit, key_hash: str) -> ApiKey | None:
        """The key as the store has it, or, while that does not answer, as it was lately; None: there is none."""

        async def known() -> list[ApiKey | None] | None:
            return self._lately(kit, key_hash)

        async def asked() -> list[ApiKey | None]:
            found = await kit.store.api_key(key_hash)
            self._note(kit, key_hash, found)
            return [found]

        (key,) = await self.silence.or_instead(kit.clock, asked, known)
        return key

    def _note(self, kit: Kit, key_hash: str, found: ApiKey | None) -> None:
        self._known.pop(key_hash, None)
        if found is None:
            return
        self._known[key_hash] = _Confirmed(found, kit.clock.now(), kit.clock.monotonic_ms())
        if len(self._known) > limits.KNOWN_KEYS_MAX:
            self._known.popitem(last=False)

    def _lately(self, kit: Kit, key_hash: str) -> list[ApiKey | None] | None:
        confirmed = self._known.get(key_hash)
        if confirmed is None:
            return None
        age_ms = max(kit.clock.now() - confirmed.at, kit.clock.monotonic_ms() - confirmed.at_ms)
        return [confirmed.key] if age_ms <= _KNOWN_MS_MAX else None
