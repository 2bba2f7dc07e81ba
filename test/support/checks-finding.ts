import * as oauth from "oauth4webapi";

/** A JSON object. */
export type Json = Readonly<Record<string, unknown>>;

const insecure = { [oauth.allowInsecureRequests]: true };
const CARD_TYPE = "application/mcp-server-card+json";
const DESCRIPTION_TYPE = "application/vnd.oai.openapi+json";

async function json(address: string): Promise<Json> {
  const response = await fetch(address);
  if (response.status !== 200) throw new Error(`${address} answers ${response.status}`);
  return (await response.json()) as Json;
}

/** The descriptions of an endpoint (RFC 8631, RFC 9264). */
interface LinkContext {
  readonly "service-desc"?: readonly { readonly href: string; readonly type: string }[];
}

/**
 * Reads the API catalog (RFC 9727). @returns The server card and the OpenAPI document that it links
 * to.
 */
export async function discoverDescriptions(baseUrl: string, steps: string[]) {
  const catalog = new URL("/.well-known/api-catalog", baseUrl).href;
  const { linkset } = (await json(catalog)) as { linkset: readonly LinkContext[] };
  const links = linkset.flatMap((context) => context["service-desc"] ?? []);
  const addressOf = (wanted: string) => links.find(({ type }) => type === wanted)?.href ?? "";
  const [card, description] = [addressOf(CARD_TYPE), addressOf(DESCRIPTION_TYPE)];
  steps.push(`catalog ${catalog}`, `card ${card}`, `description ${description}`);
  return { card: await json(card), description: JSON.stringify(await json(description)) };
}

/**
 * Finds the authorization server from the challenge of a 401, and registers a client there.
 *
 * @returns A function that gets tokens for the refusing resource, and three things that were found
 * on the way: the link `skill`, the scopes, and the registration.
 */
export async function authorizeByChallenge(endpoint: string, steps: string[]) {
  const refused = await fetch(endpoint, { method: "POST" });
  const challenge = refused.headers.get("www-authenticate") ?? "";
  if (refused.status !== 401) throw new Error(`${endpoint} answers ${refused.status}`);
  const [, metadata = ""] = /resource_metadata="([^"]+)"/.exec(challenge) ?? [];
  steps.push(`POST ${endpoint}: 401`, `resource ${metadata}`);
  const resource = await oauth.processResourceDiscoveryResponse(
    new URL(endpoint),
    await fetch(metadata),
  );

  const issuer = new URL(resource.authorization_servers?.[0] ?? "");
  const found = await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...insecure });
  const server = await oauth.processDiscoveryResponse(issuer, found);
  steps.push(`authorization server ${server.issuer}`);

  const wish = { client_name: "Blind", grant_types: ["client_credentials"], response_types: [] };
  const registered = await oauth.dynamicClientRegistrationRequest(server, wish, insecure);
  const client = await oauth.processDynamicClientRegistrationResponse(registered);
  steps.push(`registered at ${server.registration_endpoint}`);

  async function token(scope = ""): Promise<string> {
    const authentication = oauth.ClientSecretPost(String(client.client_secret));
    const parameters = { resource: resource.resource, ...(scope && { scope }) };
    const answer = await oauth.clientCredentialsGrantRequest(
      server,
      client,
      authentication,
      parameters,
      insecure,
    );
    const { access_token } = await oauth.processClientCredentialsResponse(server, client, answer);
    return access_token;
  }
  const { skill } = server.agent_auth as unknown as { skill: string };
  const scopes = String(client.scope).split(" ");
  return { token, skill, scopes, registration: client as Json };
}
