"""The machine's randomness."""

import base64
import secrets


class SystemEntropy:
    """Random bits from the operating system, drawn at each call: a restored snapshot shares no identity."""

    def token(self) -> str:
        """128 random bits as 26 characters of a-z2-7."""
        return base64.b32encode(secrets.token_bytes(16)).decode().rstrip("=").lower()

    def fraction(self) -> float:
        """Evenly drawn from [0, 1)."""
        return secrets.randbits(53) / (1 << 53)
