import { createHash, randomBytes } from "node:crypto";
import type { Scope } from "../../src/auth/scopes.ts";
import { postForm, type RegisteredAgent, register } from "./agent.ts";
import { createWeb, type Web, type WebPage } from "./web.ts";

/** What a person decides on the consent page. */
interface Decision {
  readonly decision?: "allow" | "deny";
  /** Absent: all that is asked for. */
  readonly scopes?: readonly string[];
}

/** What a person requests through an application. */
interface Asked {
  readonly scope?: string;
  /** Absent: the whole service. */
  readonly resource?: string;
  /** Absent: a public client that is registered for it. */
  readonly client?: RegisteredAgent;
}

/** The answer of the token endpoint to a code. */
export interface UserTokens {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly scope: string;
  /** The client that they were issued to. */
  readonly client: RegisteredAgent;
  /** The code that was exchanged. */
  readonly code: string;
}

/** A person at a browser of their own. */
export interface Person {
  readonly email: string;
  readonly web: Web;
  signIn(): Promise<WebPage>;
  /** Follows an authorization request, signs in when asked to, and decides. @returns Where the
   *  browser is sent in the end. */
  authorize(request: string | URL, decision?: Decision): Promise<URL>;
  /** Tokens that a public client gets for the person. */
  tokens(asked?: Asked): Promise<UserTokens>;
  /** Makes a key on the account page. */
  createKey(scopes: readonly Scope[]): Promise<string>;
  /** Claims an agent with the code that it was given, on the page. */
  claim(agentId: string, code: string): Promise<WebPage>;
}

/** Where the codes of a public client go; nobody listens there. */
export const CALLBACK = "http://127.0.0.1/callback";

/** Every scope there is. */
export const ALL_SCOPES = "signals:read factor:read darkpool:read alerts:write";

/** What a person is made from. */
interface PersonOptions {
  readonly base: string;
  readonly email: string;
  /** Finds the newest code that was sent to an address. */
  readonly codeOf: (email: string) => string | Promise<string>;
}

/** A public client for the authorization code flow. */
export const registerPublic = (base: string, changes: object = {}) =>
  register(base, {
    redirect_uris: [CALLBACK],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
    scope: ALL_SCOPES,
    ...changes,
  });

/** An authorization request with PKCE, and the verifier that belongs to it. */
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

/** A person at a new browser. */
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

  /** Follows the link of the page that comes before a site which the person never approved. */
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
    signIn: () => web.signIn(email, codeOf),
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
