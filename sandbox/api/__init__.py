"""The provider's operations, a file for each family of objects."""
