/** What every discovery document is derived from. */
export interface Site {
  /** Public origin and OAuth issuer, without a trailing slash. */
  readonly baseUrl: string;
  readonly name: string;
}
