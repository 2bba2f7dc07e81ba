import { findInstruments } from "../../../../tools/find-instruments.ts";
import { SERVER_NAME } from "../../../../wellknown/server-card.ts";
import type { Scope } from "../../../access/scopes.ts";
import type { Site } from "../../../answers/site.ts";
import { paths } from "../../../lib/paths.ts";
import { ACCOUNT_PATH } from "../return-to.ts";

/** Instructions for connecting a client to the MCP endpoint. */
export interface ClientSetup {
  readonly name: string;
  /** Plain text: where to put the configuration, and how the client gets its token. */
  readonly intro: string;
  /** Configuration to copy. */
  readonly code: string;
  readonly language: "json" | "shell" | "text" | "toml" | "yaml";
}

/** Name of the environment variable from which the examples read an API key. */
const KEY_VARIABLE = "MARKET_SIGNAL_KEY";

/** Placeholder for an API key. */
const KEY_PLACEHOLDER = "YOUR_API_KEY";

/**
 * Configurations of common clients, for streamable HTTP. Most clients find the authorization server
 * through the endpoint's 401 response, register themselves and send the person to that server. Such
 * a client may ignore a configured `Authorization` header, so its configuration contains none.
 *
 * @param site Public origin, and the scopes of unclaimed agents.
 */
export function clientSetups(
  site: Pick<Site, "baseUrl" | "anonymousScopes">,
): readonly ClientSetup[] {
  const { baseUrl, anonymousScopes } = site;
  const isOpen = anonymousScopes.length > 0;
  const message = messageFor(anonymousScopes);
  const endpoint = baseUrl + paths.mcp;
  return [
    {
      name: "Claude Code",
      intro:
        "Run this in a terminal, then type /mcp in Claude Code and sign in: it registers itself and gets its token by OAuth.",
      code: `claude mcp add --transport http ${SERVER_NAME} ${endpoint}`,
      language: "shell",
    },
    {
      name: "Claude Desktop and claude.ai",
      intro:
        "Under Customize, Connectors, add a custom connector with this address, then connect it and sign in: it registers itself and gets its token by OAuth. Claude calls from the internet and must reach the address there, by https.",
      code: endpoint,
      language: "text",
    },
    ...editors(endpoint),
    ...terminals(endpoint),
    apiKeyClient(baseUrl),
    isOpen
      ? {
          name: "curl",
          intro: `Works as it stands in any POSIX shell: it registers an agent, gets a token with its secret and asks the MCP endpoint. To use an API key instead, set ${KEY_VARIABLE} to it first.`,
          code: `${tokenScript(baseUrl)}\n${requestScript({ endpoint: `$base${paths.mcp}`, token: "$token", message })}`,
          language: "shell",
        }
      : {
          name: "curl",
          intro: `Set ${KEY_VARIABLE} to an API key first, which you make at ${baseUrl}${ACCOUNT_PATH}: this service gives no access to agents without an owner.`,
          code: requestScript({ endpoint, token: `$${KEY_VARIABLE}`, message }),
          language: "shell",
        },
  ];
}

/** Clients that are configured per project. */
const editors = (endpoint: string): readonly ClientSetup[] => [
  {
    name: "Cursor",
    intro:
      "Put this into .cursor/mcp.json of a project, or ~/.cursor/mcp.json for all, and sign in when Cursor asks: it registers itself and gets its token by OAuth.",
    code: json({ mcpServers: { [SERVER_NAME]: { url: endpoint } } }),
    language: "json",
  },
  {
    name: "VS Code",
    intro:
      "Put this into .vscode/mcp.json of a project, start the server there and sign in: VS Code registers itself and gets its token by OAuth.",
    // The documentation of VS Code asks for names in camel case.
    code: json({ servers: { marketSignal: { type: "http", url: endpoint } } }),
    language: "json",
  },
];

