/** The result of checking one component. */
export interface ComponentState {
  readonly ok: boolean;
  /** Explanation for the operator; public, so it contains no secrets. */
  readonly detail: string;
}

/** Results of the checks, by component name. */
export type ComponentStates = Readonly<Record<string, ComponentState>>;

/** Checks every component. */
export type Readiness = () => Promise<{
  /** Components whose failure means that load balancers should send requests to another process. */
  readonly required: ComponentStates;
  /** Components whose failure only reduces the functions of the service. */
  readonly optional: ComponentStates;
}>;
