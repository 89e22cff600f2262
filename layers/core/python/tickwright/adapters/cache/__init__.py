"""Where copies are kept for while the store does not answer: in this process, or in a Valkey that many share."""
