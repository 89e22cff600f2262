"""Every pair of the protocol's operations, in every order of their calls, with and without a death: `make pairs`."""
