"""Every command, those that ask a running studio over its API included."""

from studio.cli import (
    agents,
    approvals,
    artifact_folders,
    artifacts,
    disks,
    environment_manifests,
    environments,
    keys,
    models,
    outside,
    plugins,
    secrets,
    server,
    servers,
    sessions,
    traces,
)
from studio.cli.command import Command

COMMANDS: tuple[Command, ...] = (
    *server.COMMANDS,
    *agents.COMMANDS,
    *sessions.COMMANDS,
    *artifacts.COMMANDS,
    *artifact_folders.COMMANDS,
    *approvals.COMMANDS,
    *keys.COMMANDS,
    *plugins.COMMANDS,
    *secrets.COMMANDS,
    *servers.COMMANDS,
    *models.COMMANDS,
    *environment_manifests.COMMANDS,
    *environments.COMMANDS,
    *disks.COMMANDS,
    *traces.COMMANDS,
    *outside.COMMANDS,
)
