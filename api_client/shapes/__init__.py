"""What the API answers, as typed dictionaries; times are RFC 3339 texts in UTC.

A newer server may add keys; these are the ones that are promised.
"""

from api_client.shapes.agents import (
    Agent,
    AgentDetail,
    Agents,
    Gap,
    Plan,
    Plans,
    Tool,
    Version,
    Versions,
)
from api_client.shapes.approvals import Approval, ApprovalDetail, Decided, Decision
from api_client.shapes.calls import CallRow, Calls, Content
from api_client.shapes.keys import Health, Key, Keys, MadeKey, Ready
from api_client.shapes.policy import Change, Policy, PolicySaved, Rule, Tried
from api_client.shapes.secrets import Secret, Secrets, SecretSet, SecretsRotated
from api_client.shapes.sessions import (
    Event,
    Events,
    LimitUse,
    Preview,
    PreviewMessage,
    Sent,
    Session,
    SessionDetail,
    Started,
    Stopped,
    Turn,
)

__all__ = [
    "Agent",
    "AgentDetail",
    "Agents",
    "Approval",
    "ApprovalDetail",
    "CallRow",
    "Calls",
    "Change",
    "Content",
    "Decided",
    "Decision",
    "Event",
    "Events",
    "Gap",
    "Health",
    "Key",
    "Keys",
    "LimitUse",
    "MadeKey",
    "Plan",
    "Plans",
    "Policy",
    "PolicySaved",
    "Preview",
    "PreviewMessage",
    "Ready",
    "Rule",
    "Secret",
    "SecretSet",
    "Secrets",
    "SecretsRotated",
    "Sent",
    "Session",
    "SessionDetail",
    "Started",
    "Stopped",
    "Tool",
    "Tried",
    "Turn",
    "Version",
    "Versions",
]
