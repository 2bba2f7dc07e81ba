import { createHash, randomBytes } from "node:crypto";
import type { Scope } from "../../src/access/scopes.ts";
import { postForm, type RegisteredAgent, register } from "./agent.ts";
import { createWeb, type Web, type WebPage } from "./web.ts";

/** Decision of a person on the consent page. */
interface Decision {
  readonly decision?: "allow" | "deny";
  /** Granted scopes; absent: all requested scopes. */
  readonly scopes?: readonly string[];
}

/** Parameters of an authorization request. */
interface Asked {
  readonly scope?: string;
  /** Resource of the tokens; absent: the whole service. */
  readonly resource?: string;
  /** Absent: a new public client. */
  readonly client?: RegisteredAgent;
}

/** Token response to an authorization code. */
export interface UserTokens {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly scope: string;
  /** The client that received the tokens. */
  readonly client: RegisteredAgent;
  /** The exchanged code. */
  readonly code: string;
}

/** A person with their own browser. */
export interface Person {
  readonly email: string;
  readonly web: Web;
  /** Signs in. @param page A sign-in page to continue from; absent: opens `/sign-in`. */
  signIn(page?: WebPage): Promise<WebPage>;
  /**
   * Follows an authorization request, signs in if necessary, and decides. @returns The final
   * redirect.
   */
  authorize(request: string | URL, decision?: Decision): Promise<URL>;
  /** Gets tokens for the person through a public client. */
  tokens(asked?: Asked): Promise<UserTokens>;
  /** Creates an API key on the account page. */
  createKey(scopes: readonly Scope[]): Promise<string>;
  /** Claims an agent with its code on the claim page. */
  claim(agentId: string, code: string): Promise<WebPage>;
}

/** Redirect URI of the public clients; no server listens there. */
export const CALLBACK = "http://127.0.0.1/callback";

/** All scopes, separated by spaces. */
export const ALL_SCOPES = "signals:read factor:read darkpool:read alerts:write";

/** Options of a person. */
interface PersonOptions {
  readonly base: string;
  readonly email: string;
  /** Returns the newest code that was sent to the email address. */
  readonly codeOf: (email: string) => string | Promise<string>;
}

/** Registers a public client for the authorization code flow. */
export const registerPublic = (base: string, changes: object = {}) =>
  register(base, {
    redirect_uris: [CALLBACK],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
    scope: ALL_SCOPES,
    ...changes,
  });

/** Creates an authorization request with PKCE. @returns Its URL and the code verifier. */
export function authorizationRequest(
  base: string,
  parameters: Readonly<Record<string, string | undefined>>,
): { readonly url: URL; readonly verifier: string } {
  const verifier = randomBytes(32).toString("base64url");
  const url = new URL(`${base}/oauth/authorize`);
  const all = {
    response_type: "code",
    redirect_uri: CALLBACK,
    scope: ALL_SCOPES,
    state: randomBytes(8).toString("hex"),
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
    ...parameters,
  };
  for (const [name, value] of Object.entries(all)) {
    if (value !== undefined) url.searchParams.set(name, value);
  }
  return { url, verifier };
}

/** Creates a person with a new browser. */
export function createPerson({ base, email, codeOf }: PersonOptions): Person {
  const web = createWeb(base);

  async function authorize(request: string | URL, decision: Decision = {}): Promise<URL> {
    let page = await web.get(request);
    if (page.url.pathname === "/sign-in") page = await web.signIn(email, codeOf, page);
    if (page.leavesFor !== undefined) return page.leavesFor;
    const { decision: choice = "allow", scopes } = decision;
    const filled = { decision: choice, ...(scopes && { scope: scopes }) };
    const decided = await web.submit(page.form(page.url.pathname), filled);
    const { leavesFor } = choice === "deny" ? await afterRefusal(decided) : decided;
    if (leavesFor === undefined) throw new Error(`consent led nowhere: ${page.html}`);
    return leavesFor;
  }

  /**
   * After a denial, returns the person to the application. If the person has never approved the
   * application's redirect URI, a page with a link is shown instead of a redirect; this follows it.
   */
  async function afterRefusal(page: WebPage): Promise<WebPage> {
    const [, onward] = /<a href="([^"]+)">Tell it</.exec(page.html) ?? [];
    return onward === undefined ? page : web.get(onward);
  }

  async function opened(path: string): Promise<WebPage> {
    const page = await web.get(path);
    return page.url.pathname === "/sign-in" ? web.signIn(email, codeOf, page) : page;
  }

  return {
    email,
    web,
    authorize,
    signIn: (page) => web.signIn(email, codeOf, page),
    async tokens({ scope = ALL_SCOPES, resource = base, client } = {}) {
      const { client_id, ...others } = client ?? (await registerPublic(base));
      const { url, verifier } = authorizationRequest(base, { client_id, scope, resource });
      const code = (await authorize(url)).searchParams.get("code") ?? "";
      const response = await postForm(`${base}/oauth/token`, {
        grant_type: "authorization_code",
        client_id,
        code,
        redirect_uri: CALLBACK,
        code_verifier: verifier,
      });
      const tokens = (await response.json()) as UserTokens;
      if (!response.ok) throw new Error(`no tokens: ${JSON.stringify(tokens)}`);
      return { ...tokens, code, client: { client_id, ...others } };
    },
    async createKey(scope) {
      const form = (await opened("/account")).form("/account/keys");
      const { html } = await web.submit(form, { name: `key ${scope.join(" ")}`, scope });
      const [key] = /msv_[a-z]+_\w+/.exec(html) ?? [];
      if (key === undefined) throw new Error(`no key: ${html}`);
      return key;
    },
    async claim(agentId, code) {
      const form = (await opened(`/claim?agent=${agentId}`)).form("/claim");
      const shown = await web.submit(form, { agent_id: agentId, code });
      return web.submit(shown.form("/claim/confirm"));
    },
  };
}
