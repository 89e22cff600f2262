"""How to read synthesised templates: resources by type, and what a reference points to, across stacks.

Must not judge: infra/policy/checks.py does.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

Template = Mapping[str, Any]


class Address(NamedTuple):
    """A resource of the app: the stack it is in and its logical id there."""

    stack: str
    logical_id: str

    def __str__(self) -> str:
        return f"{self.stack}/{self.logical_id}"


@dataclass(frozen=True, slots=True)
class Templates:
    """All templates of one stage, by stack name."""

    by_stack: Mapping[str, Template]

    def of_type(self, resource_type: str) -> Iterator[tuple[Address, Mapping[str, Any]]]:
        """Every resource of a type, with its whole declaration."""
        for stack, template in self.by_stack.items():
            for logical_id, resource in template["Resources"].items():
                if resource["Type"] == resource_type:
                    yield Address(stack, logical_id), resource

    def properties(self, address: Address) -> Mapping[str, Any]:
        """The properties of one resource."""
        properties: Mapping[str, Any] = self.by_stack[address.stack]["Resources"][address.logical_id].get(
            "Properties", {}
        )
        return properties

    def target(self, stack: str, value: Any) -> Address | None:  # noqa: ANN401 - a template is untyped JSON
        """What a value of a template refers to; None where it refers to nothing in the app."""
        match value:
            case {"Ref": str(logical_id)} | {"Fn::GetAtt": [str(logical_id), *_]}:
                return Address(stack, logical_id) if logical_id in self.by_stack[stack]["Resources"] else None
            case {"Fn::ImportValue": str(name)}:
                return self._exported(name)
            case _:
                return None

    def _exported(self, name: str) -> Address | None:
        for stack, template in self.by_stack.items():
            for output in template.get("Outputs", {}).values():
                if output.get("Export", {}).get("Name") == name:
                    return self.target(stack, output["Value"])
        return None
