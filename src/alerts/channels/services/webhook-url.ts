import { type UrlPolicy, urlFault } from "../../../outbound/url-policy.ts";
import type { TargetFault } from "./service.ts";

/** What the URLs of a chat service's webhooks look like. */
export interface WebhookUrlShape {
  /** The service's own hosts. */
  readonly hosts: readonly string[];
  readonly path: RegExp;
  /** A URL to show to people. */
  readonly example: string;
}

/**
 * What is wrong with the webhook URL of a chat service; `undefined` if the URL is valid. The URL
 * must be on one of the service's own hosts, unless insecure webhooks are allowed for local
 * testing.
 */
export function webhookUrlFault(
  text: string,
  policy: UrlPolicy,
  shape: WebhookUrlShape,
): TargetFault | undefined {
  const fault = urlFault(text, policy) ?? shapeFault(new URL(text), policy, shape);
  return fault === undefined
    ? undefined
    : { field: "to", fault: `${fault} It looks like ${shape.example}.` };
}

function shapeFault(
  { hostname, port, pathname, search }: URL,
  { schemes }: UrlPolicy,
  { hosts, path }: WebhookUrlShape,
): string | undefined {
  const isTheirs = hosts.includes(hostname) && port === "";
  const isInsecure = schemes?.includes("http:") ?? false;
  if (!isTheirs && !isInsecure) return "It is not on the service's own host.";
  return search === "" && path.test(pathname) ? undefined : "It is no webhook of the service.";
}
