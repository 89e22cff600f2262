"""Does an installation survive what its operator does to it as a whole: restored, copied, a tenant moved or deleted?"""
