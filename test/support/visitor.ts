import type { Interaction } from "../../src/auth/oidc/interactions.ts";
import { postForm, type RegisteredAgent } from "./agent.ts";
import type { AuthServer } from "./auth-server.ts";
import { authorizationRequest, CALLBACK, registerPublic } from "./person.ts";
import { createWeb, type WebPage } from "./web.ts";

/** Decision of a person: deny, or allow some scopes; `undefined`: allow all. */
type Answer = "deny" | readonly string[] | undefined;

/** An answer of the token endpoint. */
export interface VisitorAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, string>>;
}

/** A person with their own browser, at an authorization server without pages. */
export interface Visitor {
  /** Signs in. @returns The id of the account. */
  signIn(email?: string): Promise<string>;
  signOut(): Promise<void>;
  /** Cookie header for requests outside the browser. @param target Absent: the whole site. */
  cookie(target?: URL): string;
  /** Follows an authorization request to the interaction, or to the redirect URI. */
  open(request: string | URL): Promise<WebPage>;
  /** Answers an interaction. @returns The page that the browser reaches. */
  answer(page: WebPage, answer: "deny" | readonly string[]): Promise<WebPage>;
  /** Follows an authorization request to the end. @returns The final redirect. */
  authorize(request: string | URL, answer?: Answer): Promise<URL>;
}

/** The interaction data on a page. */
export const interactionOn = (page: WebPage): Interaction => JSON.parse(page.html);

/** Creates a person with a new browser. */
export function createVisitor({ local }: Pick<AuthServer, "local">): Visitor {
  const web = createWeb(local);
  const send = (path: string, fields: readonly (readonly [string, string])[] = []) =>
    web.submit({ action: new URL(path, local).href, fields });
  const answer: Visitor["answer"] = (page, given) => send(page.url.pathname, fieldsOf(given));
  return {
    signIn: async (email = "person@example.com") =>
      JSON.parse((await send("/sign-in", [["email", email]])).html),
    signOut: async () => void (await send("/sign-out")),
    cookie: (target) => web.cookie(target),
    open: (request) => web.get(request),
    answer,
    async authorize(request, given) {
      const page = await web.get(request);
      if (page.leavesFor !== undefined) return page.leavesFor;
      const { prompt, scopes } = interactionOn(page);
      if (prompt !== "consent") throw new Error(`nobody is asked: ${page.html}`);
      const { leavesFor, html } = await answer(page, given ?? scopes);
      if (leavesFor === undefined) throw new Error(`consent led nowhere: ${html}`);
      return leavesFor;
    },
  };
}

export function fieldsOf(
  answer: "deny" | readonly string[],
): readonly (readonly [string, string])[] {
  if (answer === "deny") return [["decision", "deny"]];
  return [["decision", "allow"], ...answer.map((scope) => ["scope", scope] as const)];
}

/** A client, and the token request with the code that a person granted to it. */
export interface ConsentResult {
  readonly client: RegisteredAgent;
  readonly form: Readonly<Record<string, string>>;
}

/**
 * Lets a person grant a code to a client. @param parameters Parameters of the authorization
 * request.
 */
export async function giveConsent(
  { local }: Pick<AuthServer, "local">,
  visitor: Visitor,
  { client, ...parameters }: { readonly client?: RegisteredAgent } & Record<string, unknown> = {},
): Promise<ConsentResult> {
  const asking = client ?? (await registerPublic(local));
  const { client_id } = asking;
  const { url, verifier } = authorizationRequest(local, { client_id, ...parameters });
  const { searchParams } = await visitor.authorize(url);
  const code = searchParams.get("code");
  if (code === null) throw new Error(`no code: ${searchParams}`);
  return {
    client: asking,
    form: {
      grant_type: "authorization_code",
      client_id,
      code,
      redirect_uri: CALLBACK,
      code_verifier: verifier,
    },
  };
}

/** Sends a token request. */
export async function exchange(
  { local }: Pick<AuthServer, "local">,
  form: Readonly<Record<string, string>>,
): Promise<VisitorAnswer> {
  const response = await postForm(`${local}/oauth/token`, form);
  return { status: response.status, body: (await response.json()) as VisitorAnswer["body"] };
}
