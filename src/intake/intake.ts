/** What applicants say they are (interface section 2.2). */
export const focuses = ["retail", "quant", "fund", "general"] as const;

/** One of `focuses`. */
export type Focus = (typeof focuses)[number];

/** An application for early access, checked and normalised. */
export interface ApplicationRequest {
  readonly name: string;
  readonly email: string;
  readonly focus: Focus | undefined;
}

/** A kept application. */
export interface Application extends ApplicationRequest {
  /** `app_` and random characters. */
  readonly id: string;
  readonly state: "waiting" | "accepted" | "rejected";
  /** Milliseconds since the epoch. */
  readonly registeredAt: number;
}

/** Takes in applications and inquiries. */
export interface Intake {
  /** Keeps an application. The queue token is in no other answer ever again. */
  apply(request: ApplicationRequest): Promise<{
    readonly queueToken: string;
    readonly registeredAt: number;
  }>;

  /** Keeps an inquiry. @returns A reference for the sender. */
  contact(inquiry: { readonly email: string; readonly message: string }): Promise<{
    readonly reference: string;
    readonly receivedAt: number;
  }>;

  /** Whether the operator accepted an application of this address. @param email Normalised. */
  isAccepted(email: string): Promise<boolean>;
}