/** Clients that are configured per user. */
const terminals = (endpoint: string): readonly ClientSetup[] => [
  {
    name: "OpenAI Codex",
    intro: `Put this into ~/.codex/config.toml, then run codex mcp login ${SERVER_NAME} and sign in: it registers itself and gets its token by OAuth. Where there is no browser, add the line bearer_token_env_var = "${KEY_VARIABLE}" and set that variable to an API key.`,
    code: `[mcp_servers.${SERVER_NAME}]\nurl = ${JSON.stringify(endpoint)}`,
    language: "toml",
  },
  {
    name: "Gemini CLI",
    intro: `Put this into ~/.gemini/settings.json, then type /mcp auth ${SERVER_NAME} and sign in: it registers itself and gets its token by OAuth.`,
    code: json({ mcpServers: { [SERVER_NAME]: { httpUrl: endpoint } } }),
    language: "json",
  },
  {
    name: "Goose",
    intro:
      "Put this under extensions in ~/.config/goose/config.yaml, or enter the address in goose configure as a remote extension (streamable HTTP), then sign in when Goose opens the browser: it registers itself and gets its token by OAuth.",
    code: `extensions:
  ${SERVER_NAME}:
    type: streamable_http
    name: ${SERVER_NAME}
    enabled: true
    uri: ${JSON.stringify(endpoint)}
    headers: {}
    env_keys: []
    envs: {}
    timeout: 300`,
    language: "yaml",
  },
];

const apiKeyClient = (baseUrl: string): ClientSetup => ({
  name: "Other clients, with an API key",
  intro: `Most clients read a file of this form and send the header with every request. Make the key at ${baseUrl}${ACCOUNT_PATH} and put it in place of ${KEY_PLACEHOLDER}; keep it out of files that others read.`,
  code: json({
    mcpServers: {
      [SERVER_NAME]: {
        type: "http",
        url: baseUrl + paths.mcp,
        headers: { Authorization: `Bearer ${KEY_PLACEHOLDER}` },
      },
    },
  }),
  language: "json",
});

const json = (value: object): string => JSON.stringify(value, undefined, 2);

/**
 * An MCP message that any caller may send: a call of `find_instruments` or, if unclaimed agents
 * lack the scopes for it, a request for the list of tools.
 */
function messageFor(anonymousScopes: readonly Scope[]): object {
  const { name, scopes } = findInstruments;
  const isAllowed = scopes.every((scope) => anonymousScopes.includes(scope));
  const isForbidden = anonymousScopes.length > 0 && !isAllowed;
  return isForbidden
    ? { jsonrpc: "2.0", id: 1, method: "tools/list" }
    : {
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: { name, arguments: { limit: 1 } },
      };
}

/**
 * A shell script that registers an agent and gets a token. It needs only curl and sed, because
 * responses are one line of JSON and the members that it reads contain no quotes. If it fails, the
 * shell into which it is pasted stays open.
 */
const tokenScript = (baseUrl: string): string => String.raw`base="${baseUrl}"
member() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }
new_token() {
  agent=$(curl -fsS "$base${paths.register}" \
    -H "Content-Type: application/json" \
    -d '{"client_name": "My agent", "grant_types": ["client_credentials"]}')
  curl -fsS "$base${paths.token}" \
    -d grant_type=client_credentials \
    -d "client_id=$(printf '%s\n' "$agent" | member client_id)" \
    -d "client_secret=$(printf '%s\n' "$agent" | member client_secret)" |
    member access_token
}
token=${"${"}${KEY_VARIABLE}:-$(new_token)}`;

/**
 * Values in the curl command. `endpoint` and `token` stand between double quotes, so they may
 * contain shell variables; `message` is the JSON body.
 */
interface ScriptParameters {
  readonly endpoint: string;
  readonly token: string;
  readonly message: object;
}

const requestScript = ({
  endpoint,
  token,
  message,
}: ScriptParameters): string => String.raw`curl -fsS "${endpoint}" \
  -H "Authorization: Bearer ${token}" \
  -H "Content-Type: application/json" \
  -H "Accept: application/json, text/event-stream" \
  -d '${JSON.stringify(message)}'`;
