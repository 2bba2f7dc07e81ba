import type { Logger } from "pino";
import { createAuditor } from "../access/auditor.ts";
import { LastUseTracker } from "../access/last-use.ts";
import type { Scope } from "../access/scopes.ts";
import type { SignUpMode } from "../access/sign-up-mode.ts";
import type { Keyring } from "../keys/keyring.ts";
import { createKeyringVault } from "../keys/keyring-vault.ts";
import type { Vault } from "../keys/vault.ts";
import type { LimitOverrides } from "../limits/classes.ts";
import { withDenialCounts } from "../limits/denial-counts.ts";
import { createLimits } from "../limits/limits.ts";
import { withLockouts } from "../limits/lockouts.ts";
import type { Email } from "../mail/email-schema.ts";
import { MailWorker } from "../mail/mail-worker.ts";
import { createOutbox } from "../mail/outbox.ts";
import type { MailSettings } from "../mail/smtp.ts";
import { MailSuppression } from "../mail/suppression.ts";
import { createGuardedFetch, type GuardedFetchOptions } from "../outbound/guarded-fetch.ts";
import { AccountService } from "../principals/accounts/accounts.ts";
import { BrowserSessions } from "../principals/accounts/browser-sessions.ts";
import { EmailCodeSignIn } from "../principals/accounts/email-code-sign-in.ts";
import type { UpstreamProviderSettings } from "../principals/accounts/upstream-client.ts";
import type {
  UpstreamSignIn,
  UpstreamSignInOptions,
} from "../principals/accounts/upstream-sign-in.ts";
import { ClaimService } from "../principals/agents/claims.ts";
import { createRegistrationTokenLookup } from "../principals/agents/registration-access-token.ts";
import { UnclaimedCapacity } from "../principals/agents/unclaimed-capacity.ts";
import { IntakeService } from "../principals/applications/intake.ts";
import { ApiKeyService } from "../principals/keys/api-keys.ts";
import type { Store, StoreMode } from "../store/port/store.ts";
import { createAssertionVerifier } from "./assertions/id-jag.ts";
import { readTrustedIssuers, type TrustedIssuer } from "./assertions/trusted-issuers.ts";
import { createAuthenticator } from "./authenticator.ts";
import { CredentialCache } from "./credential-cache.ts";
import {
  type AuthorizationServerOptions,
  createAuthorizationServer,
} from "./oidc/authorization-server.ts";
import { createClientCredentialsIssuer } from "./oidc/client-credentials.ts";
import { createInteractions } from "./oidc/interactions.ts";
import { OperatorAccess } from "./operator-access.ts";

/** Settings of who may do what. */
interface AuthSettings {
  /** Scopes of agents without an owner. */
  readonly anonymousScopes: readonly Scope[];
  readonly signUp: SignUpMode;
  /** Mail server; if `undefined`, emails wait in the outbox for the operator. */
  readonly mail: MailSettings | undefined;
  readonly upstream: UpstreamProviderSettings | undefined;
  /** JSON file of the identity providers whose assertions are trusted; `undefined` for none. */
  readonly trustedIssuersFile: string | undefined;
  /** Rate limits that replace the defaults. */
  readonly rateLimits: LimitOverrides;
}

/** Dependencies of `createAuthServices`. */
interface AuthServicesOptions {
  readonly settings: AuthSettings;
  /** The mode of the market, which API keys name. */
  readonly mode: StoreMode;
  readonly store: Store;
  readonly keyring: Keyring;
  /** Derives a key of 32 bytes for one purpose from the master key. */
  readonly deriveKey: (purpose: string) => Uint8Array;
  /**
   * Registers a listener for commits of any process that may have revoked or narrowed a credential.
   * @returns A function that removes the listener.
   */
  readonly onCredentialChange: (listener: () => void) => () => void;
  /** Members that are added to the metadata of the authorization server. */
  readonly extraMetadata: AuthorizationServerOptions["extraMetadata"];
  /** Public origin, without a trailing slash. */
  readonly baseUrl: string;
  /** Display name of the service. */
  readonly name: string;
  readonly now: () => Date;
  readonly log: Logger;
  /** Restrictions on URLs that are fetched for clients; set only in tests. */
  readonly outbound?: GuardedFetchOptions | undefined;
  /** Shows an email to the operator when no mail server is configured. */
  readonly onEmail?: ((email: Email) => void) | undefined;
}

/** Authentication and authorization, with the stores they use. */
export type AuthServices = Awaited<ReturnType<typeof createAuthServices>>;

/**
 * Creates the services for accounts, agents, API keys, mail and applications for early access, and
 * the authorization server.
 */
