import { runningMethod } from "../../src/method/running.ts";
import { discoveryDocuments } from "../../wellknown/index.ts";
import { postJson } from "./agent.ts";
import type { Row } from "./matrix.ts";
import type { Credential, Victims } from "./matrix-credentials.ts";
import {
  claimPolicy,
  claimStart,
  clientAuthentication,
  foreignPage,
  formPolicy,
  NOT_OWNED,
  type Policy,
  pagePolicy,
  publicPolicy,
  registrationToken,
  revocationPolicy,
  scopePolicy,
  userInfo,
} from "./matrix-policies.ts";

/** Parameters of the requests in the table. */
export interface Target {
  readonly base: string;
  readonly victims: Victims;
  /** Ids of the victim's key, agent, connected application, interaction and alert. */
  readonly ids: Readonly<Record<"key" | "agent" | "application" | "interaction" | "alert", string>>;
}

type Init = Omit<RequestInit, "headers"> & { readonly headers?: Readonly<Record<string, string>> };

/** A channel id that does not exist. */
const UNKNOWN_CHANNEL = "chan_0000000000000000";

const MODERN = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};

/** Posts an MCP message as a client of revision 2026-07-28. */
export const postMcp = (
  base: string,
  { method, params = {} }: { readonly method: string; readonly params?: object },
  { headers }: Pick<Credential, "headers">,
) => {
  const { name, uri } = params as { name?: string; uri?: string };
  return postJson(
    `${base}/mcp`,
    { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: MODERN } },
    {
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...((name ?? uri) && { "mcp-name": String(name ?? uri) }),
      ...headers,
    },
  );
};

/** Reads only the first chunk of an answer that stays open; a refusal is returned whole. */
async function begun(sent: Promise<Response>): Promise<Response> {
  const response = await sent;
  const { ok, status, headers } = response;
  if (!ok) return response;
  await response.body?.cancel();
  return new Response(null, { status, headers });
}

/**
 * The expected access policy of every route. A route that is missing here fails the test with its
 * name.
 */
