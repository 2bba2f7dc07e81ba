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
  ["only the challenge", CHALLENGE],
  ["the challenge and a newline", `${CHALLENGE}\n`],
  ["JSON with the challenge as a member", JSON.stringify({ challenge: CHALLENGE, other: 1 })],
  [
    "indented JSON with the challenge as a member",
    JSON.stringify({ challenge: CHALLENGE }, null, 2),
  ],
])("a challenge is answered by a response whose body is %s", (_, response) => {
  expect(echoesChallenge(response, CHALLENGE)).toBe(true);
});

it.each([
  ["empty", ""],
  ["another challenge", `${CHALLENGE}x`],
  ["text that contains the challenge", `ok ${CHALLENGE}`],
  ["a JSON string", JSON.stringify(CHALLENGE)],
  ["the body of the delivery", challengeBody("alert_1", CHALLENGE, 0)],
  ["JSON without the member", "{}"],
  ["null", "null"],
  ["a JSON array", JSON.stringify([{ challenge: CHALLENGE }])],
])("a challenge is not answered by a response whose body is %s", (_, response) => {
  expect(echoesChallenge(response, CHALLENGE)).toBe(false);
});

it("a challenge is current only if it is the latest challenge of a pending webhook", () => {
  const body = challengeBody("alert_1", CHALLENGE, 0);
  expect(isCurrentChallenge(body, pending)).toBe(true);
  expect(isCurrentChallenge(body, { ...pending, challenge: "another" })).toBe(false);
  expect(isCurrentChallenge(body, { is: "active", since: 0 })).toBe(false);
  expect(isCurrentChallenge(body, { is: "disabled", since: 0, reason: "gone" })).toBe(false);
});
