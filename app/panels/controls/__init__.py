"""The panel with sliders and switches: what people set in a scene by hand."""
