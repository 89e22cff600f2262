"""The store on DynamoDB: keys, items, literal expressions, and the judging of their answers."""
