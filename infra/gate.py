"""Whether what would be deployed keeps to the rules: `python -m infra.gate`; 0 findings or exit code 1.

Synthesises every stage, and one that has every option on, under CDK's own validation, the packs AwsSolutions and
Serverless, the house's checks and cfn-lint, and packs the code. Must not silence anything:
infra/policy/acknowledgements.py is the only place that does.
"""

import io
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import aws_cdk as cdk
from cdk_nag import AwsSolutionsChecks, ServerlessChecks

from infra.app import build_app
from infra.context import ROOT, context_of_cdk_json
from infra.parity import compare
from infra.policy.acknowledgements import ACKNOWLEDGED
from infra.policy.alarm_checks import check_alarms
from infra.policy.checks import Finding, check
from infra.policy.container_checks import check_containers
from infra.policy.everything import EVERYTHING
from infra.policy.packages import check_packages
from infra.policy.templates import Templates
from infra.settings import STAGES, Settings

# Reports stay here for whoever wants to read them; `make clean` removes them.
_OUT = ROOT / "cdk.out" / "gate"
_PACKED = "prod"
# Environment-agnostic templates are judged for the region with the most services. W3005: CDK writes a DependsOn that a
# reference already implies. W6001: what people are told of the environment names tables, which are another stack's.
_CFN_LINT = ("--regions", "us-east-1", "--ignore-checks", "W3005", "W6001", "--format", "json")
# CDK names a method of its own for it, which nothing here calls.
_REMEDY = "mend it, or say in a row of infra/policy/acknowledgements.py why it is meant to be"
# Every stage, and what no stage has by default.
JUDGED = (*STAGES.values(), EVERYTHING)
# Where each row of the table silences something: in one of them at least.
_SILENCED = (STAGES["dev"], STAGES["prod"], EVERYTHING)


def main() -> int:
    """Print each stage that is judged, every finding, and last of all one line of JSON."""
    before, said = sys.stderr, io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    # CDK prints each report besides, also of what is acknowledged, from a thread that may be late: nobody hears it.
    sys.stderr = said
    try:
        return _judge()
    except BaseException:
        sys.stderr = before
        said.seek(0)
        before.write(said.read())
        raise


def _judge() -> int:
    shutil.rmtree(_OUT, ignore_errors=True)
    findings = [finding for settings in JUDGED for finding in _findings_of(settings)]
    findings += check_packages(_OUT / _PACKED)
    findings += _lint(_OUT)
    silenced, stale = acknowledged(outdir=_OUT.parent / "unsilenced")
    findings += stale
    findings += _parity()
    for finding in findings:
        print(f"{finding.rule}  {finding.where}  {finding.message}")
    stages = [settings.stage for settings in JUDGED]
    print(json.dumps({"findings": len(findings), "acknowledged": silenced, "stages": stages}))
    return 1 if findings else 0


def _findings_of(settings: Settings) -> Iterator[Finding]:
    """What all rules say about one stage. Archives are the same in every stage, so one of them is really packed."""
    print(f"judging the stage {settings.stage}", flush=True)
    outdir = _OUT / settings.stage
    context = context_of_cdk_json(packaging=settings.stage == _PACKED)
    yield from synthesise(settings, context=context, outdir=outdir)
    templates = read(outdir)
    yield from check(templates)
    yield from check_containers(templates)
    yield from check_alarms(templates)
    if "missing" in json.loads((outdir / "manifest.json").read_text(encoding="utf-8")):
        yield Finding("lookup", settings.stage, "needs an account to be synthesised")


def synthesise(settings: Settings, *, context: Mapping[str, Any], outdir: Path, silenced: bool = True) -> list[Finding]:
    """Synthesise one stage under all rule packs; their findings."""
    app = build_app(settings, context=context, outdir=str(outdir), silenced=silenced)
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app), ServerlessChecks(app))
    try:
        app.synth()
    except RuntimeError as failure:
        # A validation that failed has written its report; anything else has none and is not a finding but a fault.
        if "ValidationFailed" not in str(failure):
            raise
    report = json.loads((outdir / "validation-report.json").read_text(encoding="utf-8"))
    return list(_violations(report))


def read(outdir: Path) -> Templates:
    """The templates of an assembly."""
    return Templates(
        {
            path.name.removesuffix(".template.json"): json.loads(path.read_text(encoding="utf-8"))
            for path in sorted(outdir.glob("*.template.json"))
        }
    )


def _violations(report: Mapping[str, Any]) -> Iterator[Finding]:
    for plugin in report["pluginReports"]:
        for violation in plugin["violations"]:
            for construct in violation["violatingConstructs"]:
                message = f"{violation['description']} ({_REMEDY})"
                yield Finding(violation["ruleName"], construct["constructPath"], message)


def _lint(outdir: Path) -> Iterator[Finding]:
    templates = [str(path) for path in sorted(outdir.glob("*/*.template.json"))]
    linted = subprocess.run(  # noqa: S603 - a fixed argument list
        [str(Path(sys.executable).parent / "cfn-lint"), *_CFN_LINT, "--", *templates],
        capture_output=True,
        text=True,
        check=False,
    )
    if not linted.stdout.strip():
        yield Finding("cfn-lint", str(outdir), linted.stderr.strip() or "said nothing")
        return
    for found in json.loads(linted.stdout):
        where = f"{Path(found['Filename']).name}:{found['Location']['Start']['LineNumber']}"
        yield Finding(f"cfn-lint-{found['Rule']['Id']}", where, found["Message"])


def acknowledged(*, outdir: Path) -> tuple[int, list[Finding]]:
    """How many findings the table silences, and the rows that silence none."""
    met = {settings.stage: _unsilenced(settings, outdir / settings.stage) for settings in _SILENCED}
    stale = [
        Finding("stale-acknowledgement", place, f"{row.rules} are silenced here, and one says nothing")
        for row in ACKNOWLEDGED
        for number, _ in enumerate(row.rules)
        for place in row.where
        if not any(
            row.rules_in(stage)[number] == name and f"{where}/".startswith(f"{place}/")
            for stage, found in met.items()
            for name, where in found
        )
    ]
    return sum(len(found) for found in met.values()), stale


def _unsilenced(settings: Settings, outdir: Path) -> list[tuple[str, str]]:
    """What the packs find in a stage without the table: rule and place."""
    context = context_of_cdk_json(packaging=False)
    found = synthesise(settings, context=context, outdir=outdir, silenced=False)
    return [(finding.rule, finding.where.removeprefix(f"Tickwright-{settings.stage}-")) for finding in found]


def _parity() -> Iterator[Finding]:
    """Whether CDK's command-line tool makes the same templates; said aloud where it is not installed."""
    compared = compare(STAGES["dev"].stage)
    if compared.skipped is not None:
        print(f"SKIPPED: `cdk synth` was not compared with `python app.py`: {compared.skipped}")
    for name in compared.different:
        yield Finding("parity", name, "differs between `python app.py` and `cdk synth`")


if __name__ == "__main__":
    sys.exit(main())
