"""`make e2e-deploy`: the synthesised app, really deployed on a local AWS, used, updated, rolled back and destroyed."""
