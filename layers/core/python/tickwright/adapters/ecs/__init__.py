"""What Amazon ECS offers to a container that it runs."""
