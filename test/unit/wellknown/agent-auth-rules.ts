type Members = Readonly<Record<string, unknown>>;

/** The documents from which a scanner determines whether agents can register. */
export interface ScannedDocuments {
  /** URL at which the scan began, without a trailing slash. */
  readonly origin: string;
  /** Protected resource metadata. */
  readonly resource: Members;
  /** Authorization server metadata. */
  readonly server: Members;
  readonly authMd: string;
}

const membersIn = (value: unknown): Members =>
  typeof value === "object" && value !== null ? (value as Members) : {};

const isFilled = (value: unknown): boolean => Array.isArray(value) && value.length > 0;

/** Members of `agent_auth` whose values are URLs. */
const addresses = [
  "skill",
  "register_uri",
  "identity_endpoint",
  "claim_uri",
  "claim_endpoint",
  "revocation_uri",
];

/** Members that two generations of auth.md name differently. */
const pairs = [
  ["register_uri", "identity_endpoint"],
  ["claim_uri", "claim_endpoint"],
];

/** Member names that scanners were observed to reject. */
const refused = ["supported_identity_types", "credential_types"];

/**
 * Checks `agent_auth` by the rules of scanners, and by rules of internal consistency. @returns One
 * line for each violated rule.
 */
export function agentAuthFaults({
  origin,
  resource,
  server,
  authMd,
}: ScannedDocuments): readonly string[] {
  const auth = membersIn(server.agent_auth);
  const types = (auth.identity_types_supported ?? []) as readonly string[];
  const credentialsOf = (type: string) => membersIn(auth[type]).credential_types_supported;
  const rules: Readonly<Record<string, boolean>> = {
    "auth.md has a level-one heading with its name": /^# .*auth\.md/m.test(authMd),
    "the resource names its authorization server": [resource.authorization_servers]
      .flat()
      .includes(server.issuer),
    "the resource has scopes": isFilled(resource.scopes_supported),
    "the resource takes tokens in the header": [resource.bearer_methods_supported]
      .flat()
      .includes("header"),
    "the issuer is where it was found": server.issuer === origin,
    "skill is auth.md": auth.skill === `${origin}/auth.md`,
    "the old names are there": "register_uri" in auth && "claim_uri" in auth,
    "old and new names agree": pairs.every(([a = "", b = ""]) => auth[a] === auth[b]),
    "every address is of this origin": addresses.every((name) =>
      String(auth[name]).startsWith(`${origin}/`),
    ),
    "registration and revocation are those of the metadata":
      auth.register_uri === server.registration_endpoint &&
      auth.revocation_uri === server.revocation_endpoint,
    "there are identity types": isFilled(types),
    "anonymous agents get credentials, where they are supported":
      types.includes("anonymous") === isFilled(credentialsOf("anonymous")),
    "agents with an assertion get credentials": isFilled(credentialsOf("identity_assertion")),
    "assertions have types": isFilled(membersIn(auth.identity_assertion).assertion_types_supported),
    "what is said of a type is said of one that is supported": Object.keys(auth)
      .filter((name) => "credential_types_supported" in membersIn(auth[name]))
      .every((name) => types.includes(name)),
    "what a type gets is among all that is accepted": types
      .flatMap((type) => credentialsOf(type) ?? [])
      .every((one) => [auth.credential_types_supported].flat().includes(one)),
    "no member has a name that is not understood": refused.every((name) => !(name in auth)),
    "whose assertions are trusted is not told": !/trusted|issuers/.test(JSON.stringify(auth)),
  };
  return Object.keys(rules).filter((rule) => !rules[rule]);
}
