import type { Agent } from "../agents/agent.ts";
import type { Scope } from "../scopes.ts";

/** A person who can sign in, or for whom a trusted identity provider vouched. */
export interface Account {
  /** `acc_` and random characters. */
  readonly id: string;
  /** Normalised e-mail address; absent for a person who only comes by an identity provider. */
  readonly email: string | undefined;
  /** How the person is called on pages: the address, or what the identity provider said. */
  readonly label: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

/** A person as an identity provider names them. */
export interface Subject {
  readonly issuer: string;
  readonly subject: string;
  /** For people to recognise the account; never used to find one. */
  readonly label: string;
}

/** An agent that an account answers for. */
export interface OwnAgent {
  readonly agentId: string;
  /** What the agent calls itself. */
  readonly name: string | undefined;
  readonly identityType: Agent["identityType"];
  readonly scopes: readonly Scope[];
  readonly claimedAt: number;
  /** Client id of the application that claimed it, with whose access it ends; `undefined`: none. */
  readonly endsWith: string | undefined;
  /** Milliseconds since the epoch, to the hour; `undefined` when never. */
  readonly lastUsedAt: number | undefined;
}

/** An application that a person let act for them. */
export interface ConnectedApplication {
  readonly grantId: string;
  readonly clientId: string;
  readonly name: string | undefined;
  readonly scopes: readonly string[];
  readonly grantedAt: number;
}

/** People. */
export interface Accounts {
  find(accountId: string): Promise<Account | undefined>;

  /** The account of an address, made when there is none. @param email Normalised. */
  ofEmail(email: string): Promise<Account>;

  /** Whether there is an account of an address. @param email Normalised. */
  hasEmail(email: string): Promise<boolean>;

  /** Whether there is an account of a person at an identity provider. */
  hasSubject(subject: Pick<Subject, "issuer" | "subject">): Promise<boolean>;

  /** The account of a person at an identity provider, made when there is none. It is never joined
   *  to another account because the addresses are equal. */
  ofSubject(subject: Subject): Promise<Account>;

  agentsOf(accountId: string): Promise<readonly OwnAgent[]>;

  /** Deletes an agent with everything that was issued to it. @returns Whether it was theirs. */
  removeAgent(accountId: string, agentId: string): Promise<boolean>;

  applicationsOf(accountId: string): Promise<readonly ConnectedApplication[]>;

  /** Whether a person can let one more application act for them, or this one once more. */
  hasRoomFor(accountId: string, clientId: string): Promise<boolean>;

  /** Ends what an application was allowed, and its tokens. @returns Whether it was theirs. */
  removeApplication(accountId: string, grantId: string): Promise<boolean>;
}
