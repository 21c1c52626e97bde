"""Simulated beside the scene: candidates of a planner, recorded inputs run again, and comparing."""
