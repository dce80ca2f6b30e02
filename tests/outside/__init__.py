"""Programs that others wrote, run against ours."""
