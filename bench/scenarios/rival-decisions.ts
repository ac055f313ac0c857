// Rivals in the scenario `evaluate`: the same conditions, asked at the same rate over HTTP.
import type { DecisionRival } from '../rivals/rival.ts';
import { figureOf } from '../suite/figures.ts';
import type { Requester } from '../suite/requester.ts';
import type { Figure, RivalResult } from '../suite/results.ts';
import { percentileOf } from './open-rounds.ts';
import { messageOf } from './rival-streams.ts';

const timedCalls = 1000;

export interface DecisionRounds {
  readonly rounds: number;
  readonly seconds: number;
  readonly perSecond: number;
  readonly seed: number;
}

interface Round {
  /** Milliseconds. */
  readonly p99: number;
  /** Microseconds. */
  readonly meanTime: number;
  readonly timeP99: number;
}

const figuresOf = (rounds: readonly Round[]): Figure[] => [
  figureOf({
    id: 'evaluate.playground_p99',
    what: 'one call over HTTP, p99 from the due times',
    unit: 'ms',
    better: 'lower',
    rounds: rounds.map(({ p99 }) => p99),
  }),
  figureOf({
    id: 'evaluate.library_time',
    what: 'one call, mean of the times in its answers',
    unit: 'µs',
    better: 'lower',
    rounds: rounds.map(({ meanTime }) => meanTime),
  }),
  figureOf({
    id: 'evaluate.library_p99',
    what: 'one call, p99 of the times in its answers',
    unit: 'µs',
    better: 'lower',
    rounds: rounds.map(({ timeP99 }) => timeP99),
  }),
];

async function measureRival(
  rival: DecisionRival,
  requester: Requester,
  { rounds: count, seconds, perSecond, seed }: DecisionRounds,
): Promise<RivalResult> {
  const { name } = rival;
  const installation = rival.locate();
  if ('absent' in installation) return { name, absent: installation.absent };
  try {
    const server = await rival.start(installation);
    try {
      const rounds: Round[] = [];
      // The first round warms up.
      for (let n = 0; n <= count; n++) {
        const times: number[] = [];
        for (let call = 0; call < timedCalls; call++) times.push(await server.decide(call));
        const { origin, call } = server;
        const { latencies } = await requester.open({
          origin,
          calls: [call],
          seed: seed + n,
          seconds,
          perSecond,
        });
        times.sort((a, b) => a - b);
        const meanTime = times.reduce((sum, time) => sum + time, 0) / timedCalls;
        const timeP99 = times[Math.ceil(timedCalls * 0.99) - 1] ?? 0;
        if (n > 0) rounds.push({ p99: percentileOf(latencies, 99), meanTime, timeP99 });
      }
      return { name, version: installation.version, figures: figuresOf(rounds) };
    } finally {
      await server.stop();
    }
  } catch (error) {
    return { name, absent: `it failed: ${messageOf(error)}` };
  }
}

/** A rival that fails has a reason in place of figures. */
export async function measureDecisions(
  rivals: readonly DecisionRival[],
  requester: Requester,
  form: DecisionRounds,
): Promise<RivalResult[]> {
  const results: RivalResult[] = [];
  for (const rival of rivals) results.push(await measureRival(rival, requester, form));
  return results;
}
