import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { endFile } from "../support/file-end.ts";
import { type PlayedTask, reportOf, tableOf } from "./report.ts";
import { openRound, type Round } from "./round.ts";
import { openSeats } from "./seats.ts";
import { tasks } from "./tasks/index.ts";

/** Body of a request from the command line program. */
interface Command {
  readonly task: number;
  readonly rest: readonly string[];
  readonly isJson: boolean;
}

/**
 * Answer to a command. The status is 200, 422 for an error of a tool, or 400 for an invalid
 * command.
 */
interface Reply {
  readonly status: 200 | 400 | 422;
  readonly text: string;
}

const done = (text: string): Reply => ({ status: 200, text });
const senseless = (text: string): Reply => ({ status: 400, text });

/** Tasks that were started, with their outcome. */
const playedOf = (rounds: readonly Round[]): readonly PlayedTask[] =>
  rounds.flatMap((round, at) => {
    const outcome = round.outcome();
    return outcome === undefined ? [] : [{ number: at + 1, task: round.task, outcome }];
  });

/**
 * Serves all tasks to players on a loopback port, until SIGINT or SIGTERM.
 *
 * @param out File for the report, written after each answer; absent: no file.
 */
export async function serveRounds({
  port,
  out,
}: {
  readonly port: number;
  readonly out: string | undefined;
}): Promise<void> {
  const rounds = (await openSeats(tasks)).map(openRound);
  const server = createServer(async (request, response) => {
    const { status, text } = await reply(request, rounds).catch((error: Error) =>
      senseless(error.message),
    );
    response.writeHead(status, { "content-type": "text/plain; charset=utf-8" }).end(text);
    if (out !== undefined && request.url === "/answer") writeFileSync(out, reportText(rounds));
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const at = (server.address() as AddressInfo).port;
  process.stdout.write(`${rounds.length} tasks are open on port ${at}\n`);
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, async () => {
      server.close();
      server.closeAllConnections();
      await endFile();
      process.exit();
    });
  }
}

const reportText = (rounds: readonly Round[]): string =>
  JSON.stringify(reportOf("command line", playedOf(rounds)), undefined, 2);

async function reply(request: IncomingMessage, rounds: readonly Round[]): Promise<Reply> {
  const { task, rest, isJson } = (await json(request)) as Command;
  if (request.url === "/report") {
    return done(isJson ? reportText(rounds) : tableOf(playedOf(rounds)));
  }
  const round = rounds[task - 1];
  if (round === undefined) return senseless(`TASK is a number from 1 to ${rounds.length}.`);
  const [first = "", second = "{}"] = rest;
  switch (request.url) {
    case "/tools":
      return done(`${round.question}\n\n${JSON.stringify(await round.tools())}`);
    case "/call": {
      const { text, isError } = await round.call(first, JSON.parse(second) as object);
      return { status: isError ? 422 : 200, text: isError ? `error: ${text}` : text };
    }
    case "/person":
      return done(await round.tell(first));
    case "/answer":
      await round.answer(first);
      return done("The answer is kept.");
    default:
      return senseless("Commands: serve, tools, call, person, answer, report.");
  }
}
