// Promise 2: Redis and the store are killed mid-batch. Nothing acknowledged is lost; while one is down the answer is 503 with Retry-After;
// every node recovers by itself within 10 s of its return; agents' streams stay open through an outage of Redis.
import { setTimeout as wait } from 'node:timers/promises';
import { eventually } from '../../nodes.ts';
import { checkEvents } from '../check/events.ts';
import { agents, allOn, close, open } from '../crowd.ts';
import { percentile } from '../figures.ts';
import type { Fleet } from '../fleet.ts';
import type { Follower } from '../follower.ts';
import type { Call, History } from '../history.ts';
import { event, type IngestInput, ingest } from '../load.ts';
import { Tenant } from '../tenant.ts';
import type { Suite } from '../trial.ts';

interface Outage {
  readonly service: 'redis' | 'store';
  /** Epoch ms: gone, asked to come back, and answering again. */
  readonly from: number;
  readonly until: number;
  readonly back: number;
  /** Per node: ms from its return until the node took a batch and was ready. */
  readonly recovered: readonly number[];
}

const recoverMs = 10_000;
/** Without Redis the limits let nothing through: 429 with this Retry-After (document 3 §1.7). */
const closedSeconds = 30;
/** A request may be under way for longer than this nowhere. */
const answerMs = 12_000;

export const outages: Suite = {
  promise: 2,
  title: 'kill -9 of Redis and of the store, mid-batch',

  async run({ fleet, random, history, of, ended }) {
    const tenant = await Tenant.create(fleet, random);
    const { key } = await tenant.key();
    await tenant.deploy();
    const crowd = agents(fleet, key, of(30, 200), random.branch('agents'));
    await open(crowd);
    const load = ingest({
      senders: 20,
      batch: 10,
      pauseMs: 300,
      maxPauseMs: 1500,
      key,
      caller: fleet.caller,
      history,
      random: random.branch('ingest'),
      route: (chance) => fleet.route(chance),
      ended,
      attempts: 40,
    });
    const seen: Outage[] = [];
    const order = random.shuffle(['redis', 'store'] as const);
    for (const service of of(order, [...order, ...order, ...order])) {
      await wait(random.between(800, 2500));
      seen.push(await breakOnce(fleet, history, service, random.between(2500, of(4000, 8000)), key));
    }
    await load.stop();
    const last = await tenant.deploy();
    const { behind } = await allOn(crowd, last.version, 10_000);
    const closed = Date.now();
    close(crowd);

    const calls = history.of<IngestInput>('ingest');
    const { violations, ...counts } = checkEvents(calls, await tenant.eventIds());
    const recovered = seen.flatMap((outage) => outage.recovered);
    const answered = (code: number) => calls.filter(({ status }) => status === code).length;
    return {
      figures: {
        outages: seen
          .map(({ service, from, back }) => `${service} ${((back - from) / 1000).toFixed(1)} s`)
          .join(', '),
        'events acknowledged/unknown/found': `${counts.acknowledged}/${counts.unknown}/${counts.found}`,
        'answered 503/429': `${answered(503)}/${answered(429)}`,
        'recovered after at most': `${Math.round(percentile(recovered, 1))} ms`,
      },
      violations: [
        ...violations,
        ...seen.flatMap((outage) => judge(outage, calls, crowd, closed)),
        ...behind.map((line) => `after the outages: ${line}`),
      ],
    };
  },
};

async function breakOnce(
  fleet: Fleet,
  history: History,
  service: Outage['service'],
  awayMs: number,
  key: string,
): Promise<Outage> {
  await fleet.killService(service);
  const from = Date.now();
  await wait(awayMs);
  const until = Date.now();
  await fleet.startService(service);
  const back = Date.now();
  const recovered = await Promise.all(
    fleet.nodes.map(async (node) => {
      const works = async () => {
        const id = `probe/${service}/${back}/${node.name}`;
        const took = await fleet.caller.note(
          history,
          'ingest',
          { ids: [id] },
          node,
          'POST',
          '/api/v1/events',
          {
            key,
            body: { events: [event(id, 'probe')] },
            timeoutMs: 3000,
          },
        );
        return took.outcome === 'ok' && (await fleet.ready(node)) ? true : undefined;
      };
      return eventually(`node ${node.name} works again`, works, 3 * recoverMs).then(
        ({ tookMs }) => tookMs,
        () => Number.POSITIVE_INFINITY,
      );
    }),
  );
  return { service, from, until, back, recovered };
}

function judge(
  outage: Outage,
  calls: readonly Call<IngestInput>[],
  crowd: readonly Follower[],
  closed: number,
): string[] {
  const { service, from, until, back, recovered } = outage;
  const violations: string[] = [];
  const statuses = new Map<string, number>();
  for (const { invoked, ended, status, retryAfter, output } of calls) {
    if (invoked < from || invoked > until) continue;
    if (ended - invoked > answerMs) violations.push(`${service} down: an answer took ${ended - invoked} ms`);
    if (ended > until) continue;
    if (status === 503 && retryAfter !== null && retryAfter >= 1) continue;
    if (service === 'redis' && status === 429 && retryAfter === closedSeconds) continue;
    const text = status === 0 ? String(output) : `${status}${status === 503 ? ' without Retry-After' : ''}`;
    statuses.set(text, (statuses.get(text) ?? 0) + 1);
  }
  for (const [text, times] of statuses)
    violations.push(`${service} down: ${times} requests were answered ${text}`);
  for (const ms of recovered) {
    if (ms > recoverMs) violations.push(`${service} back: a node recovered after ${Math.round(ms)} ms`);
  }
  if (service === 'redis') {
    const ended = crowd.filter(({ connections }) =>
      connections.some(
        ({ endedAt }) => endedAt !== null && endedAt >= from && endedAt < Math.min(back + recoverMs, closed),
      ),
    );
    if (ended.length > 0)
      violations.push(`redis down: ${ended.length} of ${crowd.length} agents' streams ended`);
  }
  return violations;
}
