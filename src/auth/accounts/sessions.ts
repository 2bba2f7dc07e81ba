/** A person at a browser. */
export interface Session {
  readonly accountId: string;
  /** When the person proved who they are, in milliseconds since the epoch. */
  readonly signedInAt: number;
}

/** What a browser is told in a `Set-Cookie` header. */
export type SetCookie = string;

/** A browser as its cookie shows it. */
export interface Browser {
  /** 256 random bits that only this browser has; what is kept under it is kept under its hash. */
  readonly secret: string;
  /** To be sent along when the browser had no cookie yet. */
  readonly setCookie: SetCookie | undefined;
  readonly session: Session | undefined;
  /** Stands in every form of a page: another site cannot read it. */
  readonly formToken: string;
}

/** The browsers at which people signed in before, whoever is signed in there now. */
export interface KnownBrowsers {
  /** @returns What the browser is counted by, if the person of this address was the last to sign in at
   *  it. @param cookie The request's Cookie header. @param email Normalised. */
  knownBrowser(cookie: string | undefined, email: string): Promise<string | undefined>;

  /** Notes that a person signed in. @returns `undefined` when the account is gone. */
  rememberBrowser(cookie: string | undefined, accountId: string): Promise<SetCookie | undefined>;
}

/** Who is at which browser. One cookie, `__Host-` when the service is reached by https; HttpOnly,
 *  SameSite=Lax. */
export interface Sessions extends KnownBrowsers {
  /** @param cookie The request's Cookie header. */
  browserOf(cookie: string | undefined): Promise<Browser>;

  /** Whether a form came from a page of this browser; constant time. */
  isFormTokenOf(browser: Browser, formToken: unknown): boolean;

  /**
   * Signs a person in; the browser gets another secret (session fixation).
   *
   * @param signedInAt When they proved who they are, in milliseconds since the epoch, now at the
   *   latest. Absent: now.
   */
  open(browser: Browser, accountId: string, signedInAt?: number): Promise<SetCookie>;

  /** Signs the person out. */
  close(browser: Browser): Promise<SetCookie>;
}
