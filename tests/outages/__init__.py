"""What the API answers while its store does not, in virtual time: copies, keys, submissions and their landing."""
