import type { Operation } from "../../store/port/records.ts";
import type { Scope } from "../scopes.ts";
import type { ActingApplication, IdentityType, Ownership } from "./agent.ts";

/** What an agent is told so that a person can claim it; said once. */
export interface ClaimStart {
  /** For the person to give at /oauth/claim or on the page; 8 characters of Crockford base32. */
  readonly code: string;
  /** Names this attempt in the address of the claim page; a secret of the agent and the person. */
  readonly attempt: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/**
 * Where an agent is claimed: the claim endpoint, where the agent gets a new code, and the page where a
 * person enters the code.
 *
 * @param baseUrl Public origin, without a trailing slash.
 */
export const claimLinks = (baseUrl: string, agentId: string) => ({
  url: `${baseUrl}/oauth/claim`,
  start_url: `${baseUrl}/oauth/claim/start`,
  page: `${baseUrl}/claim?agent=${encodeURIComponent(agentId)}`,
});

/** An agent as the claim page shows it; all but the times is what a stranger wrote. */
export interface ClaimableAgent {
  readonly agentId: string;
  readonly name: string | undefined;
  readonly registeredAt: number;
  /** What the agent may hold before and after the claim. */
  readonly scopesNow: readonly Scope[];
  readonly scopesAfter: readonly Scope[];
}

/** Who completes a claim. */
export interface Claimer {
  readonly accountId: string;
  /** What the agent gets beside what it had: the scopes of the claiming token or, on the page, the
   *  choice. */
  readonly scopes: readonly Scope[];
  /** The application that claims with the person's token; absent: the person does, on the page. */
  readonly through?: ActingApplication;
}

/** An agent that somebody answers for. */
export interface Claimed extends Ownership {
  readonly status: "claimed";
  readonly agentId: string;
  readonly identityType: IdentityType;
  /** The new registration access token (RFC 7592), said once to whoever completed the claim over the
   *  API; the one before has ended. */
  readonly registrationToken?: string;
}

/** What came of an attempt to complete a claim. */
export type ClaimOutcome =
  | Claimed
  /** Unknown agent, wrong or expired code, too many tries, claimed by another, a person other than the
   *  one the agent named, or an application whose access has ended. */
  | { readonly status: "invalid_claim_code" }
  /** No person has confirmed yet; only the agent itself is told. */
  | { readonly status: "claim_not_confirmed" };

/** The claim ceremony, both ways (architecture section 7). */
export interface Claims {
  /** The steps that begin a claim and end the one before; for the commit that registers an agent. */
  begun(agentId: string): { readonly start: ClaimStart; readonly steps: readonly Operation[] };

  /** Begins a claim anew. @returns `undefined` when the agent is gone, claimed or not claimable. */
  begin(agentId: string, loginHint?: string): Promise<ClaimStart | undefined>;

  /** The person has the code that the agent was given. */
  completeByPerson(
    claim: { readonly agentId: string; readonly code: string },
    claimer: Claimer,
  ): Promise<ClaimOutcome>;

  /** The agent has the code that a person was shown on the page. */
  completeByAgent(claim: {
    readonly agentId: string;
    readonly code: string;
  }): Promise<ClaimOutcome>;

  /** The agent behind a code, for the person to look at before they confirm; a wrong code is a try
   *  like any other. */
  preview(
    claim: { readonly agentId: string; readonly code: string },
    accountId: string,
  ): Promise<ClaimableAgent | undefined>;

  /** The agent behind the address of the page. `wrong_account`: the agent named another person. */
  attempted(
    attempt: string,
    accountId: string,
  ): Promise<ClaimableAgent | "wrong_account" | undefined>;

  /** The person agrees, and is shown a code for the agent. */
  confirm(attempt: string, claimer: Claimer): Promise<{ readonly code: string } | undefined>;
}