export function routeTable({ base, victims, ids }: Target): Readonly<Record<string, Row>> {
  const { client_id: agentId } = victims.agent;
  const row = (policy: Policy, path: string, init: Init = {}): Row => ({
    policy,
    send: ({ headers }) =>
      fetch(base + path, {
        redirect: "manual",
        ...init,
        headers: { ...init.headers, ...headers },
      }),
  });
  const json = (method: string, body: object): Init => ({
    method,
    body: JSON.stringify(body),
    headers: { "content-type": "application/json" },
  });
  const fields = (values: Readonly<Record<string, string>>): Init => ({
    method: "POST",
    body: new URLSearchParams(values),
  });
  /** A form that is complete except for the browser's CSRF token. */
  const forged = (path: string, values: Readonly<Record<string, string>> = {}) =>
    row(formPolicy, path, fields({ form_token: "x".repeat(43), ...values }));
  const client = json("PUT", { client_id: agentId, grant_types: ["client_credentials"] });

  const alert = `/api/alerts/${ids.alert}`;
  const told = scopePolicy("", "alerts:write signals:read");
  const notTold = scopePolicy("", "alerts:write signals:read", NOT_OWNED);
  const ofVictim = scopePolicy("", "alerts:write", NOT_OWNED);
  const made = scopePolicy("", "alerts:write signals:read", { status: [201] });

  return {
    "GET /.well-known/oauth-authorization-server": row(
      publicPolicy(200),
      "/.well-known/oauth-authorization-server",
    ),
    "GET /.well-known/openid-configuration": row(
      publicPolicy(200),
      "/.well-known/openid-configuration",
    ),
    "GET /.well-known/jwks.json": row(publicPolicy(200), "/.well-known/jwks.json"),
    ...Object.fromEntries(
      discoveryDocuments.map(({ path }) => [`GET ${path}`, row(publicPolicy(200), path)] as const),
    ),
    "GET /.well-known/webhook-keys.json": row(publicPolicy(200), "/.well-known/webhook-keys.json"),
    "GET /docs/api": row(publicPolicy(200), "/docs/api"),
    "GET /docs/api.md": row(publicPolicy(200), "/docs/api.md"),
    "GET /docs/api/oauth2-redirect.html": row(publicPolicy(200), "/docs/api/oauth2-redirect.html"),
    "GET /assets/reference.js": row(publicPolicy(200), "/assets/reference.js"),
    "GET /assets/reference.css": row(publicPolicy(200), "/assets/reference.css"),
    "GET /assets/signed-in.js": row(publicPolicy(200), "/assets/signed-in.js"),
    "GET /api/health": row(publicPolicy(200), "/api/health"),
    "GET /readyz": row(publicPolicy(200), "/readyz"),
    "GET /livez": row(publicPolicy(200), "/livez"),
    "GET /assets/pages.css": row(publicPolicy(200), "/assets/pages.css"),
    "GET /assets/copy.js": row(publicPolicy(200), "/assets/copy.js"),
    "GET /assets/live.js": row(publicPolicy(200), "/assets/live.js"),
    "GET /assets/proof.js": row(publicPolicy(200), "/assets/proof.js"),
    "GET /": row(publicPolicy(200), "/"),
    "GET /operator": row(publicPolicy(403), "/operator"),
    "GET /contact": row(publicPolicy(200), "/contact"),
    "POST /contact": forged("/contact", { email: "matrix@example.com", message: "Hello" }),
    "GET /apply": row(publicPolicy(200), "/apply"),
    "POST /apply": forged("/apply", { name: "Matrix", email: "matrix@example.com" }),
    "GET /market/:symbol": row(publicPolicy(200), "/market/ALDER.SIM"),
    "GET /market/:symbol/history.csv": row(publicPolicy(200), "/market/ALDER.SIM/history.csv"),
    "GET /market/:symbol/proof": row(publicPolicy(302), "/market/ALDER.SIM/proof"),
    "GET /market/:symbol/proof.tlog-proof": row(
      publicPolicy(302),
      "/market/ALDER.SIM/proof.tlog-proof",
    ),
    "GET /track-record": row(publicPolicy(200), "/track-record"),
    "POST /api/apply": row(
      publicPolicy(200),
      "/api/apply",
      json("POST", { name: "Matrix", email: "matrix@example.com" }),
    ),
    "POST /api/contact": row(
      publicPolicy(200),
      "/api/contact",
      json("POST", { email: "matrix@example.com", message: "Hello" }),
    ),

    "GET /api/signals": row(scopePolicy("", "signals:read"), "/api/signals?limit=1"),
    "GET /api/export": row(
      scopePolicy("", "signals:read"),
      "/api/export?assetClass=stock&limit=100",
    ),
    "GET /api/openbb/:widget": row(scopePolicy("", "signals:read"), "/api/openbb/signal"),
    "GET /api/signals/verify": row(
      scopePolicy("", "signals:read"),
      "/api/signals/verify?symbol=ALDER.SIM",
    ),
    "GET /api/track-record": row(scopePolicy("", "signals:read"), "/api/track-record"),
    "GET /log/checkpoint": row(publicPolicy(200), "/log/checkpoint"),
    "GET /log/keys": row(publicPolicy(200), "/log/keys"),
    "GET /log/tile/:tile": row(publicPolicy(200), "/log/tile/0/000.p/1"),
    "GET /log/consistency": row(publicPolicy(200), "/log/consistency?from=1&to=2"),
    // Log entries of the sandbox are public, because they are simulated.
    "GET /log/tile/entries/:bundle": row(publicPolicy(200), "/log/tile/entries/000.p/1"),
    "GET /log/proof/:index": row(publicPolicy(200), "/log/proof/0"),
    "GET /api/instruments": row(scopePolicy("", "signals:read"), "/api/instruments?limit=1"),
    "GET /api/factors": row(scopePolicy("", "factor:read"), "/api/factors?symbol=ALDER.SIM"),
    "GET /api/method/:version": row(
      scopePolicy("", "factor:read"),
      `/api/method/${runningMethod().version}`,
    ),
    "GET /api/darkpool": row(scopePolicy("", "darkpool:read"), "/api/darkpool?symbol=ALDER.SIM"),
    "POST /api/alerts": row(made, "/api/alerts", json("POST", { symbols: ["ALDER.SIM"] })),
    "GET /api/alerts": row(scopePolicy("", "signals:read"), "/api/alerts"),
    "GET /api/alerts/events": row(told, "/api/alerts/events"),
    "GET /api/alerts/stream": {
      policy: told,
      send: ({ headers }) => begun(fetch(`${base}/api/alerts/stream`, { headers })),
    },
    "GET /api/alerts/:id": row(scopePolicy("", "signals:read", NOT_OWNED), alert),
    "PATCH /api/alerts/:id": row(ofVictim, alert, json("PATCH", { label: "stolen" })),
    "DELETE /api/alerts/:id": row(ofVictim, alert, { method: "DELETE" }),
    "POST /api/alerts/:id/test": row(ofVictim, `${alert}/test`, { method: "POST" }),
    "POST /api/alerts/:id/rotate": row(ofVictim, `${alert}/rotate`, { method: "POST" }),
    "POST /api/alerts/:id/enable": row(ofVictim, `${alert}/enable`, { method: "POST" }),
    "POST /api/alerts/:id/redeliver": row(
      ofVictim,
      `${alert}/redeliver`,
      json("POST", { since: "2026-11-21T00:00:00Z" }),
    ),
    "GET /api/alerts/:alertId/deliveries": row(notTold, `${alert}/deliveries`),
    "POST /api/alerts/:id/deliveries/:eventId/redeliver": row(
      ofVictim,
      `${alert}/deliveries/msg_x/redeliver`,
      { method: "POST" },
    ),
    "GET /api/watchlists": row(told, "/api/watchlists"),
    "POST /api/watchlists": row(
      told,
      "/api/watchlists",
      json("POST", { watchlist: "Mine", symbols: ["ALDER.SIM"] }),
    ),
    "PATCH /api/watchlists/:watchlist": row(
      notTold,
      "/api/watchlists/Victims",
      json("PATCH", { action: "remove", symbols: ["ALDER.SIM"] }),
    ),
    "DELETE /api/watchlists/:watchlist": row(notTold, "/api/watchlists/Victims", {
      method: "DELETE",
    }),
    "POST /mcp": {
      policy: scopePolicy("/mcp"),
      send: (credential) => postMcp(base, { method: "tools/list" }, credential),
    },

    "POST /oauth/register": row(
      publicPolicy(201),
      "/oauth/register",
      json("POST", { grant_types: ["client_credentials"] }),
    ),
    "GET /oauth/register/:clientId": row(registrationToken, `/oauth/register/${agentId}`),
    "PUT /oauth/register/:clientId": row(registrationToken, `/oauth/register/${agentId}`, client),
    "DELETE /oauth/register/:clientId": row(registrationToken, `/oauth/register/${agentId}`, {
      method: "DELETE",
    }),
    "GET /oauth/userinfo": row(userInfo, "/oauth/userinfo"),
    "POST /oauth/userinfo": row(userInfo, "/oauth/userinfo", { method: "POST" }),
    "POST /oauth/token": row(
      clientAuthentication,
      "/oauth/token",
      fields({ grant_type: "client_credentials", client_id: agentId }),
    ),
    "POST /oauth/revoke": row(revocationPolicy, "/oauth/revoke", fields({ token: "unknown" })),
    "POST /oauth/claim": row(
      claimPolicy,
      "/oauth/claim",
      json("POST", { agent_id: agentId, claim_code: "00000000" }),
    ),
    "POST /oauth/claim/start": row(
      claimStart,
      "/oauth/claim/start",
      json("POST", { agent_id: agentId }),
    ),
    "GET /oauth/authorize": row(publicPolicy(400), "/oauth/authorize?client_id=nobody"),
    "GET /oauth/authorize/:uid": row(publicPolicy(400), `/oauth/authorize/${ids.interaction}`),
    "GET /oauth/interaction/:uid": row(publicPolicy(400), `/oauth/interaction/${ids.interaction}`),
    "POST /oauth/interaction/:uid": forged(`/oauth/interaction/${ids.interaction}`, {
      decision: "allow",
    }),

    "GET /sign-in": row(publicPolicy(200), "/sign-in"),
    "POST /sign-in": forged("/sign-in", { email: "matrix@example.com" }),
    "GET /sign-in/code": row(publicPolicy(200, 303), "/sign-in/code"),
    "POST /sign-in/code": forged("/sign-in/code", { code: "000000" }),
    "POST /sign-out": forged("/sign-out"),
    "GET /claim": row(pagePolicy, `/claim?agent=${agentId}`),
    "POST /claim": forged("/claim", { agent_id: agentId, code: victims.agent.claim.code }),
    "POST /claim/confirm": forged("/claim/confirm", {
      agent_id: agentId,
      code: victims.agent.claim.code,
    }),
    "POST /claim/approve": forged("/claim/approve", { attempt: "x" }),
    "GET /account": row(pagePolicy, "/account"),
    "POST /account/keys": forged("/account/keys", { name: "mine", scope: "signals:read" }),
    "POST /account/keys/:id/revoke": forged(`/account/keys/${ids.key}/revoke`),
    "POST /account/agents/:id/remove": forged(`/account/agents/${ids.agent}/remove`),
    "GET /account/alerts/new": row(pagePolicy, "/account/alerts/new"),
    "POST /account/alerts": forged("/account/alerts", { symbols: "ALDER.SIM" }),
    "GET /account/alerts/:id": row(foreignPage, `/account/alerts/${ids.alert}`),
    "POST /account/alerts/:id": forged(`/account/alerts/${ids.alert}`, { label: "stolen" }),
    "GET /account/alerts/:id/edit": row(foreignPage, `/account/alerts/${ids.alert}/edit`),
    "POST /account/alerts/:id/manage": forged(`/account/alerts/${ids.alert}/manage`, {
      action: "pause",
    }),
    "POST /account/alerts/:id/remove": forged(`/account/alerts/${ids.alert}/remove`),
    "GET /account/watchlists/new": row(pagePolicy, "/account/watchlists/new"),
    "POST /account/watchlists": forged("/account/watchlists", {
      symbols: "ALDER.SIM",
      name: "stolen",
    }),
    "POST /account/channels": forged("/account/channels", {
      ...{ kind: "email", name: "mine", to: "matrix@example.com" },
    }),
    ...Object.fromEntries(
      ["verify", "schedule", "code", "test", "pause", "resume", "share", "unshare", "remove"].map(
        (act) => [
          `POST /account/channels/:id/${act}`,
          forged(`/account/channels/${UNKNOWN_CHANNEL}/${act}`),
        ],
      ),
    ),
    "GET /unsubscribe/:token": row(publicPolicy(404), "/unsubscribe/x"),
    "POST /unsubscribe/:token": row(publicPolicy(404), "/unsubscribe/x", { method: "POST" }),
    "POST /unsubscribe/:token/allow": forged("/unsubscribe/x/allow"),
    "POST /unsubscribe/:token/browser": forged("/unsubscribe/x/browser"),
    "POST /account/watchlists/:id": forged("/account/watchlists/x"),
    "POST /account/watchlists/:id/remove": forged("/account/watchlists/x/remove"),
    "POST /account/applications/:id/remove": forged(
      `/account/applications/${ids.application}/remove`,
    ),
  };
}
