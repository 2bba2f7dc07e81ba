import type { Auditor } from "../../access/auditor.ts";
import type { Limits } from "../../limits/limits.ts";
import type { UrlPolicy } from "../../outbound/url-policy.ts";
import type { Archive } from "../../store/port/archive.ts";
import type { Records } from "../../store/port/records.ts";
import type { AlertCapacity } from "../capacity.ts";
import type { WebhookUrlKeys } from "../delivery/sealed-webhook-url.ts";

/** Dependencies of the alert service. */
export interface AlertDependencies extends WebhookUrlKeys {
  readonly records: Records;
  readonly archive: Archive;
  readonly audit: Auditor;
  /** Room for what is stored. */
  readonly capacity: AlertCapacity;
  /** Rate limits for changes and test events. */
  readonly limits: Limits;
  /** Decides which URLs a webhook may have. */
  readonly urlPolicy: UrlPolicy;
  readonly now: () => Date;
  /** Public origin of the service, without a trailing slash. */
  readonly baseUrl: string;
  /** Whether the market's clock is stopped, so that no event can occur. */
  readonly standsStill: () => boolean;
}
