"""Are targets run as their promises say?"""
