"""Every URL that a browser can ask for, on one page."""

from starlette.routing import Route

from studio.web import auth, live, static
from studio.web.pages import (
    agent_editor,
    agent_versions,
    agents,
    approvals,
    calls,
    comparison,
    demo,
    home,
    keys,
    policy,
    previews,
    secrets,
    servers,
    sessions,
    traces,
    turns,
    usage,
)


def _get(path: str, page: object) -> Route:
    return Route(path, page, methods=["GET"])  # type: ignore[arg-type]


def _post(path: str, page: object) -> Route:
    return Route(path, page, methods=["POST"])  # type: ignore[arg-type]


routes = [
    _get("/", home.index),
    _get("/approvals", approvals.index),
    _get("/approvals/{wait_id}", approvals.show),
    _get("/approvals/{wait_id}/card", approvals.card),
    _get("/approvals/{wait_id}/whole", approvals.whole),
    _get("/approvals/{wait_id}/edit", approvals.edit),
    _post("/approvals/{wait_id}/edit", approvals.preview),
    _post("/approvals/{wait_id}/decision", approvals.decide),
    _get("/sessions", sessions.index),
    _post("/sessions", sessions.create),
    _get("/sessions/new", sessions.new),
    _get("/sessions/{session_id}", sessions.show),
    _get("/sessions/{session_id}/timeline", sessions.timeline),
    _get("/sessions/{session_id}/held", sessions.held),
    _get("/sessions/{session_id}/composer", sessions.composing),
    _get("/sessions/{session_id}/panel", sessions.panel),
    _post("/sessions/{session_id}/messages", sessions.send),
    _post("/sessions/{session_id}/preview", previews.show),
    _post("/sessions/{session_id}/stop", sessions.stop),
    _get("/traces", traces.index),
    _get("/sessions/{session_id}/turns/{turn}/comparison", comparison.show),
    _get("/sessions/{session_id}/turns/{turn}", turns.show),
    _get("/calls/{effect_id}", calls.show),
    _get("/calls/{effect_id}/{part}", calls.download),
    _get("/agents", agents.index),
    _post("/agents", agent_editor.save),
    _post("/agents/draft", agent_editor.change),
    _get("/agents/new", agent_editor.new),
    _get("/agents/{name}", agents.show),
    _get("/agents/{name}/edit", agent_editor.edit),
    _get("/agents/{name}/versions", agent_versions.index),
    _get("/agents/{name}/diff", agent_versions.diff),
    _get("/policy", policy.show),
    _post("/policy", policy.save),
    _get("/policy/edit", policy.edit),
    _post("/policy/draft", policy.draft),
    _get("/usage", usage.index),
    _get("/usage/export", usage.export),
    _get("/keys", keys.index),
    _post("/keys", keys.make),
    _post("/keys/{key_id}/revocation", keys.revoke),
    _get("/secrets", secrets.index),
    _post("/secrets", secrets.put),
    _post("/secrets/{name}/removal", secrets.remove),
    _get("/servers", servers.index),
    _post("/servers/previews", servers.ask),
    _get("/servers/previews/{probe_id}", servers.show),
    _get("/demo", demo.show),
    _get("/live/home", live.home),
    _get("/live/approvals", live.approvals),
    _get("/live/sessions", live.sessions),
    _get("/live/traces", live.traces),
    _get("/live/session/{session_id}", live.session),
    _get("/live/trace/{session_id}", live.trace),
    _get("/live/servers", live.servers),
    _get("/live/pending", live.pending),
    _get("/sign-in", auth.ask),
    _get("/sign-in/{token}", auth.confirm),
    _post("/sign-in/{token}", auth.sign_in),
    _post("/sign-out", auth.sign_out),
    _get("/static/{path:path}", static.serve),
    _get("/favicon.ico", static.favicon),
]
