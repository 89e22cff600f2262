"""Which AWS resources an installation has: the CDK app, its settings, its packaging and its rules.

Must not import tickwright or functions: a template is made without running the product. Promise: docs/architecture.md.
"""

import os

# CDK runs its engine on the machine's Node. Version 20 works but is past its end, and each start would print a banner.
# The value has to be the major version. Set here because the engine starts when aws_cdk is imported.
os.environ.setdefault("JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION", "20")
