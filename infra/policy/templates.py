"""How to read synthesised templates: resources by type, and what a reference points to, across stacks.

Must not judge: infra/policy/checks.py does.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

Template = Mapping[str, Any]
ALIAS = "AWS::Lambda::Alias"


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
        """What a value refers to, of an alias its function; None where it refers to nothing in the app."""
        match value:
            case {"Ref": str(logical_id)} | {"Fn::GetAtt": [str(logical_id), *_]}:
                return self._behind(stack, logical_id)
            # A part of an ARN, and the name of a function with that of its alias.
            case {"Fn::Select": [int(), {"Fn::Split": [":", arn]}]} | {
                "Fn::Join": ["", [{"Fn::Select": _} as arn, str()]]
            }:
                return self.target(stack, arn)
            case {"Fn::ImportValue": str(name)}:
                return self._exported(name)
            case _:
                return None

    def qualifier(self, stack: str, value: Any) -> str | None:  # noqa: ANN401 - a template is untyped JSON
        """The name of the alias that a value refers to; None where it refers to no alias."""
        match value:
            case {"Ref": str(logical_id)}:
                resource = self.by_stack[stack]["Resources"].get(logical_id, {})
                return str(resource["Properties"]["Name"]) if resource.get("Type") == ALIAS else None
            case {"Fn::Select": [int(), {"Fn::Split": [":", arn]}]}:
                return self.qualifier(stack, arn)
            case _:
                return None

    def _behind(self, stack: str, logical_id: str) -> Address | None:
        resource = self.by_stack[stack]["Resources"].get(logical_id)
        if resource is None:
            return None
        if resource["Type"] == ALIAS:
            return self.target(stack, resource["Properties"]["FunctionName"])
        return Address(stack, logical_id)

    def _exported(self, name: str) -> Address | None:
        for stack, template in self.by_stack.items():
            for output in template.get("Outputs", {}).values():
                if output.get("Export", {}).get("Name") == name:
                    return self.target(stack, output["Value"])
        return None
