type Members = Readonly<Record<string, unknown>>;

/** The documents that the checks compare. */
export interface AgentAuthScan {
  /** Origin of the service, without a trailing slash. */
  readonly origin: string;
  /** Metadata of the authorization server, which contains `agent_auth`. */
  readonly server: Members;
  /** Metadata of the protected resource. */
  readonly resource: Members;
  /** The text at `/auth.md`. */
  readonly prose: string;
}

/**
 * Clients that read a member: those of the first auth.md version, those of later versions, or
 * scanners.
 */
type Reader = "first" | "later" | "scanner";

type Kind = "url" | "names" | "credentials" | "assertions";

/**
 * Every member of `agent_auth` in any version, and the clients that read it (auth.md 0.1 to 0.7,
 * and the observed requests of the scanner of isitagentready.com).
 */
const members: Readonly<Record<string, { readonly kind: Kind; readonly by: readonly Reader[] }>> = {
  skill: { kind: "url", by: ["first", "later", "scanner"] },
  register_uri: { kind: "url", by: ["first", "scanner"] },
  claim_uri: { kind: "url", by: ["first", "scanner"] },
  revocation_uri: { kind: "url", by: ["first"] },
  identity_endpoint: { kind: "url", by: ["later"] },
  claim_endpoint: { kind: "url", by: ["later"] },
  identity_types_supported: { kind: "names", by: ["first", "later", "scanner"] },
  anonymous: { kind: "credentials", by: ["first", "scanner"] },
  identity_assertion: { kind: "assertions", by: ["first", "later", "scanner"] },
};

/** Members of the first version, with their later names for the same URL. */
const renamed = { register_uri: "identity_endpoint", claim_uri: "claim_endpoint" } as const;

/** Members that only a service with an events endpoint may have. */
const events = ["events_endpoint", "events_supported"];

/** Names that no client reads, and members that no metadata may disclose (ID-JAG section 5). */
const strange =
  /^(supported_identity_types|credential_types|registration_endpoint|trusted_.*|.*issuers.*)$/;

/** Violated rules of the scanner and the specifications, each with the clients that it affects. */
export function agentAuthFaults(scan: AgentAuthScan): readonly string[] {
  const auth = membersOf(scan.server.agent_auth);
  return [...memberFaults(auth, scan.origin), ...sameFaults(auth, scan), ...chainFaults(scan)];
}

const membersOf = (value: unknown): Members =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Members) : {};

const isNames = (value: unknown): value is readonly string[] =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every((one) => typeof one === "string" && one !== "") &&
  new Set(value).size === value.length;

/** Whether the value of a member has the form that its kind requires. */
function isOfKind(kind: Kind, value: unknown, origin: string): boolean {
  const { credential_types_supported, assertion_types_supported } = membersOf(value);
  switch (kind) {
    case "url":
      return typeof value === "string" && URL.parse(value)?.origin === origin;
    case "names":
      return isNames(value);
    case "credentials":
      return isNames(credential_types_supported);
    case "assertions":
      return isNames(credential_types_supported) && isNames(assertion_types_supported);
  }
}

/** Whether unclaimed agents may register, according to the metadata. */
const acceptsUnclaimed = ({ identity_types_supported: types, anonymous }: Members): boolean =>
  anonymous !== undefined || !isNames(types) || types.includes("anonymous");

function memberFaults(auth: Members, origin: string): readonly string[] {
  const wrong = Object.entries(members)
    .filter(([name]) => name !== "anonymous" || acceptsUnclaimed(auth))
    .filter(([name, { kind }]) => !isOfKind(kind, auth[name], origin))
    .map(([name, { kind, by }]) => `${name} is no ${kind}, for readers: ${by.join(", ")}`);
  const unread = Object.keys(auth).filter((name) => strange.test(name));
  const half = events.filter((name) => name in auth).length === 1;
  return [
    ...wrong,
    ...unread.map((name) => `${name} is a name that nobody reads`),
    ...(half ? ["events have an address and kinds, or neither"] : []),
  ];
}

/** Contradictions between facts that the metadata states twice. */
function sameFaults(auth: Members, { origin, server }: AgentAuthScan): readonly string[] {
  const types = isNames(auth.identity_types_supported) ? auth.identity_types_supported : [];
  const accepted = auth.credential_types_supported;
  const described = Object.keys(auth).filter(
    (name) => "credential_types_supported" in membersOf(auth[name]),
  );
  const given = described.flatMap((name) => membersOf(auth[name]).credential_types_supported);
  const rules = {
    ...Object.fromEntries(
      Object.entries(renamed).map(([old, later]) => [
        `${old} and ${later} are the same`,
        auth[old] === auth[later],
      ]),
    ),
    "skill is the prose at the root": auth.skill === `${origin}/auth.md`,
    "register_uri is where clients register": auth.register_uri === server.registration_endpoint,
    "revocation_uri is where tokens end": auth.revocation_uri === server.revocation_endpoint,
    "every kind that is described is supported": described.every((name) => types.includes(name)),
    "identity_assertion is supported": types.includes("identity_assertion"),
    "nothing is given that is not accepted":
      !isNames(accepted) || given.every((one) => accepted.includes(String(one))),
  };
  return broken(rules);
}

/**
 * Faults in the chain from a 401 to the resource metadata, from there to the authorization server,
 * and from there to the text at `/auth.md`.
 */
function chainFaults({ origin, server, resource, prose }: AgentAuthScan): readonly string[] {
  const { authorization_servers, scopes_supported, bearer_methods_supported } = resource;
  const [title = ""] = /^# .*$/m.exec(prose) ?? [];
  const { assertion_types_supported } = membersOf(membersOf(server.agent_auth).identity_assertion);
  return broken({
    "the issuer is the origin": server.issuer === origin,
    "the resource names the issuer": JSON.stringify(authorization_servers) === `["${origin}"]`,
    "the resource names scopes": isNames(scopes_supported),
    "no scope is for keeping tokens": !JSON.stringify(scopes_supported).includes("offline_access"),
    "tokens go in the header": JSON.stringify(bearer_methods_supported) === '["header"]',
    "the prose has its name in its title": title.includes("auth.md"),
    "the prose names the issuer": prose.includes(origin),
    "assertions that are taken can be exchanged":
      !isNames(assertion_types_supported) ||
      (isNames(server.grant_types_supported) &&
        server.grant_types_supported.includes("urn:ietf:params:oauth:grant-type:jwt-bearer")),
  });
}

const broken = (rules: Readonly<Record<string, boolean>>): readonly string[] =>
  Object.keys(rules).filter((rule) => !rules[rule]);
