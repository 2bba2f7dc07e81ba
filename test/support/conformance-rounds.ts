import {
  acceptedContent,
  CLIENT_CAPABILITIES_META_KEY,
  createRequestStateCodec,
  type InputRequests,
  inputRequired,
  type McpServer,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { z } from "zod";

/** State of a tool between two rounds. */
interface State {
  readonly step: number;
}

/** Codec that signs the state which a client sends back in the next round. */
export const codec = createRequestStateCodec<State>({ key: new Uint8Array(32).fill(1) });

const text = (words: string) => ({ content: [{ type: "text" as const, text: words }] });

type Field = { type: "string" } | { type: "boolean" };

/** An elicitation request with one field. */
const form = (message: string, member: string, field: Field = { type: "string" }) =>
  inputRequired.elicit({
    message,
    requestedSchema: { type: "object", properties: { [member]: field }, required: [member] },
  });

/** A sampling request to the client's model. */
const sample = (question: string, maxTokens: number) =>
  inputRequired.createMessage({
    messages: [{ role: "user", content: { type: "text", text: question } }],
    maxTokens,
  });

/** Repeats the input requests until the client has answered all of them. */
const untilAnswered = (inputRequests: InputRequests) => (context: ServerContext) => {
  const given = context.mcpReq.inputResponses ?? {};
  const isAnswered = Object.keys(inputRequests).every((key) => key in given);
  return isAnswered ? text(JSON.stringify(given)) : inputRequired({ inputRequests });
};

type Round = (context: ServerContext) => ReturnType<typeof text> | ReturnType<typeof inputRequired>;

const confirm = { confirm: form("Please confirm", "ok", { type: "boolean" }) };
const everything = {
  user_name: form("What is your name?", "name"),
  greeting: sample("Generate a greeting", 50),
  client_roots: inputRequired.listRoots(),
};

/** Sends the input requests of one step per round, and answers with `end` after the last step. */
const inSteps =
  (steps: readonly InputRequests[], end: string) => async (context: ServerContext) => {
    const state = context.mcpReq.requestState<State>();
    const next = state === undefined ? 0 : state.step + 1;
    const inputRequests = steps[next];
    if (inputRequests === undefined) return text(end);
    return inputRequired({ inputRequests, requestState: await codec.mint({ step: next }) });
  };

/**
 * The member of the request envelope with the client's capabilities, which the SDK's type lacks.
 */
type Envelope = Readonly<Partial<Record<typeof CLIENT_CAPABILITIES_META_KEY, object>>>;

/** Sends only input requests that the client's capabilities allow. */
const withinCapabilities: Round = ({ mcpReq }) => {
  if (mcpReq.inputResponses !== undefined) return text("done");
  const { [CLIENT_CAPABILITIES_META_KEY]: able = {} } = mcpReq.envelope as Envelope;
  const inputRequests = {
    ...("sampling" in able && { sampled: sample("Say hello", 10) }),
    ...("elicitation" in able && { asked: form("Who are you?", "name") }),
  };
  return Object.keys(inputRequests).length > 0 ? inputRequired({ inputRequests }) : text("done");
};

const greet: Round = ({ mcpReq }) => {
  const given = acceptedContent(mcpReq.inputResponses, "user_name", z.object({ name: z.string() }));
  return given === undefined
    ? inputRequired({ inputRequests: { user_name: form("What is your name?", "name") } })
    : text(`Hello, ${given.name}!`);
};

const asked = untilAnswered({ asked: form("What is your name?", "name") });

/** Tools that request input during a call, which needs a session in revisions before 2026-07-28. */
const needingSessions = {
  test_sampling: untilAnswered({ sampled: sample("Are you there?", 100) }),
  test_elicitation: asked,
  test_elicitation_sep1034_defaults: asked,
  test_elicitation_sep1330_enums: asked,
};

/** Registers tools and a prompt that need several rounds (SEP-2322). */
export function registerRounds(server: McpServer): void {
  const named = (name: string) => `test_input_required_result_${name}`;
  const rounds = {
    [named("elicitation")]: greet,
    [named("sampling")]: untilAnswered({
      capital_question: sample("What is the capital of France?", 100),
    }),
    [named("list_roots")]: untilAnswered({ client_roots: inputRequired.listRoots() }),
    [named("request_state")]: inSteps([confirm], "state-ok"),
    [named("tampered_state")]: inSteps([confirm], "state-ok"),
    [named("multiple_inputs")]: inSteps([everything], "done"),
    [named("multi_round")]: inSteps(
      [
        { step1: form("Step 1: What is your name?", "name") },
        { step2: form("Step 2: What is your favorite color?", "color") },
      ],
      "done",
    ),
    [named("capabilities")]: withinCapabilities,
    test_missing_capability: untilAnswered({ sampled: sample("Are you there?", 16) }),
    ...needingSessions,
  };
  for (const [name, answer] of Object.entries(rounds)) {
    server.registerTool(name, { description: "Needs several rounds." }, answer);
  }
  server.registerPrompt(named("prompt"), { description: "Needs several rounds." }, ({ mcpReq }) => {
    const schema = z.object({ context: z.string() });
    const given = acceptedContent(mcpReq.inputResponses, "user_context", schema);
    const question = form("What context should the prompt use?", "context");
    if (given === undefined) return inputRequired({ inputRequests: { user_context: question } });
    const content = { type: "text" as const, text: given.context };
    return { messages: [{ role: "user" as const, content }] };
  });
}
