"""Controls: they run like methods, but tables show them apart from methods and never rank them."""
