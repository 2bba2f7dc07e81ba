import { expect, it } from "vitest";
import { type Agent, isAudited } from "../../../../src/principals/agents/agent.ts";

const owner = { accountId: "acc_1", scopes: [], claimedAt: 0 };

it.each<[boolean, Partial<Agent>]>([
  [false, { identityType: "anonymous" }],
  [false, { identityType: "agent" }],
  [false, { identityType: "service_auth", loginHint: "ada@example.com" }],
  [true, { identityType: "identity_assertion" }],
  [true, { identityType: "anonymous", owner }],
  [true, { identityType: "identity_assertion", owner }],
])("the audit log records the actions of an agent: %s for %j", (is, agent) => {
  expect(isAudited({ identityType: "anonymous", registeredAt: 0, ...agent })).toBe(is);
});
