"""What the kind `remote` is made of: requests to a sandbox service, its answers as far as they are
believed, and a disk as an archive. The protocol: `docs/remote-sandbox.md`.
"""
