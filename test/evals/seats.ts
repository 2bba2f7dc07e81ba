import {
  Client,
  ClientCredentialsProvider,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import {
  getWith,
  newToken,
  postJson,
  type RegisteredAgent,
  register,
  tokenOf,
} from "../support/agent.ts";
import { smallMarket } from "../support/small-market.ts";
import { startTestService, type TestService } from "../support/test-service.ts";
import type { Answer, Item, MarketName, Task, Truth } from "./task.ts";

/** Length of a sandbox session in seconds: a day, so that questions can mention days. */
const SESSION_SECONDS = 86_400;

/**
 * Instant at which the clock of the recorded market stands still. The folder of that market is
 * generated at each start.
 */
const RECORDED_NOW = "2014-02-20T22:00:00Z";

/** A registered agent with its claim code. */
interface Agent extends RegisteredAgent {
  readonly claim: { readonly code: string };
}

/** The environment of one task: an agent, and the data that the judge reads. */
export interface Seat {
  readonly task: Task;
  /** REST access with a token of an unrelated agent (`truth`) or of the task's agent (`own`). */
  truth(): Promise<Truth>;
  own(): Promise<Truth>;
  /** Connects the agent as an MCP client that gets its own tokens. */
  connect(): Promise<Client>;
  /** Sends a message to the agent's person. @returns Their reply. */
  tell(text: string): Promise<string>;
}

/** The service of a market, with REST access for the judge. */
interface Served {
  readonly testService: TestService;
  truth(): Promise<Truth>;
}

/**
 * Starts the services of both markets on loopback, with an agent for each task. After the agents
 * have prepared their tasks, the sandbox advances by one session and then stands still, so that
 * answers do not change. `endFile` stops everything.
 */
export async function openSeats(tasks: readonly Task[]): Promise<readonly Seat[]> {
  const served: Readonly<Record<MarketName, Served>> = {
    sandbox: await serve({ SANDBOX_SESSION_SECONDS: String(SESSION_SECONDS) }),
    recorded: await serve({ MARKET: `files:${await smallMarket()}`, AS_OF: RECORDED_NOW }),
  };
  const seats = new Map<Task, Seat>();
  const open = async (some: readonly Task[]) => {
    for (const task of some) seats.set(task, await seatOf(task, served[task.market ?? "sandbox"]));
  };
  await open(tasks.filter(({ prepare }) => prepare !== undefined));
  await closeSession(served.sandbox.testService, [...seats.values()]);
  // Register the other agents only now: an unclaimed agent would have expired during the session.
  await open(tasks.filter((task) => !seats.has(task)));
  return tasks.map((task) => seats.get(task) as Seat);
}

async function serve(env: Readonly<Record<string, string>>): Promise<Served> {
  const testService = await startTestService(env);
  const { base } = testService;
  let truth: Promise<Truth> | undefined;
  return {
    testService,
    truth() {
      truth ??= newToken(base).then((token) => truthOf(base, token));
      return truth;
    },
  };
}

/** Lets one session pass, and waits until the prepared alerts have fired. */
async function closeSession(
  { advanceTo, clock }: TestService,
  seats: readonly Seat[],
): Promise<void> {
  await advanceTo(new Date(clock.now.getTime() + 1_000 * SESSION_SECONDS));
  for (const seat of seats.filter(({ task }) => task.awaitsEvents)) {
    const own = await seat.own();
    const isSilent = async () => (await own.get("/api/alerts/events")).events.length === 0;
    while (await isSilent());
  }
}

async function seatOf(task: Task, { testService, truth }: Served): Promise<Seat> {
  const { base, person: newPerson } = testService;
  const agent = (await register(base, { client_name: "Player", scope: "" })) as Agent;
  const person = newPerson();
  const own = async () => truthOf(base, await tokenOf(base, agent));
  if (task.isClaimed) await person.claim(agent.client_id, agent.claim.code);
  await task.prepare?.(await own());
  return {
    task,
    truth,
    own,
    connect: () => connectAs(base, agent),
    async tell(text) {
      const [page] = /https?:\/\/[^\s"'`<>)\]]+\/claim\?agent=[\w-]+/.exec(text) ?? [];
      const [code] = /\b[A-Z0-9]{4}-?[A-Z0-9]{4}\b/.exec(text.replace(/https?:\S+/g, "")) ?? [];
      if (page === undefined) return "Which page shall I open? You named none.";
      if (code === undefined) return "The page asks for a code. You named none.";
      if (!page.startsWith(`${base}/`)) return "I do not know that page, and did not open it.";
      try {
        await person.signIn();
        const opened = await person.web.get(page);
        const shown = await person.web.submit(opened.form("/claim"), { code });
        await person.web.submit(shown.form("/claim/confirm"));
        return "Done: I opened the page, entered the code and allowed what you asked for.";
      } catch {
        return "I opened the page, but it did not accept the code.";
      }
    },
  };
}

async function connectAs(base: string, { client_id, client_secret }: Agent): Promise<Client> {
  const client = new Client(
    { name: "player", version: "1" },
    { versionNegotiation: { mode: "auto" } },
  );
  const authProvider = new ClientCredentialsProvider({
    clientId: client_id,
    clientSecret: client_secret,
    expectedIssuer: base,
  });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${base}/mcp`), { authProvider }));
  return client;
}

/** Reads and creates data over REST with a token. */
function truthOf(base: string, token: string): Truth {
  const answerOf = async (response: Response): Promise<Answer> => {
    const text = await response.text();
    return { ...(JSON.parse(text) as Answer), text, isError: !response.ok };
  };
  const get = async (path: string) => answerOf(await getWith(token, base + path));
  return {
    get,
    async post(path, body) {
      const headers = { authorization: `Bearer ${token}` };
      const answer = await answerOf(await postJson(base + path, body, headers));
      if (answer.isError) throw new Error(`the request failed: ${answer.text}`);
      return answer;
    },
    async all(asOf) {
      const then = asOf === undefined ? "" : `&asOf=${asOf}`;
      const items: Item[] = [];
      for (let cursor: string | null = ""; cursor !== null; ) {
        const next: string = cursor === "" ? "" : `&cursor=${cursor}`;
        const page = await get(`/api/signals?detail=full&limit=500${then}${next}`);
        items.push(...page.items);
        cursor = page.nextCursor;
      }
      return items;
    },
  };
}
