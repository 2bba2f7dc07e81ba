import { z } from "zod";
import type { Credential, World } from "./matrix-credentials.ts";
import type { Answer, Policy } from "./matrix-policies.ts";
import { messageIn } from "./mcp-messages.ts";

/** An operation of the service, with its access policy. */
export interface Row {
  readonly policy: Policy;
  /** Sends a request that would cause harm if it were accepted. */
  send(credential: Credential): Promise<Response>;
}

/** Every error body of the REST API (RFC 9457). */
const ProblemBody = z.strictObject({
  type: z.string().startsWith("urn:market-signal:problem:"),
  title: z.string(),
  status: z.number(),
  detail: z.string(),
  code: z.string(),
  next: z.string().optional(),
  instance: z.string().startsWith("/"),
  requestId: z.string().regex(/^[\w.-]{1,64}$/),
});

/** Every error body of the OAuth endpoints (RFC 6749 section 5.2). */
const OAuthBody = z.strictObject({
  error: z.string().regex(/^[a-z_]+$/),
  error_description: z.string().optional(),
  next: z.string().optional(),
  scope: z.string().optional(),
  /**
   * In claim errors: the page where a person claims the agent, and the URL where the agent gets a
   * new code.
   */
  page: z.string().optional(),
  start_url: z.string().optional(),
});

/** Internals that no answer may contain: stack traces, file paths, and names of the database. */
const INSIDE =
  /\bat (?:[^"\n]* \()?[^\s"]*[/\\][^\s"]+:\d+:\d+|node_modules|\/src\/|\.ts\b|SQLITE|oidc:|sha256:[\w-]{43}(?![\w-])/;

/** Sends one operation with every credential. @returns One line per wrong answer. */
export async function deviations(row: Row, world: World, base: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const credential of world.credentials) {
    const expected = row.policy(credential, world.victims);
    const response = await row.send(credential);
    const body = await response.text();
    const misplaced = wrongStatus(expected, response);
    const wrong = [
      ...misplaced,
      ...(misplaced.length > 0 ? [] : wrongChallenge(expected, response, base)),
      ...(misplaced.length > 0 ? [] : wrongBody(expected, response, body)),
      ...leaks(response, body, world.secrets),
    ];
    found.push(...wrong.map((what) => `${credential.name}: ${what}; ${body.slice(0, 200)}`));
  }
  return found;
}

function wrongStatus({ status, location }: Answer, response: Response): readonly string[] {
  const to = response.headers.get("location") ?? "";
  return [
    ...(status.includes(response.status) ? [] : [`${response.status} for ${status.join(" or ")}`]),
    ...(to.startsWith(location ?? "") ? [] : [`leads to ${to}`]),
  ];
}

function wrongChallenge(
  { challenge, status }: Answer,
  response: Response,
  base: string,
): readonly string[] {
  const header = response.headers.get("www-authenticate");
  if (challenge === undefined) {
    const isBearer = header?.startsWith("Bearer") && !status.includes(401);
    return isBearer ? [`challenges with ${header}`] : [];
  }
  const { error, scope, resource } = challenge;
  const told = parametersOf(header ?? "");
  const expected = {
    error,
    scope,
    resource_metadata: `${base}/.well-known/oauth-protected-resource${resource}`,
  };
  return Object.entries(expected)
    .filter(([name, value]) => told[name] !== value)
    .map(([name, value]) => `challenge has ${name}=${told[name]} for ${value}`);
}

/** The parameters of a Bearer challenge (RFC 6750 section 3). */
const parametersOf = (header: string): Readonly<Record<string, string | undefined>> =>
  header.startsWith("Bearer ")
    ? Object.fromEntries(Array.from(header.matchAll(/(\w+)="([^"]*)"/g), ([, k, v]) => [k, v]))
    : {};

function wrongBody({ body }: Answer, response: Response, text: string): readonly string[] {
  const type = response.headers.get("content-type") ?? "";
  switch (body) {
    case "problem":
      return isOf(ProblemBody, "application/problem+json", { type, text });
    case "oauth":
      return isOf(OAuthBody, "application/json", { type, text });
    case "page":
      return type.startsWith("text/html") ? [] : [`is ${type} for a page`];
    case "claim":
      return isClaimRequest(text) ? [] : ["does not ask for a claim"];
    case "empty":
      return text === "" ? [] : ["has a body"];
    default:
      return [];
  }
}

/**
 * Whether every message in an answer is a tool result that asks for a claim and contains no data.
 */
function isClaimRequest(text: string): boolean {
  const members = ["code", "detail", "next", "claim"];
  return [messageIn(text)].flat().every(({ result }) => {
    const { code, ...others } = (result?.structuredContent ?? {}) as { readonly code?: string };
    const isRefused = result?.isError === true && code === "claim_required";
    return isRefused && Object.keys(others).every((name) => members.includes(name));
  });
}

function isOf(
  schema: z.ZodType,
  mediaType: string,
  { type, text }: { readonly type: string; readonly text: string },
): readonly string[] {
  if (!type.startsWith(mediaType)) return [`is ${type} for ${mediaType}`];
  const { error } = schema.safeParse(JSON.parse(text));
  return error === undefined ? [] : [`body: ${z.prettifyError(error)}`];
}

function leaks(response: Response, body: string, secrets: readonly string[]): readonly string[] {
  const said = `${[...response.headers].join("\n")}\n${body}`;
  const repeated = secrets.filter((secret) => said.includes(secret));
  const inside = INSIDE.exec(said)?.[0];
  return [
    ...repeated.map((secret) => `repeats the secret ${secret.slice(0, 12)}…`),
    ...(inside === undefined ? [] : [`tells of ${inside}`]),
    ...(response.headers.has("x-powered-by") ? ["says what it runs on"] : []),
  ];
}
