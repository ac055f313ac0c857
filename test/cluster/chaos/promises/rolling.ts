// Promise 6: a rolling restart under load. No acknowledged write fails, every agent is on the newest bundle 5 s after
// the last restart, none skipped a revision silently, and reconnections are spread.
import { checkEvents } from '../check/events.ts';
import { arrivals, checkCatchUp, checkOrder, checkVersions } from '../check/streams.ts';
import { agents, allOn, close, open } from '../crowd.ts';
import { busiest } from '../figures.ts';
import { type IngestInput, ingest } from '../load.ts';
import { Tenant } from '../tenant.ts';
import { rest, type Suite } from '../trial.ts';

const convergeMs = 5000;
const windowMs = 250;
/** Of the reconnections after one restart, at most this share within one window. */
const maxShare = 0.35;

export const rolling: Suite = {
  promise: 6,
  title: 'rolling restart of three nodes under load, 500 agents',

  async run({ fleet, random, history, of, ended, beside }) {
    const tenant = await Tenant.create(fleet, random);
    const { key } = await tenant.key();
    await tenant.deploy();
    const crowd = agents(fleet, key, of(100, 500), random.branch('agents'));
    await open(crowd, 60_000);
    const load = ingest({
      senders: 10,
      batch: 10,
      pauseMs: 400,
      key,
      caller: fleet.caller,
      history,
      random: random.branch('ingest'),
      route: (chance) => fleet.route(chance),
      ended,
    });
    const deploying = beside(async (signal) => {
      const chance = random.branch('deploys');
      while (!signal.aborted) {
        await tenant.deploy();
        await rest(chance.between(200, 900), signal);
      }
    });

    const violations: string[] = [];
    const stopped: number[] = [];
    const restarts: number[] = [];
    const order = random.shuffle([...fleet.nodes.keys()]);
    for (const i of order) {
      const begun = Date.now();
      restarts.push(begun);
      const code = await fleet.stop(i);
      stopped.push(Date.now() - begun);
      if (code !== 0) violations.push(`node ${fleet.at(i).name} ended with ${code}`);
      await fleet.start(i);
      await fleet.heal();
    }
    await deploying.end();
    await load.stop();
    const lastRestart = Math.max(
      ...fleet.faults.flatMap(({ kind, at }) => (kind === 'start' && at >= (restarts[0] ?? 0) ? [at] : [])),
    );
    const newest = tenant.deployed.at(-1);
    const last = newest?.version ?? 0;
    const { behind } = await allOn(crowd, last, convergeMs);
    // The last deploy may have come after the last restart.
    const from = Math.max(lastRestart, newest?.until ?? 0);
    const arrived = arrivals(crowd, last).map((at) => at - from);
    close(crowd);

    const asked = crowd.flatMap(({ attempts }) => attempts.slice(1));
    const shares = restarts.map((from, n) => {
      const to = restarts[n + 1] ?? Number.POSITIVE_INFINITY;
      return busiest(
        asked.filter((at) => at >= from && at < to),
        windowMs,
      );
    });
    for (const { count, share } of shares) {
      if (share > maxShare && count > 20)
        violations.push(`${count} agents asked for a stream within ${windowMs} ms`);
    }
    const versions = tenant.deployed.map(({ version }) => version);
    const { violations: lost, ...counts } = checkEvents(
      history.of<IngestInput>('ingest'),
      await tenant.eventIds(),
    );
    const current = await tenant.current();
    if (current !== last) violations.push(`version ${last} was deployed last, the store has ${current}`);
    return {
      figures: {
        agents: crowd.length,
        deploys: versions.length,
        'streams asked for again': asked.length,
        'busiest 250 ms': shares
          .map(({ count, share }) => `${count} (${Math.round(share * 100)} %)`)
          .join(', '),
        'nodes stopped after': stopped.map((ms) => `${ms} ms`).join(', '),
        'all on the newest bundle after': `${Math.max(0, ...arrived)} ms`,
        'events acknowledged/unknown/found': `${counts.acknowledged}/${counts.unknown}/${counts.found}`,
      },
      violations: [
        ...violations,
        ...lost,
        ...behind.map((line) => `in the end, on ${last}: ${line}`),
        ...arrived
          .filter((ms) => ms > convergeMs)
          .map((ms) => `an agent had version ${last} only ${ms} ms after the last restart`),
        ...crowd.flatMap((agent) => [
          ...checkOrder(agent),
          ...checkVersions(agent, versions),
          ...checkCatchUp(agent, tenant.deployed),
        ]),
      ],
    };
  },
};
