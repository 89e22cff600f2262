"""What every template has to keep to: grants, own checks, acknowledged findings."""
