"""What the kind `container` is made of: the command line of docker or podman, the flags that a
container is made with, the script that a command becomes, and how it is followed to its end.
"""
