"""What one may do with environments: manifests, the environments, secrets, disks, forks."""

from studio.core.verbs.environments.disks import ARCHIVE_BYTES, DiskVerbs
from studio.core.verbs.environments.forks import ForkPlan, ForkVerbs
from studio.core.verbs.environments.life import LifeVerbs, Made
from studio.core.verbs.environments.manifests import ManifestPlan, ManifestVerbs
from studio.core.verbs.environments.secrets import EnvironmentSecretVerbs

__all__ = ["ARCHIVE_BYTES", "EnvironmentVerbs", "ForkPlan", "Made", "ManifestPlan"]


class EnvironmentVerbs(ManifestVerbs, LifeVerbs, EnvironmentSecretVerbs, ForkVerbs, DiskVerbs):
    """All of them."""
