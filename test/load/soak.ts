import { parseArgs } from "node:util";
import { mixFor } from "./mix.ts";
import { median } from "./numbers.ts";
import { offerLoad } from "./offered.ts";
import { type LoadedService, startLoaded } from "./service.ts";

/** Number of mixed requests per second, from independent agents. */
const PER_SECOND = 300;

/** Interval of the measurements, in milliseconds. */
const LOOK_MS = 20_000;

/** Fraction of the run that counts as warm-up, in which caches fill and code is compiled. */
const WARM_UP = 0.25;

/**
 * Maximum growth of the heap in ten minutes, in megabytes, and maximum growth of the number of open
 * files.
 */
const MOST = { heapMb: 1, files: 10 };

const { values } = parseArgs({ options: { minutes: { type: "string", default: "10" } } });
const ms = Number(values.minutes) * 60_000;

/** One measurement of the service. */
interface Look {
  readonly minute: number;
  readonly heapMb: number;
  readonly rssMb: number;
  readonly files: number;
}

/** Measures repeatedly until the time is over. */
async function watch(service: LoadedService, endsAt: number): Promise<readonly Look[]> {
  const startedAt = performance.now();
  const looks: Look[] = [];
  while (performance.now() + LOOK_MS < endsAt) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    const minute = (performance.now() - startedAt) / 60_000;
    const { rssMb, files } = service.usage();
    const look = { minute, heapMb: await service.heapMb(), rssMb, files };
    looks.push(look);
    const { heapMb } = look;
    process.stderr.write(
      `${minute.toFixed(1)} min: heap ${heapMb.toFixed(1)} MB, RSS ${rssMb.toFixed(0)} MB, ${files} files\n`,
    );
  }
  return looks;
}

/**
 * Median slope over all pairs of measurements (Theil-Sen estimator), which is robust against
 * outliers.
 */
function slopePerMinute(looks: readonly Look[], of: (look: Look) => number): number {
  const slopes = looks.flatMap((one, index) =>
    looks.slice(index + 1).map((other) => (of(other) - of(one)) / (other.minute - one.minute)),
  );
  return median(slopes);
}

// The market stands still, since each of its sessions adds records that the service keeps.
const service = await startLoaded({ SANDBOX_SESSION_SECONDS: "86400" });
try {
  // Token requests are left out: tokens live for an hour, so issued tokens would make the heap grow
  // without a leak.
  const kinds = (await mixFor(service.baseUrl)).filter(({ name }) => name !== "token");
  const watching = watch(service, performance.now() + ms);
  const { outcomes, health } = await offerLoad({ ...service, kinds, perSecond: PER_SECOND, ms });
  const looks = await watching;
  const steady = looks.slice(Math.floor(looks.length * WARM_UP));
  const heapIn10 = 10 * slopePerMinute(steady, ({ heapMb }) => heapMb);
  const filesGrown = (steady.at(-1)?.files ?? 0) - (steady[0]?.files ?? 0);
  // On a machine with other load, the service may reject some requests with 503.
  const refused = outcomes.filter(({ status }) => status === 503);
  const failed = outcomes.filter(({ status }) => status !== 200 && status !== 503);
  const unwell = health.filter((took) => !Number.isFinite(took));
  process.stdout.write(
    `${outcomes.length} answers in ${values.minutes} min, ${refused.length} refused, ${failed.length} wrong or lost; ` +
      `heap growth ${heapIn10.toFixed(2)} MB in 10 min (at most ${MOST.heapMb}), ` +
      `${filesGrown} more open files (at most ${MOST.files}); /api/health failed ${unwell.length} times\n`,
  );
  const isWell =
    heapIn10 < MOST.heapMb && filesGrown <= MOST.files && failed.length + unwell.length === 0;
  if (!isWell) process.exitCode = 1;
} finally {
  await service.stop();
}
