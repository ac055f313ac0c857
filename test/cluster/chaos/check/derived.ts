// Recounts what the hub derives from events: statistics, runs and the audit chain. Reads through the public API alone.
import { nodeCrypto } from '../../../../packages/agent/src/cli/signed.ts';
import { ChainCheck } from '../../../../packages/agent/src/evidence/chain.ts';
import type { Request } from '../caller.ts';
import type { Fleet } from '../fleet.ts';

const sampleEvents = 7;

interface StoredEvent {
  readonly call_id: string;
  readonly agent_id: string;
  readonly tool_name: string;
  readonly verdict: string;
  readonly payload: {
    readonly session_id?: string;
    readonly decision_name?: string | null;
    readonly policy_version?: string;
  };
  readonly sample?: boolean;
}

const isDenied = ({ verdict }: StoredEvent): boolean => verdict === 'call_denied';

/** All of a tenant's events. Call it at rest. */
export async function readStored(fleet: Fleet, cookie: string): Promise<readonly StoredEvent[]> {
  const events: StoredEvent[] = [];
  let cursor = '';
  do {
    const page = await fleet.must('GET', `/api/v1/events?limit=1000${cursor}`, { cookie });
    events.push(...page.output);
    const next = page.headers['x-next-cursor'];
    cursor = typeof next === 'string' ? `&cursor=${encodeURIComponent(next)}` : '';
  } while (cursor !== '');
  return events;
}

interface Tally {
  events: number;
  denied: number;
}

function tally(
  stored: readonly StoredEvent[],
  keyOf: (event: StoredEvent) => string,
): ReadonlyMap<string, Tally> {
  const tallies = new Map<string, Tally>();
  for (const event of stored) {
    const key = keyOf(event);
    const { events, denied } = tallies.get(key) ?? { events: 0, denied: 0 };
    tallies.set(key, { events: events + 1, denied: denied + (isDenied(event) ? 1 : 0) });
  }
  return tallies;
}

/**
 * Runs against the events of each session.
 * @param samples sample runs that there must be
 * @returns each difference in words
 */
export async function checkRuns(
  fleet: Fleet,
  operator: Request,
  stored: readonly StoredEvent[],
  samples = 0,
): Promise<string[]> {
  const differences: string[] = [];
  const tallies = new Map(tally(stored, ({ agent_id, payload }) => `${agent_id}/${payload.session_id}`));
  const { runs } = (await fleet.must('GET', '/v1/runs?limit=200', operator)).output;
  for (const { agent_id, session_id, counts, sample } of runs) {
    const run = `${agent_id}/${session_id}`;
    const recount = tallies.get(run);
    if (counts.events !== recount?.events)
      differences.push(`${run}: ${counts.events} events, and ${recount?.events} are stored`);
    if (!sample && counts.blocked !== recount?.denied)
      differences.push(`${run}: ${counts.blocked} of ${recount?.denied} blocked`);
    tallies.delete(run);
    if (sample && counts.events !== sampleEvents)
      differences.push(`the sample run has ${counts.events} events`);
  }
  const sampleRuns = runs.filter(({ sample }: { readonly sample: boolean }) => sample).length;
  if (sampleRuns !== samples) differences.push(`there are ${sampleRuns} sample runs, not ${samples}`);
  for (const run of tallies.keys()) differences.push(`${run} has events and is no run`);
  return differences;
}

/** The audit chain: no gap, no fork, and each denied call once. @returns each difference in words */
export async function checkChain(
  fleet: Fleet,
  operator: Request,
  stored: readonly StoredEvent[],
): Promise<string[]> {
  const differences: string[] = [];
  // The sample run is nobody's decision.
  const denied = new Set(
    stored.filter((event) => isDenied(event) && !event.sample).map(({ call_id }) => call_id),
  );
  const check = new ChainCheck([], nodeCrypto);
  for (let path: string | null = '/v1/audit/export'; path !== null; ) {
    const page = await fleet.must('GET', path, operator);
    for (const line of String(page.output).trimEnd().split('\n')) {
      const wrong = await check.take(line);
      if (wrong !== null) differences.push(`the chain: a line ${wrong}`);
      const { entry } = JSON.parse(line);
      for (const { action_type, details } of entry ? (entry.entries ?? [entry]) : []) {
        if (action_type !== 'run.blocked') continue;
        if (!denied.delete(details.call_id))
          differences.push(`${details.call_id} is recorded twice, or was never denied`);
      }
    }
    path = /<([^>]+)>; rel="next"/.exec(String(page.headers.link ?? ''))?.[1] ?? null;
  }
  const end = check.end();
  if (end !== null) differences.push(`the chain: ${end}`);
  for (const call of denied) differences.push(`${call} was denied and is not recorded`);
  return differences;
}

const sum = (counts: readonly number[]): number => counts.reduce((total, one) => total + one, 0);

/** Of an event that belongs to no series. */
const noValue = '';

/** The value of each event by which its series is counted. No list has more values than a request ranks. */
const seriesKeys: { readonly [by: string]: (event: StoredEvent) => string } = {
  total: () => 'null',
  agent: ({ agent_id }) => agent_id,
  tool: ({ tool_name }) => tool_name,
  contract: ({ payload }) => payload.decision_name ?? noValue,
  version: ({ payload }) => payload.policy_version ?? noValue,
};

/**
 * Overview and series of the last 24 hours, in which all events lie, those of the sample run apart.
 * @returns each difference in words
 */
export async function checkStatistics(
  fleet: Fleet,
  cookie: string,
  all: readonly StoredEvent[],
): Promise<string[]> {
  const stored = all.filter(({ sample }) => !sample);
  const differences: string[] = [];
  const compare = (what: string, value: unknown, recount: number): void => {
    if (value !== recount) differences.push(`${what}: ${value}, and ${recount} by a recount`);
  };
  const overview = (await fleet.must('GET', '/api/v1/stats/overview', { cookie })).output;
  compare('events_24h', overview.events_24h, stored.length);
  compare('denials_24h', overview.denials_24h, stored.filter(isDenied).length);
  for (const [by, keyOf] of Object.entries(seriesKeys)) {
    const tallies = new Map(tally(stored, keyOf));
    tallies.delete(noValue);
    const { output } = await fleet.must('GET', `/api/v1/stats/series?by=${by}&top=20`, { cookie });
    for (const { value, total, allowed, denied } of output.series) {
      const recount = tallies.get(String(value));
      compare(`${by} ${value}: total`, total, recount?.events ?? 0);
      compare(`${by} ${value}: denied`, sum(denied), recount?.denied ?? 0);
      compare(`${by} ${value}: allowed`, sum(allowed), (recount?.events ?? 0) - (recount?.denied ?? 0));
      tallies.delete(String(value));
    }
    for (const key of tallies.keys()) differences.push(`${by} ${key} has events and no series`);
  }
  return differences;
}
