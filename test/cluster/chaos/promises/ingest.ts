// Promise 1: nodes are killed under ingest. No acknowledged event is missing, none is there twice.
import { checkEvents } from '../check/events.ts';
import { kills, perform } from '../faults.ts';
import { spread } from '../figures.ts';
import { type IngestInput, ingest } from '../load.ts';
import { Tenant } from '../tenant.ts';
import type { Suite } from '../trial.ts';

export const ingestUnderKills: Suite = {
  promise: 1,
  title: 'kill -9 of a random node every 2 to 5 s under ingest from 50 agents',

  async run({ fleet, random, history, of, ended }) {
    const tenant = await Tenant.create(fleet, random);
    const { key } = await tenant.key();
    const plan = kills(random.branch('kills'), {
      ms: of(14_000, 60_000),
      nodes: fleet.size,
      every: [2000, 5000],
      away: [200, 1500],
    });
    const load = ingest({
      senders: 50,
      batch: 5,
      pauseMs: of(2000, 1200),
      key,
      caller: fleet.caller,
      history,
      random: random.branch('ingest'),
      route: (chance) => fleet.route(chance),
      ended,
    });
    const begun = Date.now();
    const killed = await perform(fleet, plan);
    await load.stop();
    const deaths = fleet.deaths(begun).map(({ at }) => at);
    await fleet.heal();

    const calls = history.of<IngestInput>('ingest');
    const { violations, ...counts } = checkEvents(calls, await tenant.eventIds());
    const times = calls
      .filter(({ outcome }) => outcome === 'ok')
      .map(({ invoked, ended }) => ended - invoked);
    const { ok, failed, unknown } = history.count('ingest');
    return {
      figures: {
        kills: killed,
        'events acknowledged/unknown/found': `${counts.acknowledged}/${counts.unknown}/${counts.found}`,
        'batches ok/failed/unknown': `${ok}/${failed}/${unknown}`,
        'acknowledged after p50/p99/max': spread(times),
      },
      violations: [
        ...violations,
        ...(killed < 0.6 * plan.length ? [`only ${killed} of ${plan.length} kills could be made`] : []),
        ...of([], unknown === 0 ? ['no kill met a batch'] : []),
        ...deaths.flatMap((at, i) => {
          const next = deaths[i + 1] ?? Number.POSITIVE_INFINITY;
          const worked = calls.some(
            (call) => call.outcome === 'ok' && call.invoked > at && call.ended < next,
          );
          return worked ? [] : ['no batch was taken between two kills'];
        }),
      ],
    };
  },
};
