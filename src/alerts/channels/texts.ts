import { instrumentPath } from "../../../wellknown/paths.ts";
import { eventText } from "../../answers/event-text.ts";
import { inertText } from "../../outbound/inert-text.ts";
import type { StoredAlert } from "../alert.ts";
import type { ChannelMessage } from "./message.ts";

/** How long a code is valid, in minutes. */
export const CODE_MINUTES = 15;

/** Where the person manages channels. */
const channelsAt = (baseUrl: string): string => `${baseUrl}/account#channels`;

/** Options of the texts of messages. */
export interface TextOptions {
  /** Display name of the service. */
  readonly serviceName: string;
  /** Public origin, without a trailing slash. */
  readonly baseUrl: string;
}

/** The message of one event. @param body The recorded payload. */
export function eventMessage(
  body: string,
  { value: { label } }: StoredAlert,
  { baseUrl }: TextOptions,
): ChannelMessage {
  const { headline, details, symbol } = eventText(body);
  return {
    title: headline,
    lines: [...details, ...(label === null ? [] : [`Alert: ${inertText(label)}`])],
    link: symbol === undefined ? channelsAt(baseUrl) : baseUrl + instrumentPath(symbol),
  };
}

/** The message with the code that verifies a channel. */
export const codeMessage = (
  code: string,
  { serviceName, baseUrl }: TextOptions,
): ChannelMessage => ({
  title: `Your code: ${code}`,
  lines: [
    `Somebody, most likely you, wants alerts of ${serviceName} to be sent here.`,
    `Enter the code on the account page within ${CODE_MINUTES} minutes. If it was not you, do nothing: nothing else will be sent.`,
  ],
  link: channelsAt(baseUrl),
});

/** The message that tests a channel. */
export const testMessage = ({ serviceName, baseUrl }: TextOptions): ChannelMessage => ({
  title: "Test of a channel",
  lines: [`Alerts of ${serviceName} will arrive here.`],
  link: channelsAt(baseUrl),
});
