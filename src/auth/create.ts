import type { Logger } from "pino";
import { authorizationServerExtras } from "../../wellknown/authorization-server.ts";
import type { Config, UpstreamChoice } from "../config/config.ts";
import { createIntake } from "../intake/intake.ts";
import { withLockouts } from "../limits/lockouts.ts";
import { createLimits } from "../limits/memory-limits.ts";
import { createSharedLimits } from "../limits/shared-limits.ts";
import type { Email } from "../mail/email.ts";
import { MailWorker } from "../mail/mail-worker.ts";
import { createOutbox } from "../mail/outbox.ts";
import { createGuardedFetch, type GuardedFetchOptions } from "../outbound/guarded-fetch.ts";
import type { State } from "../state.ts";
import { createKeyringVault } from "../store/keys/keyring-vault.ts";
import { countDenials } from "../telemetry/instrumented.ts";
import { Accounts } from "./accounts/accounts.ts";
import { Sessions } from "./accounts/browser-sessions.ts";
import { createSignIn } from "./accounts/code-sign-in.ts";
import type { Upstream } from "./accounts/sign-in.ts";
import type { UpstreamOptions } from "./accounts/upstream.ts";
import { createClaims } from "./agents/create-claims.ts";
import { createAgentOf } from "./agents/registration-access-token.ts";
import { UnclaimedCapacity } from "./agents/unclaimed-capacity.ts";
import { createAssertionVerifier } from "./assertions/id-jag.ts";
import { readTrustedIssuers, type TrustedIssuer } from "./assertions/trusted-issuers.ts";
import { createAuditor } from "./auditor.ts";
import { type AuthenticatorOptions, createAuthenticator } from "./authenticator.ts";
import type { Authenticate } from "./caller.ts";
import { createCredentialCache } from "./credential-cache.ts";
import { createApiKeys } from "./keys/api-keys.ts";
import { createLastUse } from "./last-use.ts";
import { createInteractions } from "./oidc/interactions.ts";
import { createPlainTokens } from "./oidc/plain-tokens.ts";
import { createProvider, type ProviderOptions } from "./oidc/provider.ts";

/** What decides who may do what. */
export interface AccessOptions {
  readonly config: Pick<
    Config,
    | "anonymousScopes"
    | "signUp"
    | "mail"
    | "upstream"
    | "trustedIssuersFile"
    | "rateLimits"
    | "market"
  >;
  readonly state: State;
  /** Public origin, without a trailing slash. */
  readonly baseUrl: string;
  /** Human name of the service. */
  readonly name: string;
  readonly now: () => Date;
  readonly log: Logger;
  /** What of the internet may be asked for strangers; for tests. */
  readonly outbound?: GuardedFetchOptions | undefined;
  /** Shows a message to the operator when no mail server is set. */
  readonly onEmail?: ((email: Email) => void) | undefined;
}

/** The parts that decide who may do what. */
export type Access = Awaited<ReturnType<typeof createAccess>>;

/** Builds accounts, agents, keys, intake, mail and the authorization server over them. */
export async function createAccess(options: AccessOptions) {
  const { config, state, baseUrl, now, log } = options;
  const issuers = await trustedIssuers(config.trustedIssuersFile);
  const onError = (error: unknown) => log.error({ err: error }, "a part of a request failed");
  const basics = basicsOf(options, onError);
  const { records, audit, keys, accounts, mailbox } = basics;
  const { hashAddress } = state.keyring;
  const { anonymousScopes, signUp } = config;
  const { limits, denials, sync } = limitsOf(options, onError);
  const intake = createIntake({ records, now, audit, keys, mode: config.market.kind });
  const { isAccepted } = intake;
  const sessions = new Sessions({ records, now, secure: isHttps(baseUrl), audit });
  const claims = createClaims({ ...basics, hashAddress, now, baseUrl, anonymousScopes });
  const outbound = createGuardedFetch(options.outbound);
  const capacity = new UnclaimedCapacity({ records, now });
  const provider = followKeys(state, {
    ...{ records, accounts, claims, limits, hashAddress, now, onError, baseUrl, anonymousScopes },
    discovery: authorizationServerExtras({ baseUrl }),
    verifier: createAssertionVerifier({ issuers, audience: baseUrl, records, audit, now }),
    signedIn: async (cookie) => (await sessions.browserOf(cookie)).session,
    fetch: outbound.fetch,
    capacity,
  });
  const mailWorker = startMailWorker(options, basics);
  return {
    ...{ accounts, keys, claims, intake, limits, denials, sessions, provider },
    unclaimedTally: () => capacity.tally(),
    agentOf: createAgentOf(records),
    authenticate: authenticationOf(options, { ...basics, provider, anonymousScopes }),
    interactions: createInteractions(provider),
    plainTokens: createPlainTokens({ records, audit, now, baseUrl, anonymousScopes }),
    signIn: createSignIn({
      ...{ records, accounts, mailbox, signUp, isAccepted, audit },
      serviceName: options.name,
    }),
    upstream: await upstreamOf(config.upstream, {
      ...{ records, accounts, signUp, isAccepted, onError },
      redirectUri: `${baseUrl}/sign-in/callback`,
    }),
    async close() {
      await mailWorker.stop();
      await Promise.all([outbound.close(), sync()]);
    },
  };
}

