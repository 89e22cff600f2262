"""A machine of the fleet: what ECS would start, as a process beside the local AWS, which starts no containers.

Its environment is that of the deployed task definition, its secrets are read where that says, and its files are the
image's; the interpreter is this machine's, without its packages. Must not know what it runs.
"""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.deploy.app import REGION
from tests.deploy.ground import ROOT, Ground, expect, program, until
from tests.deploy.image import Image, described
from tests.support.emulators.clients import aws_client

_FAMILY = "Urgent"
_START_S = 60
_IMAGE_S = 300
_STOP_S = 15
_NO_SITE = ("-S", "-s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """One that runs."""

    started: subprocess.Popen[bytes]
    log: Path

    def stop(self) -> None:
        """Ask it to stop, as ECS does, and wait until it has."""
        self.started.send_signal(signal.SIGTERM)
        status = self.started.wait(timeout=4 * _STOP_S)
        expect(f"how a machine ends that was asked to stop ({self.log.name})", status, 0)


def container_environment(endpoint: str) -> dict[str, str]:
    """What the deployed task definition gives to the container, secrets among it."""
    arns = aws_client("ecs", endpoint).list_task_definitions(status="ACTIVE")["taskDefinitionArns"]
    container = _container(endpoint, [arn for arn in arns if _FAMILY in arn][-1])
    told = {one["name"]: one["value"] for one in container["environment"]}
    secrets = aws_client("secretsmanager", endpoint)
    for one in container["secrets"]:
        told[one["name"]] = secrets.get_secret_value(SecretId=one["valueFrom"])["SecretString"]
    return told


def _container(endpoint: str, arn: str) -> Any:  # noqa: ANN401 - JSON
    """The one container of a task definition.

    Asked without the SDK: the local AWS gives the members of `secrets` the names that they have in a template, which
    the SDK drops.
    """
    asked = HTTPConnection(urlsplit(endpoint).netloc, timeout=_START_S)
    headers = {
        "Content-Type": "application/x-amz-json-1.1",
        "X-Amz-Target": "AmazonEC2ContainerServiceV20141113.DescribeTaskDefinition",
        "Authorization": f"AWS4-HMAC-SHA256 Credential=test/20260101/{REGION}/ecs/aws4_request",
    }
    asked.request("POST", "/", json.dumps({"taskDefinition": arn}), headers)
    (container,) = json.loads(asked.getresponse().read())["taskDefinition"]["containerDefinitions"]
    asked.close()
    secrets = [{name[0].lower() + name[1:]: value for name, value in one.items()} for one in container["secrets"]]
    return container | {"secrets": secrets}


@contextmanager
def an_image(ground: Ground, tree: Path, name: str) -> Iterator[Callable[[], Image]]:
    """The image of one version, made while something else goes on; whoever calls what this gives waits for it."""
    root, log = ground.folder / f"image-{name}", ground.folder / f"image-{name}.log"
    command = [sys.executable, "-m", "tests.deploy.image", str(tree), str(root)]
    with program(command, cwd=ROOT, env=ground.environment | {"PYTHONPATH": str(ROOT)}, log=log) as making:

        def made() -> Image:
            expect(f"how the making of the image ends ({log.name})", making.wait(timeout=_IMAGE_S), 0)
            return described(tree, root)

        yield made


@contextmanager
def a_machine(ground: Ground, image: Image, name: str) -> Iterator[Machine]:
    """Start one, and wait until its own health check finds it well."""
    log = ground.folder / f"machine-{name}.log"
    env = (
        ground.environment
        | container_environment(ground.aws.endpoint)
        | dict(image.environment)
        # Two machines share this one's ports; and nobody waits two minutes here for what will not end.
        | {"TICKWRIGHT_HEALTH_PORT": str(_free_port()), "TICKWRIGHT_STOP_S": str(_STOP_S)}
    )
    with program(_command(*image.entrypoint), cwd=image.workdir, env=env, log=log) as started:
        probe = _command("python", "-m", "functions.fargate_worker.probe")

        def well() -> bool:
            expect(f"how a machine ends that should run ({log.name})", started.poll(), None)
            asked = subprocess.run(probe, cwd=image.workdir, env=env, capture_output=True, check=False)
            return asked.returncode == 0

        until(f"the machine {name} is well", well, within_s=_START_S)
        yield Machine(started=started, log=log)


def _command(python: str, *arguments: str) -> list[str]:
    assert python == "python"
    interpreter = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    return [str(interpreter), *_NO_SITE, *arguments]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
