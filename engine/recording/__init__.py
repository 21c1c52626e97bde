"""Recording a running scene into a trajectory file."""
