"""The ready queues on SQS: envelopes, and the judging of its answers."""
