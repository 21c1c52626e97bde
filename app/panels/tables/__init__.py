"""Tables of a scene's values, and the panels that hold them."""
