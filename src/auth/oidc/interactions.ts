import type { IncomingMessage, ServerResponse } from "node:http";
import type { Session } from "../accounts/sessions.ts";

/** A client as people see it: nothing of it was checked. */
export interface AskingClient {
  readonly clientId: string;
  readonly name: string | undefined;
  /** Where the answer goes. */
  readonly redirectUri: string;
  /** The host that a client metadata document was fetched from; absent for registered clients. */
  readonly documentHost: string | undefined;
}

/** A person's part of an authorization request. */
export interface Interaction {
  readonly uid: string;
  readonly prompt: "login" | "consent";
  readonly client: AskingClient;
  /** Names of the scopes that the client asks for and the person has not yet decided on. */
  readonly scopes: readonly string[];
  /** A sign-in before this instant does not count for this request (`prompt=login`, `max_age`);
   *  milliseconds since the epoch, 0 when any counts. */
  readonly signedInSince: number;
}

/** What pages need of an authorization request. Each of the last three ends with a redirect. */
export interface Interactions {
  /** `undefined`: unknown, over, or begun in another browser. */
  find(req: IncomingMessage, res: ServerResponse): Promise<Interaction | undefined>;
  signIn(req: IncomingMessage, res: ServerResponse, session: Session): Promise<void>;
  /** @param scopes Those of `Interaction.scopes` that the person allows; the others are refused. */
  consent(req: IncomingMessage, res: ServerResponse, scopes: readonly string[]): Promise<void>;
  deny(req: IncomingMessage, res: ServerResponse): Promise<void>;
}
