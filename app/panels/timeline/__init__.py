"""The timeline: what a scene remembers, what happened when, and where the view stands."""
