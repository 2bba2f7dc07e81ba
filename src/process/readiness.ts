/** The state of one component. */
export interface ComponentState {
  readonly ok: boolean;
  /** For the operator; public, so it contains no secrets. */
  readonly detail: string;
}

/** Checks by component name. */
export type ComponentStates = Readonly<Record<string, ComponentState>>;

/** Checks every component. */
export type Readiness = () => Promise<{
  /** Components without which load balancers should send requests elsewhere. */
  readonly required: ComponentStates;
  /** Components without which requests are still served, with reduced function. */
  readonly optional: ComponentStates;
}>;
