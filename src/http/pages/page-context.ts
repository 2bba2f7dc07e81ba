import type { SignUpMode } from "../../access/sign-up-mode.ts";
import type { AlertService } from "../../alerts/api/alert-service.ts";
import type { ChannelService } from "../../alerts/channels/channels.ts";
import type { UnsubscribeService } from "../../alerts/channels/unsubscribing.ts";
import type { WatchlistService } from "../../alerts/watchlists/watchlists.ts";
import type { Interactions } from "../../auth/oidc/interactions.ts";
import type { OperatorAccess } from "../../auth/operator-access.ts";
import type { GuessGuard } from "../../limits/guess-guard.ts";
import type { Limits } from "../../limits/limits.ts";
import type { MailSuppression } from "../../mail/suppression.ts";
import type { AccountService } from "../../principals/accounts/accounts.ts";
import type { BrowserSessions } from "../../principals/accounts/browser-sessions.ts";
import type { EmailCodeSignIn } from "../../principals/accounts/email-code-sign-in.ts";
import type { UpstreamSignIn } from "../../principals/accounts/upstream-sign-in.ts";
import type { ClaimService } from "../../principals/agents/claims.ts";
import type { IntakeService } from "../../principals/applications/intake.ts";
import type { ApiKeyService } from "../../principals/keys/api-keys.ts";
import type { ToolContext } from "../../tool/tool.ts";
import type { CodeOnPage } from "./code-on-page.ts";
import type { CsrfGuard } from "./csrf.ts";
import type { SetupFacts } from "./operator/setup-items.ts";
import type { SendPage } from "./page-answer.ts";

/** Dependencies of the pages. */
export interface PagesOptions {
  /** Display name of the service. */
  readonly name: string;
  /** Public origin without a trailing slash. */
  readonly baseUrl: string;
  readonly sessions: BrowserSessions;
  readonly signIn: EmailCodeSignIn;
  /** External OpenID provider, if configured. */
  readonly upstream: UpstreamSignIn | undefined;
  readonly accounts: AccountService;
  readonly claims: ClaimService;
  readonly interactions: Interactions;
  readonly keys: ApiKeyService;
  readonly intake: IntakeService;
  /** The alerts that people own. */
  readonly alerts: AlertService;
  /** The watchlists that people own. */
  readonly watchlists: WatchlistService;
  /** The channels through which people receive events. */
  readonly channels: ChannelService;
  /** Stops the emails to an address, given the token of an unsubscribe link. */
  readonly unsubscribing: UnsubscribeService;
  /** Stops all mail to a mailbox, given the token of the link in an email. */
  readonly suppression: MailSuppression;
  /** Context of the tools, in which symbols are looked up. */
  readonly context: ToolContext;
  readonly limits: Limits;
  /** Whether emails are shown to the operator instead of being sent. */
  readonly isMailShownToOperator: boolean;
  /** Sign-in codes on the page; `undefined` unless the service is a local sandbox. */
  readonly codeOnPage: CodeOnPage | undefined;
  /** Access to the operator's page, and the facts that it shows. */
  readonly operator: {
    readonly access: OperatorAccess;
    readonly facts: () => Promise<SetupFacts>;
  };
  /** Policy for creating accounts. */
  readonly signUp: SignUpMode;
  readonly now: () => Date;
  /** Called with every error that the person did not cause. */
  readonly onError: (error: unknown) => void;
}

/** Context that the routes of all pages share. */
export interface PageContext extends PagesOptions {
  readonly csrf: CsrfGuard;
  readonly show: SendPage;
  readonly guard: GuessGuard;
}
