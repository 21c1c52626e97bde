"""What the tables show: columns of numbers with names and units, all of one instant. No Qt."""
