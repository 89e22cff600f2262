"""The worker: claims and runs the executions whose hints a lane delivers."""
