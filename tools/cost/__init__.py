"""What an installation costs and how far it carries: prices, measured units, and arithmetic over both."""
