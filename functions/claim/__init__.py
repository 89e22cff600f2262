"""Claims of pools behind API Gateway."""