/** What most parts need. */
function basicsOf({ state, config, now }: AccessOptions, onError: (error: unknown) => void) {
  const { records } = state.store;
  const audit = createAuditor({ hashAddress: state.keyring.hashAddress, now });
  const lastUse = createLastUse({ records, now, onError });
  const vault = createKeyringVault(state.keyring);
  return {
    ...{ records, audit, lastUse, vault },
    accounts: new Accounts({ records, now, audit, lastUse }),
    keys: createApiKeys({ records, mode: config.market.kind, now, audit, lastUse }),
    mailbox: createOutbox({ vault, now }),
  };
}

/** Sends what is in the outbox from now on. */
function startMailWorker(
  { config, onEmail, now, log }: AccessOptions,
  { records, vault }: ReturnType<typeof basicsOf>,
) {
  const mailWorker = new MailWorker({
    ...{ records, vault, smtp: config.mail, onTerminal: onEmail, now },
    onError: (error) => log.error({ err: error }, "a message could not be sent"),
  });
  mailWorker.start();
  return mailWorker;
}

/** The client of OpenID providers is loaded only where there is one. */
async function upstreamOf(
  choice: UpstreamChoice | undefined,
  options: Omit<UpstreamOptions, "choice">,
): Promise<Upstream | undefined> {
  if (choice === undefined) return undefined;
  const { createUpstream } = await import("./accounts/upstream.ts");
  return createUpstream({ ...options, choice });
}

/** Finds out who calls, and remembers it for a moment. */
function authenticationOf(
  { state: { onCredentialChange }, now, baseUrl }: AccessOptions,
  places: Omit<AuthenticatorOptions, "baseUrl">,
): Authenticate {
  const authenticate = createAuthenticator({ ...places, baseUrl });
  const monotonic = () => performance.now();
  return createCredentialCache({ authenticate, onCredentialChange, now, monotonic });
}

/** Counts in the store where other processes count too, else in this process alone. */
function limitsOf({ state, config, now }: AccessOptions, onError: (error: unknown) => void) {
  const { store, keyring } = state;
  const { records, counters } = store;
  const overrides = config.rateLimits;
  const { sync, ...counting } =
    counters === undefined
      ? { ...createLimits({ overrides }), sync: async () => undefined }
      : createSharedLimits({ counters, overrides, onError });
  const { hashAddress } = keyring;
  return { ...countDenials(withLockouts(counting, { records, hashAddress, now })), sync };
}

const isHttps = (url: string): boolean => new URL(url).protocol === "https:";

async function trustedIssuers(file: string | undefined): Promise<readonly TrustedIssuer[]> {
  return file === undefined ? [] : readTrustedIssuers(file);
}

/** The authorization server of the moment: another one takes its place when the keys change. */
function followKeys(
  { keyring }: State,
  options: Omit<ProviderOptions, "keys">,
): () => ReturnType<typeof createProvider> {
  const build = () =>
    createProvider({
      ...options,
      keys: {
        signing: [...keyring.keys("token-signing"), ...keyring.keys("token-signing-rsa")].map(
          ({ jwk }) => ({ ...jwk }),
        ),
        cookies: keyring.keys("cookie-signing").map(({ jwk }) => jwk.k),
      },
    });
  let current = build();
  keyring.onChange(() => {
    current = build();
  });
  return () => current;
}
