"""Who is calling: finds the tenant and the scopes of an API key for API Gateway."""
