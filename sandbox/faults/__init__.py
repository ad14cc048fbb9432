"""What the sandbox can be told to do wrong."""
