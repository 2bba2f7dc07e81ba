import { expect, it } from "vitest";
import type { WebhookState } from "../../../../src/alerts/alert.ts";
import {
  challengeBody,
  echoesChallenge,
  isCurrentChallenge,
} from "../../../../src/alerts/delivery/challenge.ts";

const CHALLENGE = "c4Fh0qY2LtVw9sXaBzKe";
const pending: WebhookState = { is: "pending", since: 0, challenge: CHALLENGE };

it.each([
  ["bare text", CHALLENGE],
  ["text with a line end", `${CHALLENGE}\n`],
  ["a member of JSON", JSON.stringify({ challenge: CHALLENGE, other: 1 })],
  ["pretty JSON", JSON.stringify({ challenge: CHALLENGE }, null, 2)],
])("is answered by %s", (_, response) => {
  expect(echoesChallenge(response, CHALLENGE)).toBe(true);
});

it.each([
  ["nothing", ""],
  ["another challenge", `${CHALLENGE}x`],
  ["a text around it", `ok ${CHALLENGE}`],
  ["a string of JSON", JSON.stringify(CHALLENGE)],
  ["the delivery as it was sent", challengeBody("alert_1", CHALLENGE, 0)],
  ["JSON without a member", "{}"],
  ["null", "null"],
  ["a list", JSON.stringify([{ challenge: CHALLENGE }])],
])("is not answered by %s", (_, response) => {
  expect(echoesChallenge(response, CHALLENGE)).toBe(false);
});

it("is current only if it is the last one of a pending webhook", () => {
  const body = challengeBody("alert_1", CHALLENGE, 0);
  expect(isCurrentChallenge(body, pending)).toBe(true);
  expect(isCurrentChallenge(body, { ...pending, challenge: "another" })).toBe(false);
  expect(isCurrentChallenge(body, { is: "active", since: 0 })).toBe(false);
  expect(isCurrentChallenge(body, { is: "disabled", since: 0, reason: "gone" })).toBe(false);
});
