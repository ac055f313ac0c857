// Promise 2: Redis and the store are killed mid-batch. Nothing acknowledged is lost; while one is down the answer is
// 503 with Retry-After; every node recovers by itself within 10 s of its return; agents' streams stay open through an
// outage of Redis.
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises';
import { eventually } from '../../nodes.ts';
import { checkEvents } from '../check/events.ts';
import { checkOutage, type Outage } from '../check/outages.ts';
import { agents, allOn, allOpen, close, open } from '../crowd.ts';
import { percentile } from '../figures.ts';
import type { History } from '../history.ts';
import { event, type IngestInput, ingest } from '../load.ts';
import { type Key, Tenant } from '../tenant.ts';
import type { Suite, Trial } from '../trial.ts';

/** After the last outages there is traffic for so long that what still fails 10 s after the return is seen. */
const watchedMs = 13_000;
const recoverMs = 30_000;
const answerMs = 15_000;

export const outages: Suite = {
  promise: 2,
  title: 'kill -9 of Redis and of the store, mid-batch',

  async run(trial) {
    const { fleet, random, history, of, ended } = trial;
    const tenant = await Tenant.create(fleet, random);
    const key = await tenant.key();
    await tenant.deploy();
    const crowd = agents(fleet, key.key, of(30, 200), random.branch('agents'));
    await open(crowd);
    const load = ingest({
      senders: 20,
      batch: 10,
      pauseMs: 500,
      maxPauseMs: 1500,
      key: key.key,
      caller: fleet.caller,
      history,
      random: random.branch('ingest'),
      route: (chance) => fleet.route(chance),
      ended,
      attempts: 40,
    });
    const seen: Omit<Outage, 'next'>[] = [];
    const order = random.shuffle(['redis', 'store'] as const);
    const services = of(order, [...order, ...order]);
    for (const [i, service] of services.entries()) {
      await wait(random.between(800, 2500));
      await allOpen(crowd);
      const awayMs = random.between(2500, of(4000, 8000));
      const outage = await breakOnce(trial, service, awayMs, tenant, key);
      seen.push(outage);
      if (i >= services.length - order.length)
        await wait(of(0, Math.max(0, outage.back + watchedMs - Date.now())));
    }
    await load.stop();
    const end = Date.now();
    const last = await tenant.deploy();
    const { behind } = await allOn(crowd, last.version, 10_000);
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
        'answered 503': answered(503),
        'recovered after at most': `${Math.round(percentile(recovered, 1))} ms`,
      },
      violations: [
        ...violations,
        ...seen.flatMap((outage, i) =>
          checkOutage({ ...outage, next: seen[i + 1]?.from ?? end }, history.calls, crowd),
        ),
        ...behind.map((line) => `after the outages: ${line}`),
      ],
    };
  },
};

async function breakOnce(
  { fleet, history }: Trial,
  service: Outage['service'],
  awayMs: number,
  tenant: Tenant,
  { key }: Key,
): Promise<Omit<Outage, 'next'>> {
  await batchUnderWay(history);
  const from = Date.now();
  await fleet.killService(service);
  // A deploy is refused after 2 s at the most: before the shortest outage is over.
  await wait(100);
  const deploys = fleet.nodes.map((node) => tenant.redeploy(node, history, answerMs));
  await wait(from + awayMs - Date.now());
  const until = Date.now();
  await fleet.startService(service);
  const back = Date.now();
  const recovered = await Promise.all(
    fleet.nodes.map(async (node) => {
      const works = async () => {
        const id = `probe/${service}/${back}/${node.name}`;
        const body = { events: [event(id, 'probe')] };
        const request = { key, body, timeoutMs: 3000 };
        const took = await fleet.caller.note(
          history,
          'ingest',
          { ids: [id] },
          node,
          'POST',
          '/api/v1/events',
          request,
        );
        if (took.outcome !== 'ok' || !(await fleet.ready(node))) return undefined;
        return (await tenant.redeploy(node, history, 3000)).outcome === 'ok' ? true : undefined;
      };
      return eventually(`node ${node.name} works again`, works, recoverMs).then(
        ({ tookMs }) => tookMs,
        () => Number.POSITIVE_INFINITY,
      );
    }),
  );
  await Promise.all(deploys);
  return { service, from, until, back, recovered };
}

async function batchUnderWay(history: History): Promise<void> {
  const recent = () => history.calls.slice(-100);
  const begun = Date.now();
  while (!recent().some(({ op, outcome }) => op === 'ingest' && outcome === 'pending')) {
    if (Date.now() - begun > answerMs) throw new Error('no batch was under way');
    await turn();
  }
}
