"""The fence in S3: bytes under a name of their own, and a small pointer object that only moves forward.

An object's ETag is of its bytes alone. A conditional put of the data itself has a hole: if a later attempt writes the
same bytes as an earlier one, a zombie's old ETag still matches. The pointer's bytes hold the fence, so its ETag is
another with every attempt. Must not know botocore. Promise: SEM-SDK-12.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from tickwright_sdk.fences import Fence, FenceRefused

_TRIES = 5  # each lost race is somebody else's progress
_NOT_FOUND = 404
# Somebody wrote between the look and the put: 412 a changed ETag, 409 at the same moment, 404 deleted meanwhile.
_LOST = frozenset({404, 409, 412})


class S3(Protocol):
    """A boto3 client of S3."""

    @property
    def exceptions(self) -> Any:  # noqa: ANN401 - made at run time by botocore
        """Its exception classes."""
        ...

    @property
    def get_object(self) -> Callable[..., Any]:
        """Get."""
        ...

    @property
    def put_object(self) -> Callable[..., Any]:
        """Put."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointer:
    """What the pointer says: whose fence, and where the bytes are."""

    fence: Fence
    data_key: str
    sha256: str


class Busy(RuntimeError):  # noqa: N818 - says what is the matter
    """Others moved the pointer again and again; nothing was published. Trying again is safe."""


def publish(client: S3, bucket: str, key: str, body: bytes, fence: Fence) -> Pointer:
    """Put the bytes under a key of their own, then move the pointer at `key`. Raises FenceRefused.

    What was put under `<key>/` and is pointed at by nothing may be removed by a lifecycle rule.
    """
    sha256 = hashlib.sha256(body).hexdigest()
    pointer = Pointer(fence=fence, data_key=f"{key}/{fence.number:019d}-{sha256[:16]}", sha256=sha256)
    client.put_object(Bucket=bucket, Key=pointer.data_key, Body=body)
    for _ in range(_TRIES):
        if _moved(client, bucket, key, pointer):
            return pointer
    raise Busy(f"{bucket}/{key} was changed {_TRIES} times meanwhile.")


def read(client: S3, bucket: str, key: str) -> bytes | None:
    """The bytes that the pointer at `key` stands for; None without a pointer."""
    found = _look(client, bucket, key)
    if found is None:
        return None
    body: bytes = client.get_object(Bucket=bucket, Key=found[0].data_key)["Body"].read()
    if hashlib.sha256(body).hexdigest() != found[0].sha256:
        raise ValueError(f"{bucket}/{found[0].data_key} holds other bytes than were published.")
    return body


def _moved(client: S3, bucket: str, key: str, pointer: Pointer) -> bool:
    """One look and one conditional put; whether it was not in vain."""
    found = _look(client, bucket, key)
    if found is None:
        condition = {"IfNoneMatch": "*"}
    else:
        seen, etag = found
        if seen.fence.owner != pointer.fence.owner:
            raise ValueError(
                f"{bucket}/{key} is {seen.fence.owner}'s: what several executions write needs job_fence_of."
            )
        if seen.fence.number > pointer.fence.number:
            raise FenceRefused(pointer.fence, seen.fence.number, f"{bucket}/{key}")
        condition = {"IfMatch": etag}
    try:
        client.put_object(Bucket=bucket, Key=key, Body=_as_bytes(pointer), **condition)
    except client.exceptions.ClientError as fault:
        if _status(fault) not in _LOST:
            raise
        return False
    return True


def _look(client: S3, bucket: str, key: str) -> tuple[Pointer, str] | None:
    """The pointer and its ETag. Without s3:ListBucket a missing one answers 403, which is raised."""
    try:
        found = client.get_object(Bucket=bucket, Key=key)
    except client.exceptions.ClientError as fault:
        if _status(fault) != _NOT_FOUND:
            raise
        return None
    return _from_bytes(found["Body"].read()), str(found["ETag"])


def _status(fault: Any) -> int:  # noqa: ANN401 - botocore's
    status: int = fault.response["ResponseMetadata"]["HTTPStatusCode"]
    return status


def _as_bytes(pointer: Pointer) -> bytes:
    members = {"owner": pointer.fence.owner, "fence": pointer.fence.number}
    return json.dumps({**members, "key": pointer.data_key, "sha256": pointer.sha256}).encode()


def _from_bytes(text: bytes) -> Pointer:
    found: Mapping[str, Any] = json.loads(text)
    fence = Fence(owner=str(found["owner"]), number=int(found["fence"]))
    return Pointer(fence=fence, data_key=str(found["key"]), sha256=str(found["sha256"]))
