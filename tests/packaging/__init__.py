"""Do the archives that a deployment uploads work where they are unpacked, with nothing beside them?"""
