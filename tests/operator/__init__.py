"""The commands of whoever runs an installation on AWS."""
