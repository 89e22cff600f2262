"""The worker of the pool `fargate`: one process for as long as its machine lives."""
