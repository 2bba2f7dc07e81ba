/** The state of one component. */
export interface Check {
  readonly ok: boolean;
  /** For the operator; public, so it contains no secrets. */
  readonly detail: string;
}

/** Checks by component name. */
export type Checks = Readonly<Record<string, Check>>;

/** Checks every component. */
export type Readiness = () => Promise<{
  /** Components without which load balancers should send requests elsewhere. */
  readonly required: Checks;
  /** Components without which requests are still served, with reduced function. */
  readonly optional: Checks;
}>;