export async function createAuthServices(options: AuthServicesOptions) {
  const { settings, mode, store, keyring, baseUrl, now, log, name: serviceName } = options;
  const { anonymousScopes, signUp } = settings;
  const { records } = store;
  const { hashAddress } = keyring;
  const onError = (error: unknown) => log.error({ err: error }, "a part of a request failed");

  const issuers = await trustedIssuers(settings.trustedIssuersFile);
  const audit = createAuditor({ hashAddress, now });
  const lastUse = new LastUseTracker({ records, now, onError });
  const vault = createKeyringVault(keyring);
  const { suppression, mailbox, mailWorker } = startMail(options, vault);
  const { limits, denials, sync } = createAccessLimits(options, onError);
  const common = { records, now, audit };
  const accounts = new AccountService({ ...common, lastUse, hashAddress });
  const keys = new ApiKeyService({ ...common, mode, lastUse });
  const intake = new IntakeService({ ...common, keys, mode, hashAddress });
  const sessions = new BrowserSessions({ ...common, limits, secure: isHttps(baseUrl) });
  const codeKey = options.deriveKey("claim-codes");
  const forClaims = { mailbox, baseUrl, anonymousScopes, signUp, codeKey };
  const claims = new ClaimService({ ...common, ...forClaims });
  const capacity = new UnclaimedCapacity({ records, now });
  const outbound = createGuardedFetch(options.outbound);
  const verifier = createAssertionVerifier({ issuers, audience: baseUrl, records, audit, now });
  const provider = createRotatingProvider(keyring, {
    records,
    accounts,
    claims,
    capacity,
    verifier,
    limits,
    hashAddress,
    now,
    onError,
    baseUrl,
    anonymousScopes,
    extraMetadata: options.extraMetadata,
    findSession: async (cookie) => (await sessions.browserOf(cookie)).session,
    fetch: outbound.fetch,
  });
  const cache = new CredentialCache({
    authenticate: createAuthenticator({
      records,
      provider,
      keys,
      accounts,
      lastUse,
      baseUrl,
      anonymousScopes,
    }),
    onCredentialChange: options.onCredentialChange,
    now,
    monotonic: () => performance.now(),
  });
  const redirectUri = `${baseUrl}/sign-in/callback`;
  const isAccepted = (email: string) => intake.isAccepted(email);
  const forSignIn = { records, accounts, signUp, isAccepted };
  const upstream = await loadUpstream(settings.upstream, { ...forSignIn, onError, redirectUri });
  return {
    operatorAccess: new OperatorAccess(vault, () => now().getTime()),
    accounts,
    keys,
    claims,
    intake,
    limits,
    denials,
    sessions,
    provider,
    unclaimedCounts: () => capacity.counts(),
    findRegisteredClient: createRegistrationTokenLookup(records),
    authenticate: (credential: string) => cache.authenticate(credential),
    interactions: createInteractions(provider),
    clientCredentials: createClientCredentialsIssuer({
      records,
      audit,
      now,
      baseUrl,
      anonymousScopes,
    }),
    signIn: new EmailCodeSignIn({ ...forSignIn, mailbox, audit, hashAddress, serviceName }),
    upstream,
    suppression,
    mailbox,
    async close() {
      await mailWorker.stop();
      await Promise.all([outbound.close(), sync()]);
    },
  };
}

/** Creates the outbox, and starts the worker that sends the emails in it. */
function startMail(options: AuthServicesOptions, vault: Vault) {
  const { store, settings, baseUrl, onEmail, now, log } = options;
  const { records } = store;
  const key = options.deriveKey("mail-suppression");
  const suppression = new MailSuppression({ records, key, baseUrl, now });
  const mailbox = createOutbox({ vault, now, wayOutOf: (email) => suppression.linkOf(email) });
  const mailWorker = new MailWorker({
    records,
    vault,
    isSuppressed: (email) => suppression.isSuppressed(email),
    smtp: settings.mail,
    onTerminal: onEmail,
    now,
    onError: (error) => log.error({ err: error }, "a message could not be sent"),
  });
  mailWorker.start();
  return { suppression, mailbox, mailWorker };
}

/** Loads the OpenID client only if an upstream provider is configured. */
async function loadUpstream(
  choice: UpstreamProviderSettings | undefined,
  options: Omit<UpstreamSignInOptions, "choice">,
): Promise<UpstreamSignIn | undefined> {
  if (choice === undefined) return undefined;
  const { createUpstreamSignIn } = await import("../principals/accounts/upstream-sign-in.ts");
  return createUpstreamSignIn({ ...options, choice });
}

/**
 * Creates the rate limits. They are counted in the store if several processes share the store;
 * otherwise in memory.
 */
function createAccessLimits(
  { store, keyring, settings, now }: AuthServicesOptions,
  onError: (error: unknown) => void,
) {
  const { records, counters } = store;
  const shared = counters && { counters, onError };
  const counting = createLimits({ overrides: settings.rateLimits, shared });
  const { hashAddress } = keyring;
  const { limits, denials } = withDenialCounts(
    withLockouts(counting, { records, hashAddress, now }),
  );
  return { limits, denials, sync: () => counting.sync() };
}

const isHttps = (url: string): boolean => new URL(url).protocol === "https:";

async function trustedIssuers(file: string | undefined): Promise<readonly TrustedIssuer[]> {
  return file === undefined ? [] : readTrustedIssuers(file);
}

/**
 * Returns a function that returns the current authorization server, which is replaced when the keys
 * change.
 */
function createRotatingProvider(
  keyring: Keyring,
  options: Omit<AuthorizationServerOptions, "keys">,
): () => ReturnType<typeof createAuthorizationServer> {
  const build = () =>
    createAuthorizationServer({
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
