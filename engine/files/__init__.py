"""Bytes on disk: trajectories, checkpoints and scenes. Nothing here knows a scene or MuJoCo."""
