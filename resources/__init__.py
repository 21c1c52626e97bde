"""Icons, themes, models and examples that ship with Stroboscope."""
