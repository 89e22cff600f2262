"""Is a request signed so that the Standard Webhooks library of others takes it?"""

import base64
from datetime import UTC, datetime

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from tickwright.adapters.clock_system import SystemClock
from tickwright.domain.ids import TenantId
from tickwright.domain.instants import Instant
from tickwright.domain.webhooks import secret_of, signed_headers

KEY = b"an installation's key of 32 bytes"
ACME = TenantId("acme")
BODY = '{"payload":"\u00e9"}'.encode()


@pytest.mark.sem("SEM-SIGN-1")
def test_the_library_of_the_standard_takes_our_signature() -> None:
    """An independent judge: it knows nothing of us but the secret."""
    secret = secret_of(KEY, ACME, 1)
    headers = signed_headers("an-execution", BODY, at=SystemClock().now(), secrets=[secret])

    assert Webhook(secret.text).verify(BODY, dict(headers)) == {"payload": "\u00e9"}


@pytest.mark.sem("SEM-SIGN-1")
@pytest.mark.parametrize("number", [1, 2])
def test_while_secrets_change_either_is_good(number: int) -> None:
    """A receiver that has the old one and one that has the new one both take the request."""
    secrets = [secret_of(KEY, ACME, 2), secret_of(KEY, ACME, 1)]
    headers = signed_headers("an-execution", BODY, at=SystemClock().now(), secrets=secrets)

    assert Webhook(secret_of(KEY, ACME, number).text).verify(BODY, dict(headers)) == {"payload": "\u00e9"}


@pytest.mark.sem("SEM-SIGN-1")
@pytest.mark.parametrize(
    ("tenant_id", "number", "key"),
    [(TenantId("other"), 1, KEY), (ACME, 2, KEY), (ACME, 1, b"another installation's key")],
)
def test_no_other_secret_is_good(tenant_id: TenantId, number: int, key: bytes) -> None:
    """Each tenant, number and installation has its own."""
    headers = signed_headers("e", BODY, at=SystemClock().now(), secrets=[secret_of(KEY, ACME, 1)])

    with pytest.raises(WebhookVerificationError):
        Webhook(secret_of(key, tenant_id, number).text).verify(BODY, dict(headers))


def test_a_signature_is_that_of_the_attempts_own_second() -> None:
    """The same as the library makes of the same instant."""
    at = Instant(1_764_547_200_999)
    secret = secret_of(KEY, ACME, 1)
    theirs = Webhook(secret.text).sign("e", datetime.fromtimestamp(1_764_547_200, tz=UTC), BODY.decode())

    headers = signed_headers("e", BODY, at=at, secrets=[secret])

    assert headers == {"webhook-id": "e", "webhook-timestamp": "1764547200", "webhook-signature": theirs}


def test_a_secret_is_long_enough_and_told_as_the_standard_wants_it() -> None:
    """`whsec_` and base64; 24 to 64 bytes."""
    secret = secret_of(KEY, ACME, 1)

    assert secret.text.startswith("whsec_")
    assert base64.b64decode(secret.text.removeprefix("whsec_")) == secret.raw
    assert len(secret.raw) == 32
