import {
  isScope,
  parseScopeNames,
  type Scope,
  scopeDescriptions,
} from "../../src/access/scopes.ts";
import { postForm, postJson, type RegisteredAgent, register, tokenOf } from "./agent.ts";
import type { Person, UserTokens } from "./person.ts";

/** The party that a valid credential identifies. */
interface Holder {
  readonly kind: "agent" | "user" | "service";
  readonly scopes: readonly Scope[];
  /** `/mcp` for a token that is valid only there. */
  readonly resource: "" | "/mcp";
  /** Client id of the agent; absent: the holder is not an agent. */
  readonly agentId?: string;
}

/** A credential that a request can carry. */
export interface Credential {
  readonly name: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Absent: protected resources reject the credential. */
  readonly holder?: Holder;
  /** The person to whom the session cookie belongs. */
  readonly browser?: Person;
  /** Client id of the agent to which the registration access token belongs. */
  readonly registrationOf?: string;
  /**
   * Whether the credential has the form of a token or key, so that the challenge contains an error
   * code.
   */
  readonly isPresented: boolean;
}

/**
 * The owners of the things that the requests try to change; no request may change any of these
 * things.
 */
export interface Victims {
  /** An unclaimed agent with its claim code, and an access token of the agent. */
  readonly agent: RegisteredAgent & { readonly claim: { readonly code: string } };
  readonly agentToken: string;
  readonly person: Person;
}

/** All credentials and victims of the matrix. */
export interface World {
  readonly credentials: readonly Credential[];
  readonly victims: Victims;
  /** All issued secrets, which no answer may contain. */
  readonly secrets: readonly string[];
}

/** Access to the service and its clock while the credentials are created. */
interface WorldOptions {
  readonly base: string;
  /** Creates a person with a new browser. */
  readonly person: () => Person;
  /** Advances the clock of the service, in milliseconds. */
  readonly wait: (ms: number) => void;
}

const DAY_MS = 86_400_000;

/**
 * Slightly more than the lifetime of a queue token in the sandbox, in milliseconds. People who
 * apply for access get a queue token.
 */
const QUEUE_TOKEN_MS = 7 * DAY_MS + 1_000;

const allScopes = Object.keys(scopeDescriptions).filter(isScope);

const readScopes = allScopes.filter((scope) => scope !== "alerts:write");

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

const bad = (name: string, headers: Credential["headers"]): Credential => ({
  name,
  headers,
  isPresented: true,
});

const good = (name: string, headers: Credential["headers"], holder: Holder): Credential => ({
  name,
  headers,
  holder,
  isPresented: true,
});

/** Creates every kind of credential, the expired ones first. */
export async function createWorld({ base, person, wait }: WorldOptions): Promise<World> {
  const expired = await createExpiring(base, person());
  wait(QUEUE_TOKEN_MS);
  const owner = person();
  await owner.signIn();
  const victims = await createVictims(base, person());
  const ended = await createEnded(base, person());
  const strange = await createStrange(base, owner, victims);
  const valid = [
    ...(await createAgents(base, owner)),
    ...(await createUsers(owner)),
    ...(await createKeys(base, person())),
    own(victims),
  ];
  const credentials = [...plain, ...expired, ...ended, ...strange, ...valid];
  return { credentials, victims, secrets: secretsOf(credentials, victims) };
}

const plain: readonly Credential[] = [
  { name: "none", headers: {}, isPresented: false },
  { name: "another scheme", headers: { authorization: "Basic dXNlcjpwYXNz" }, isPresented: false },
  { name: "an empty bearer", headers: { authorization: "Bearer " }, isPresented: false },
  bad("garbage bearer", bearer("nonsense")),
  bad("garbage x-api-key", { "x-api-key": "nonsense" }),
  bad("garbage in the form of a key", { "x-api-key": `msv_test_${"0".repeat(38)}` }),
  bad("long garbage", bearer("x".repeat(4_000))),
];

async function createExpiring(base: string, person: Person): Promise<readonly Credential[]> {
  const agent = await tokenOf(base, await register(base));
  const user = await person.tokens();
  const { data } = (await (
    await postJson(`${base}/api/apply`, { name: "Early", email: "early@example.com" })
  ).json()) as { data: { queueToken: string } };
  return [
    bad("expired agent token", bearer(agent)),
    bad("expired user token", bearer(user.access_token)),
    bad("expired API key", { "x-api-key": data.queueToken }),
    bad("expired API key as bearer", bearer(data.queueToken)),
  ];
}

async function createVictims(base: string, person: Person): Promise<Victims> {
  const agent = (await register(base, { client_name: "Victim" })) as Victims["agent"];
  await person.signIn();
  return { agent, agentToken: await tokenOf(base, agent), person };
}

/** Creates credentials that are revoked or otherwise no longer valid. */
async function createEnded(base: string, person: Person): Promise<readonly Credential[]> {
  const revoked = await tokenOf(base, await register(base));
  await postForm(`${base}/oauth/revoke`, { token: revoked });

  const gone = await register(base);
  const ofGone = await tokenOf(base, gone);
  await fetch(gone.registration_client_uri, {
    method: "DELETE",
    headers: bearer(gone.registration_access_token),
  });

  const claimed = (await register(base)) as Victims["agent"];
  const beforeClaim = await tokenOf(base, claimed);
  await person.claim(claimed.client_id, claimed.claim.code);

  const key = await person.createKey(allScopes);
  const account = await person.web.get("/account");
  const revoke = account.forms.find(({ action }) => /\/account\/keys\/[^/]+\/revoke$/.test(action));
  if (revoke === undefined) throw new Error("the account page has no form to revoke a key");
  await person.web.submit(revoke);

  const removed = await person.tokens();
  const { forms } = await person.web.get("/account");
  const remove = forms.find(({ action }) => /\/applications\/[^/]+\/remove$/.test(action));
  if (remove === undefined) throw new Error("the account page has no form to remove applications");
  await person.web.submit(remove);
  return [
    bad("revoked token", bearer(revoked)),
    bad("token of a deleted client", bearer(ofGone)),
    bad("token from before the claim", bearer(beforeClaim)),
    bad("revoked API key", { "x-api-key": key }),
    bad("token of a removed application", bearer(removed.access_token)),
  ];
}

