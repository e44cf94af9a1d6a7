"""What the model may do: the built-ins that agent.yaml grants, and the decision on each call."""
