"""The tools an agent works on its environment with: shell, read, write, edit, glob, grep."""
