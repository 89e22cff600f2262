"""What the AWS client in a layer knows of AWS: the services that the product calls, as they are today, and no others.

Must not know which call is made: tests/packaging holds the list to the clients that are made. A cold start looks
through the folders of all services, and reads the models of those it makes clients of: without their prose, and
unpacked, that takes a fifth of the time.
"""

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

# The store, the queues, the kinds of targets, and the credentials of a role that a web identity stands for.
SERVICES = ("dynamodb", "ecs", "events", "lambda", "sqs", "stepfunctions", "sts")
# As endpoints.json calls them: by the first part of the host's name.
_HOSTS = frozenset({"dynamodb", "ecs", "events", "lambda", "sqs", "states", "sts"})
# What a client reads when it is made; examples, paginators and waiters nobody asks for.
_READ = ("service-2", "endpoint-rule-set-1")


def keep_what_is_called(botocore: Path) -> None:
    """Take the models of everything else out of a copy of botocore, and the prose out of those that stay."""
    data = botocore / "data"
    for service in sorted(path for path in data.iterdir() if path.is_dir()):
        if service.name not in SERVICES:
            shutil.rmtree(service)
    for name in SERVICES:
        *earlier, latest = sorted(path.parent for path in (data / name).glob("*/service-2.json*"))
        kept = {kind: _without_prose(_read(latest, kind)) for kind in _READ}
        shutil.rmtree(data / name)
        latest.mkdir(parents=True)
        for kind, model in kept.items():
            _write(latest / f"{kind}.json", model)
        assert all(path.name < latest.name for path in earlier)
    _write(data / "endpoints.json", _of_hosts(json.loads((data / "endpoints.json").read_bytes())))


def _read(folder: Path, kind: str) -> Any:  # noqa: ANN401 - JSON
    packed = folder / f"{kind}.json.gz"
    return json.loads(
        gzip.decompress(packed.read_bytes()) if packed.exists() else (folder / f"{kind}.json").read_bytes()
    )


def _write(path: Path, model: object) -> None:
    path.write_text(json.dumps(model, separators=(",", ":")), encoding="utf-8")


def _without_prose(model: Any) -> Any:  # noqa: ANN401 - JSON
    """The model without what it says to people: a member that happens to be called so is an object, and stays."""
    if isinstance(model, list):
        return [_without_prose(one) for one in model]
    if not isinstance(model, dict):
        return model
    return {
        name: _without_prose(value)
        for name, value in model.items()
        if not (name == "documentation" and isinstance(value, str))
    }


def _of_hosts(endpoints: Any) -> Any:  # noqa: ANN401 - JSON
    partitions = [
        partition | {"services": {name: of for name, of in partition["services"].items() if name in _HOSTS}}
        for partition in endpoints["partitions"]
    ]
    return endpoints | {"partitions": partitions}
