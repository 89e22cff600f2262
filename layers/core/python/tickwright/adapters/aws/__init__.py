"""What the adapters of AWS services share: clients, calls in threads, and what is worth trying again."""
