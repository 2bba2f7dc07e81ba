/** What the program can do. */
export const HELP = `npm run backtest -- --market <folder> --from <date> --to <date> [options]
npm run backtest -- --market <folder> --explain <symbol> <date>

Walks a market folder forward with the service's own engine and grades every score with what
followed; or shows how one score came about, number by number.

  --market <folder>     a market folder, as MARKET=files:<folder> has it
  --from, --to <date>   first session that is graded; last session of which anything is used
  --symbols A,B         grade only these, against all; one alone is followed through time
  --factor <name>       momentum, valuation, social, darkpool or composite (default)
  --pace <name>         week: the last session of each week; session: every session. Default: week,
                        for social and darkpool session
  --out <folder>        where report, figures and the log of variants go (./backtest)
  --json                print the figures as JSON
  --help                say this

Every variant that is tried goes into variants.jsonl in the same folder and makes the next verdict
stricter. Keep the file: forgetting failures is how luck turns into a discovery.`;
