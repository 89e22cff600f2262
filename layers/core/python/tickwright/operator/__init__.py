"""What whoever runs an installation on AWS does with it from a terminal, with AWS credentials of their own."""
