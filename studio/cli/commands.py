"""Every command, those that ask a running studio over its API included."""

from studio.cli import (
    agents,
    approvals,
    artifact_folders,
    artifacts,
    disks,
    environment_manifests,
    environments,
    exports,
    keys,
    models,
    outside,
    plugins,
    secrets,
    server,
    servers,
    sessions,
    traces,
    views,
)
from studio.cli.command import Command

COMMANDS: tuple[Command, ...] = (
    *server.COMMANDS,
    *agents.COMMANDS,
    *sessions.COMMANDS,
    *exports.COMMANDS,
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
    *views.COMMANDS,
)
