/** Signs people in by a code that is sent to their e-mail address. */
export interface SignIn {
  /**
   * Sends a code, if this address may sign in; nobody is told whether it may.
   *
   * @param browser Secret of the browser; the code is good in no other.
   * @param email Normalised.
   */
  sendCode(browser: string, email: string): Promise<void>;

  /** The address that a code was asked for in this browser, to be shown again. */
  pending(browser: string): Promise<{ readonly email: string } | undefined>;

  /** @returns The id of the account, or `undefined` when the code is wrong, expired or used up. */
  complete(browser: string, code: string): Promise<string | undefined>;
}

/** A person who comes back from another provider. */
interface SignedIn {
  readonly accountId: string;
  /** When they proved there who they are, in milliseconds since the epoch by the provider's clock. */
  readonly signedInAt: number;
  readonly returnTo: string;
}

/** Signs people in by another OpenID provider. */
export interface Upstream {
  /** Name of the provider for the button: its host. */
  readonly name: string;

  /** @returns Address to send the browser to. */
  start(browser: string, returnTo: string): Promise<URL>;

  /** @returns Who has signed in and where to go on, or `undefined` when the answer cannot be trusted
   *  or the person may not sign in. */
  finish(browser: string, callback: URL): Promise<SignedIn | undefined>;
}

/** Who can make an account (`SIGN_UP`). */
export type SignUp = "open" | "applications" | "closed";
