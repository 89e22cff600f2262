"""Does a schedule fire when it should, and only then?"""
