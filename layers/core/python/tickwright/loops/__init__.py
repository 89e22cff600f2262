"""The long-running shells around services: scheduler, watch, worker."""
