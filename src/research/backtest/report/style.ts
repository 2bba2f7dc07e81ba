/** Style sheet of the report, for light and dark mode and small screens. */
export const REPORT_STYLE = `
:root {
  color-scheme: light dark;
  --ground: #f5f5f1; --card: #ffffff; --text: #1b1f1e; --quiet: #5a6360; --line: #dcded7; --field: #868e89;
  --first: #0b6e69; --second: #b0552b; --chip: #eceee8;
  --good: #0b6e69; --bad: #a3262f; --plain: #5a6360;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #101413; --card: #181d1c; --text: #e7ebe8; --quiet: #a0aaa6; --line: #2c3432; --field: #76827d;
    --first: #5cc4ba; --second: #e79a72; --chip: #252c2a;
    --good: #5cc4ba; --bad: #f0898c; --plain: #a0aaa6;
  }
}
*, *::before, *::after { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 1.5rem 1.25rem 4rem; max-width: 66rem;
  background: var(--ground); color: var(--text);
  font: 1rem/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Open Sans", sans-serif;
  font-variant-numeric: tabular-nums; overflow-wrap: break-word;
}
h1 { font-size: 1.75rem; line-height: 1.25; margin: 0 0 .25rem; text-wrap: balance; }
h2 { font-size: 1.375rem; margin: 3rem 0 .75rem; }
h3 { font-size: 1.0625rem; margin: 2rem 0 .5rem; }
p { margin: .5rem 0; max-width: 44rem; }
.quiet { color: var(--quiet); }
.facts { color: var(--quiet); margin-bottom: 1.5rem; max-width: none; }
nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; list-style: none; padding: 0; margin: 1rem 0; }
nav li { margin: 0; }
a { color: var(--first); }
.verdict {
  background: var(--card); border: 1px solid var(--line); border-left: .375rem solid var(--plain);
  border-radius: .75rem; padding: 1rem 1.25rem; margin: .75rem 0 1.5rem;
  display: grid; gap: 1rem 2.5rem; align-items: center;
}
.verdict strong { font-size: 1.25rem; }
.verdict dl { margin: 0; font-size: .9375rem; }
.verdict dl div { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1.5rem; padding: .25rem 0; border-top: 1px solid var(--line); }
.verdict dl div:first-child { border-top: 0; font-size: 1.125rem; font-weight: 600; }
.verdict dt { color: var(--quiet); }
.verdict dd { margin: 0 0 0 auto; }
.verdict div:first-child dt { color: var(--text); }
@media (min-width: 52rem) { .verdict:has(dl) { grid-template-columns: 1fr 25rem; } }
.verdict.positive, .verdict.weak_positive { border-left-color: var(--good); }
.verdict.inverted { border-left-color: var(--bad); }
.charts { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); }
.chart {
  margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: .75rem; padding: 1rem;
  display: grid; grid-row: span 3; grid-template: subgrid / minmax(0, 1fr); row-gap: .75rem;
}
.chart figcaption { color: var(--quiet); font-size: .875rem; line-height: 1.5; }
.chart figcaption strong { display: block; color: var(--text); font-size: 1rem; }
.chart > div { align-self: end; }
.chart details { margin: 0; font-size: .875rem; }
.chart .table { margin: .5rem 0 0; max-height: 18rem; overflow: auto; }
.p-chart { height: 12rem; }
.first { --series: var(--first); }
.second { --series: var(--second); }
.line { fill: none; stroke: var(--series); stroke-width: 2; stroke-linejoin: round; }
.bar { fill: var(--series); }
.dot { fill: var(--series); r: 5px; }
.interval { stroke: var(--series); stroke-width: 3; stroke-linecap: round; opacity: .55; }
.ideal { stroke: var(--quiet); stroke-dasharray: 4 3; }
.legend { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin: 0 0 .5rem; padding: 0; list-style: none; font-size: .875rem; }
.legend li { margin: 0; }
.legend li::before { content: ""; display: inline-block; width: .875rem; height: .875rem; margin-right: .4rem; border-radius: .25rem; background: var(--series); vertical-align: -.125em; }
.table { overflow-x: auto; margin: 1rem 0; background: var(--card); border: 1px solid var(--line); border-radius: .75rem; }
table { border-collapse: collapse; width: 100%; font-size: .9375rem; }
caption { max-width: calc(100vw - 3rem); text-align: left; padding: .75rem 1rem .25rem; font-weight: 600; }
th, td { text-align: right; padding: .375rem .75rem; white-space: nowrap; border-top: 1px solid var(--line); }
thead th { color: var(--quiet); font-weight: 500; border-top: 0; white-space: normal; vertical-align: bottom; }
th:first-child, td:first-child { text-align: left; padding-left: 1rem; }
tbody th { font-weight: 500; }
th:first-child { position: sticky; left: 0; background: var(--card); }
li { margin: .375rem 0; max-width: 46rem; }
details { margin: 1rem 0; }
summary { cursor: pointer; color: var(--first); }
@media (max-width: 30rem) {
  body { padding: 1rem .875rem 3rem; }
  h1 { font-size: 1.5rem; }
}
@media print {
  body { max-width: none; background: #fff; }
  .chart, .table, .verdict { break-inside: avoid; }
}
`;
