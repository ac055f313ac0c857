// Promise 1: nodes are killed under ingest, while an export is read. No acknowledged event is missing, none is there
// twice, neither in the store nor in the export.
import { checkEvents } from '../check/events.ts';
import { checkExport, missingIn } from '../check/export.ts';
import { type ExportedLine, ExportReader } from '../export-reader.ts';
import { kills, perform } from '../faults.ts';
import { spread } from '../figures.ts';
import { type IngestInput, ingest } from '../load.ts';
import { Tenant } from '../tenant.ts';
import type { Suite } from '../trial.ts';

/** The line of an event whose node was killed comes 30 s later at most, and a busy machine is slower. */
const lastLineMs = 60_000;
/** The stand-in for MongoDB reads all of the 10,000 events of a long run for each batch that a node completes. */
const lastLineOfManyMs = 240_000;
/** Lines behind which a later reader begins. */
const continuations = 5;

export const ingestUnderKills: Suite = {
  promise: 1,
  title: 'kill -9 of a random node every 2 to 5 s under ingest from 50 agents',

  async run({ fleet, random, history, of, ended, beside }) {
    const tenant = await Tenant.create(fleet, random);
    const { key } = await tenant.key();
    const plan = kills(random.branch('kills'), {
      ms: of(10_000, 60_000),
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
    const reader = new ExportReader(fleet, tenant, random.branch('export'));
    const reading = beside((signal) => reader.follow(signal));
    const begun = Date.now();
    // A hub that answers within milliseconds would seldom die with a batch, and a busy machine starts one slowly.
    const isBusy = () => history.isBusy('ingest', fleet.deaths(begun).at(-1)?.at ?? begun);
    const killed = await perform(fleet, plan, isBusy);
    await load.stop();
    const deaths = fleet.deaths(begun).map(({ at }) => at);
    await fleet.heal();

    const calls = history.of<IngestInput>('ingest');
    const { violations, ...counts } = checkEvents(calls, await tenant.eventIds());
    await reading.end();
    await reader.finish(() => missingIn(calls, reader.lines).length === 0, of(lastLineMs, lastLineOfManyMs));
    const whole = await reader.linesAfter(null);
    const continued = new Map<number, readonly ExportedLine[]>();
    for (let i = 0; i < continuations && whole.length > 0; i++) {
      const index = random.int(whole.length);
      continued.set(index, await reader.linesAfter(whole[index]?.cursor ?? null));
    }
    const times = calls
      .filter(({ outcome }) => outcome === 'ok')
      .map(({ invoked, ended }) => ended - invoked);
    const { ok, failed, unknown } = history.count('ingest');
    return {
      figures: {
        kills: killed,
        'events acknowledged/unknown/found': `${counts.acknowledged}/${counts.unknown}/${counts.found}`,
        'lines exported/reads lost': `${reader.lines.length}/${reader.lostReads}`,
        'batches ok/failed/unknown': `${ok}/${failed}/${unknown}`,
        'acknowledged after p50/p99/max': spread(times),
      },
      violations: [
        ...violations,
        ...checkExport(calls, reader.lines, whole, continued),
        ...(killed < 0.6 * plan.length ? [`only ${killed} of ${plan.length} kills could be made`] : []),
        ...of([], unknown === 0 ? ['no kill met a batch'] : []),
        ...deaths.flatMap((at, i) => {
          const next = deaths[i + 1] ?? Number.POSITIVE_INFINITY;
          const worked = calls.some(
            (call) => call.outcome === 'ok' && call.invoked > at && call.ended <= next,
          );
          return worked ? [] : ['no batch was taken between two kills'];
        }),
      ],
    };
  },
};