/** Creates secrets that have other purposes, to be sent in place of a token. */
async function createStrange(
  base: string,
  person: Person,
  { agent }: Victims,
): Promise<readonly Credential[]> {
  const registered = await register(base);
  const tokens = await person.tokens();
  const cookie = person.web.cookie();
  return [
    bad("client secret as bearer", bearer(registered.client_secret)),
    {
      ...bad("registration token of another agent", bearer(registered.registration_access_token)),
      registrationOf: registered.client_id,
    },
    bad("refresh token as bearer", bearer(tokens.refresh_token)),
    bad("used code as bearer", bearer(tokens.code)),
    bad("claim code as bearer", bearer(agent.claim.code)),
    bad("client id as bearer", bearer(registered.client_id)),
    bad("access token as x-api-key", { "x-api-key": tokens.access_token }),
    bad("cookie as bearer", bearer(/=([^;.]+)/.exec(cookie)?.[1] ?? "")),
    { name: "session cookie alone", headers: { cookie }, browser: person, isPresented: false },
  ];
}

async function createAgents(base: string, owner: Person): Promise<readonly Credential[]> {
  const tokenWith = async (agent: RegisteredAgent, scope: string, resource = base) =>
    bearer(await tokenOf(base, agent, { scope, resource }));
  const holder = (agent: RegisteredAgent, scopes: readonly Scope[]): Holder => ({
    kind: "agent",
    scopes,
    resource: "",
    agentId: agent.client_id,
  });
  const unclaimed = await register(base);
  const alone = await Promise.all(
    readScopes.map(async (scope) =>
      good(`agent with ${scope}`, await tokenWith(unclaimed, scope), holder(unclaimed, [scope])),
    ),
  );
  const claimed = (await register(base)) as Victims["agent"];
  await owner.claim(claimed.client_id, claimed.claim.code);
  return [
    ...alone,
    good(
      "unclaimed agent",
      await tokenWith(unclaimed, readScopes.join(" ")),
      holder(unclaimed, readScopes),
    ),
    good("token for /mcp", await tokenWith(unclaimed, readScopes.join(" "), `${base}/mcp`), {
      ...holder(unclaimed, readScopes),
      resource: "/mcp",
    }),
    good(
      "claimed agent",
      await tokenWith(claimed, allScopes.join(" ")),
      holder(claimed, allScopes),
    ),
    good(
      "claimed agent with alerts:write",
      await tokenWith(claimed, "alerts:write"),
      holder(claimed, ["alerts:write"]),
    ),
  ];
}

async function createUsers(person: Person): Promise<readonly Credential[]> {
  const credential = (name: string, { access_token, scope }: UserTokens) =>
    good(name, bearer(access_token), {
      kind: "user",
      scopes: parseScopeNames(scope).filter(isScope),
      resource: "",
    });
  const alone: Credential[] = [];
  for (const scope of allScopes) {
    alone.push(credential(`user with ${scope}`, await person.tokens({ scope })));
  }
  return [...alone, credential("user with all scopes", await person.tokens())];
}

async function createKeys(base: string, person: Person): Promise<readonly Credential[]> {
  const key = (name: string, headers: Credential["headers"], held: readonly Scope[]) =>
    good(name, headers, { kind: "service", scopes: held, resource: "" });
  const alone: Credential[] = [];
  for (const scope of allScopes) {
    const headers = { "x-api-key": await person.createKey([scope]) };
    alone.push(key(`API key with ${scope}`, headers, [scope]));
  }
  const all = await person.createKey(allScopes);
  const applied = await postJson(`${base}/api/apply`, { name: "New", email: "new@example.com" });
  const { data } = (await applied.json()) as { data: { queueToken: string } };
  return [
    ...alone,
    key("API key with all scopes", { "x-api-key": all }, allScopes),
    key("API key as bearer", bearer(all), allScopes),
    key("queue token", { "x-api-key": data.queueToken }, readScopes),
  ];
}

const own = ({ agent, agentToken }: Victims): Credential =>
  good("the agent's own token", bearer(agentToken), {
    kind: "agent",
    scopes: readScopes,
    resource: "",
    agentId: agent.client_id,
  });

function secretsOf(credentials: readonly Credential[], { agent, agentToken }: Victims) {
  const sent = credentials
    .filter(({ name }) => name !== "client id as bearer")
    .flatMap(({ headers }) => Object.values(headers).join("; ").split("; "))
    // A path to return to is no secret.
    .filter((part) => !part.startsWith("market-signal-place="))
    .map((part) => part.replace(/^(Bearer |Basic |[\w-]+=)/, ""));
  const ofAgent = [agent.client_secret, agent.registration_access_token, agent.claim.code];
  return [...new Set([...sent, ...ofAgent, agentToken])].filter((value) => value.length >= 8);
}
