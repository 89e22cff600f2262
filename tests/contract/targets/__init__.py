"""Are the targets that are AWS services run as their promises say, against engines that answer as AWS does?"""
