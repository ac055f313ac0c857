// Time to replay 10,000 calls over two documents of 100 contracts each, as the hub's thread does it: portions of 500
// calls, every contract looking at every call, sessions counted. One thread, without the store. Counts processor time,
// which other work on the machine does not change much, and prints the median round beside the goal of 2 s.
import { judgeCalls, judgeLimits } from '../adapters/node/evaluator/replay-tasks.ts';
import type { StoredEvent } from '../src/domain/event.ts';
import { type ReplayReport, reportOf } from '../src/domain/replay.ts';
import { ReplayCalls } from '../src/domain/replay-call.ts';
import type { Judged } from '../src/domain/replay-judge.ts';
import { bundleOf } from './contract-bundle.ts';
import { lineOf, median, round } from './numbers.ts';
import { readOptions } from './options.ts';

const {
  rounds,
  calls: count,
  json,
} = readOptions({
  program: 'replay',
  options: {
    rounds: { about: 'rounds', default: 5 },
    calls: { about: 'calls that are replayed', default: 10_000 },
  },
});
const portion = 500;

const conditions: readonly string[] = [
  'args.path: {matches: "\\\\.(env|pem|key)$"}',
  'args.path: {contains_any: ["/etc/shadow", "/root/.ssh"]}',
  'args.command: {matches: "\\\\brm\\\\s+-[a-z]*[rf]"}',
  'all: [{environment: {equals: production}}, {principal.role: {in: [intern, guest]}}]',
  'any: [{args.size: {gt: 1000000}}, {args.path: {starts_with: "/proc/"}}]',
];
const document = (last: string): string =>
  bundleOf([...Array.from({ length: 99 }, (_, i) => conditions[i % conditions.length] ?? ''), last]);

/** Newest first. */
const events: StoredEvent[] = Array.from({ length: count }, (_, i) => ({
  id: `e${i}`,
  seq: count - i,
  env: 'production',
  createdAt: count - i,
  outcomes: [],
  call_id: `c${i}`,
  agent_id: `a${i % 50}`,
  tool_name: `write_${i % 7}`,
  verdict: 'call_allowed',
  mode: 'enforce',
  timestamp: count - i,
  payload: {
    session_id: `s${i % 200}`,
    environment: 'staging',
    principal: { role: 'analyst' },
    tool_args: {
      path: `/workspace/reports/${i}/summary-of-quarter-${i % 4}.md`,
      command: `cat reports/${i}/summary.md`,
      size: 4096 + i,
    },
  },
}));
const task = {
  tenantId: 't',
  documents: {
    base: document('args.size: {gt: 9000000}'),
    candidate: document('args.path: {contains: quarter-3}'),
    toolArguments: {},
    words: { tools: [], selectors: [], operators: [] },
  },
  accepted: {},
  keyPrefix: 'svk_',
} as const;

function replay(): { readonly ms: number; readonly cpuMs: number; readonly report: ReplayReport } {
  const started = performance.now();
  const before = process.cpuUsage();
  const calls = new ReplayCalls({ maxCalls: count, maxSessions: null });
  const judged: { readonly base: Judged; readonly candidate: Judged }[] = [];
  for (let from = 0; from < count; from += portion) {
    const page = calls.take(events.slice(from, from + portion));
    judged.push(...judgeCalls({ ...task, calls: page, budgetMs: 60_000 }).judged);
  }
  const counters = calls.counters();
  const counted = calls.calls.map(({ tool }, place) => ({ tool, counters: counters[place] ?? null }));
  const limits = judgeLimits({ ...task, calls: counted }).judged;
  const report = reportOf(
    calls.calls,
    (place) => {
      const [rules, limit] = [judged[place], limits[place]];
      if (!rules || !limit) throw new Error('a call was not judged');
      return { ...rules, baseLimits: limit.base, candidateLimits: limit.candidate };
    },
    { maxResults: 500, changedOnly: true },
  );
  const { user, system } = process.cpuUsage(before);
  return { ms: performance.now() - started, cpuMs: (user + system) / 1000, report };
}

const found = Array.from({ length: rounds }, replay);
const changed = found[0]?.report.totals.changes.newly_blocked ?? 0;
if (changed !== events.filter((_, i) => i % 4 === 3).length)
  throw new Error(`${changed} calls are decided otherwise`);
const verdict = {
  what: `replay of ${count} calls over two documents of 100 contracts, processor time, median of ${rounds}`,
  value: round(median(found.map(({ cpuMs }) => cpuMs)) / 1000, 2),
  unit: ' s',
  atMost: 2,
};
const out = (line: string): boolean => process.stdout.write(`${line}\n`);
if (json)
  out(
    JSON.stringify({
      ...verdict,
      rounds: found.map(({ ms, cpuMs }) => ({ ms: round(ms), cpuMs: round(cpuMs) })),
    }),
  );
else {
  for (const [i, { ms, cpuMs }] of found.entries())
    out(`round ${i + 1}: ${round(cpuMs)} ms of a processor, in ${round(ms)} ms`);
  out(lineOf(verdict));
}
