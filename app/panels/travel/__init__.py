"""Panels of time travel: checkpoints, stops and conditions, rollouts; ghosts and environments."""
