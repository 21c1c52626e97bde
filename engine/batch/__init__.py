"""Scenes of many environments: one model, stepped on native threads."""
