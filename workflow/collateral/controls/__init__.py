"""Controls: runs with the interface of a method that tables show apart and never rank."""
