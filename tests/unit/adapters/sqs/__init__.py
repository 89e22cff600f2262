"""Are hints written and read rightly, and the answers of SQS judged rightly?"""
