/** The registration request of the interface description's example. */
export const EXAMPLE_REGISTRATION = {
  client_name: "Example Agent",
  redirect_uris: ["https://agent.example/callback"],
  grant_types: ["client_credentials", "refresh_token"],
  response_types: ["token"],
  scope: "signals:read darkpool:read factor:read",
  token_endpoint_auth_method: "client_secret_post",
};

/** The members of a registration response that tests use. */
export interface RegisteredAgent {
  readonly client_id: string;
  readonly client_secret: string;
  readonly registration_client_uri: string;
  readonly registration_access_token: string;
}

/** Registers a client. */
export async function register(base: string, changes: object = {}): Promise<RegisteredAgent> {
  const response = await postJson(`${base}/oauth/register`, {
    ...EXAMPLE_REGISTRATION,
    ...changes,
  });
  if (response.status !== 201) throw new Error(`registration failed: ${await response.text()}`);
  return (await response.json()) as RegisteredAgent;
}

/** An agent that a person can claim with its code. */
export type ClaimableAgent = RegisteredAgent & { readonly claim: { readonly code: string } };

/** Registers an agent that a person can claim. */
export const registerClaimable = (base: string, changes: object = {}): Promise<ClaimableAgent> =>
  register(base, changes) as Promise<ClaimableAgent>;

/**
 * Starts a claim by link.
 *
 * @param token A token of the agent, or its registration access token.
 * @returns The link that the agent gives to its person.
 */
export async function claimLink(
  base: string,
  { agent, token, login_hint }: { agent: RegisteredAgent; token: string; login_hint?: string },
): Promise<string> {
  const started = await postJson(
    `${base}/oauth/claim/start`,
    { agent_id: agent.client_id, ...(login_hint && { login_hint }) },
    { authorization: `Bearer ${token}` },
  );
  return ((await started.json()) as { readonly verification_uri: string }).verification_uri;
}

/**
 * Manages a client with its registration access token (RFC 7592).
 * @param changes Sent in an update, with the other members of the example; absent: no body.
 */
export function manageClient(
  client: RegisteredAgent,
  method: string,
  changes?: object,
): Promise<Response> {
  const authorization = `Bearer ${client.registration_access_token}`;
  const headers = { authorization, "content-type": "application/json" };
  const { client_id } = client;
  const body = JSON.stringify({ ...EXAMPLE_REGISTRATION, client_id, ...changes });
  return fetch(client.registration_client_uri, { method, headers, ...(changes && { body }) });
}

/** Gets an access token for a client by client credentials. */
export async function tokenOf(
  base: string,
  { client_id, client_secret }: RegisteredAgent,
  parameters: Readonly<Record<string, string>> = {},
): Promise<string> {
  const response = await postForm(`${base}/oauth/token`, {
    grant_type: "client_credentials",
    client_id,
    client_secret,
    ...parameters,
  });
  const body = (await response.json()) as { access_token?: string };
  if (body.access_token === undefined) throw new Error(`no token: ${JSON.stringify(body)}`);
  return body.access_token;
}

/** Registers a client and gets an access token for it. */
export async function newToken(
  base: string,
  parameters: Readonly<Record<string, string>> = {},
): Promise<string> {
  return tokenOf(base, await register(base), parameters);
}

export const postJson = (url: string, body: unknown, headers: Record<string, string> = {}) =>
  fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });

export const postForm = (url: string, form: Readonly<Record<string, string>>) =>
  fetch(url, { method: "POST", body: new URLSearchParams(form) });

/** Sends a GET request with a bearer token. */
export const getWith = (token: string, url: string) =>
  fetch(url, { headers: { authorization: `Bearer ${token}` } });
