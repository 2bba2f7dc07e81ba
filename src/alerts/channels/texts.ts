import { eventTextOf } from "../../answers/event-text.ts";
import { instrumentPath } from "../../lib/paths.ts";
import { inertText } from "../../outbound/inert-text.ts";
import type { StoredAlert } from "../alert.ts";
import type { ChannelMessage } from "./message.ts";

/** How long a code is valid, in minutes. */
export const CHANNEL_CODE_LIFETIME_MINUTES = 15;

/** URL of the page on which a person manages channels. */
const channelsAt = (baseUrl: string): string => `${baseUrl}/account#channels`;

/** Options for the texts of messages. */
export interface MessageTextOptions {
  /** Display name of the service. */
  readonly serviceName: string;
  /** Public origin, without a trailing slash. */
  readonly baseUrl: string;
}

/** The message for one event. @param body The recorded payload, as JSON. */
export function eventMessage(
  body: string,
  { value: { label } }: StoredAlert,
  { baseUrl }: MessageTextOptions,
): ChannelMessage {
  const { headline, details, symbol, alertLabel = label } = eventTextOf(body);
  return {
    title: headline,
    lines: [...details, ...(alertLabel === null ? [] : [`Alert: ${inertText(alertLabel)}`])],
    link: symbol === undefined ? `${baseUrl}/account#alerts` : baseUrl + instrumentPath(symbol),
  };
}

/** The message with the code that verifies a channel. */
export const verificationCodeMessage = (
  code: string,
  { serviceName, baseUrl }: MessageTextOptions,
): ChannelMessage => ({
  title: `Your code: ${code}`,
  lines: [
    `Somebody, most likely you, wants alerts of ${serviceName} to be sent here.`,
    `Enter the code on the account page within ${CHANNEL_CODE_LIFETIME_MINUTES} minutes. If it was not you, do nothing: nothing else will be sent.`,
  ],
  link: channelsAt(baseUrl),
});

/** The message that tests a channel. */
export const testMessage = ({ serviceName, baseUrl }: MessageTextOptions): ChannelMessage => ({
  title: "Test of a channel",
  lines: [`Alerts of ${serviceName} will arrive here.`],
  link: channelsAt(baseUrl),
});
