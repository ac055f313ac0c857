// Idle agent streams: resident memory and processor time of each. Each round has a fresh hub, because a later one would
// reuse the memory of closed streams, in turns with a fresh bare loop.
import { setTimeout as delay } from 'node:timers/promises';
import { figureOf } from '../suite/figures.ts';
import { minus, processorMsOf, residentBytesOf } from '../suite/machine.ts';
import type { Figure } from '../suite/results.ts';
import type { StreamClient } from '../suite/streams.ts';
import type { RunOptions, ScenarioProgram } from './scenario.ts';
import { type Round, runStreamRounds } from './stream-rounds.ts';
import { bareRequest, bareText } from './streams-bound.ts';

/** Opened and closed before, so that what grows once has grown. */
const warmStreams = 1000;
const frameBytes = 1024;
const settleMs = 500;

interface Cost {
  readonly rssBytes: number | null;
  /** Microseconds of processor time per second. */
  readonly time: number | null;
}

interface Server {
  readonly pid: number;
  readonly port: number;
  readonly request: string;
  /** Collects garbage where the process can. */
  readonly settle: () => Promise<unknown>;
}

/** All memory that the streams added ÷ streams, so nothing that they cause is left out. */
async function measureCost(
  { pid, port, request, settle }: Server,
  client: StreamClient,
  { agents, seconds }: RunOptions,
): Promise<Cost> {
  await client.open({ port, count: Math.min(warmStreams, agents), request });
  await client.close();
  await settle();
  const empty = residentBytesOf(pid);
  await client.open({ port, count: agents, request });
  await settle();
  const added = minus(residentBytesOf(pid), empty);
  const before = processorMsOf(pid);
  await delay(seconds * 1000);
  const spent = minus(processorMsOf(pid), before);
  return {
    rssBytes: added === null ? null : Math.max(0, added / agents),
    time: spent === null ? null : (spent * 1000) / seconds / agents,
  };
}

function figuresOf(rounds: readonly Round<Cost>[], isDisturbed: boolean): Figure[] {
  const beside = (value: (cost: Cost) => number | null) => ({
    what: bareText,
    rounds: rounds.map(({ bare }) => value(bare) ?? 0),
  });
  return [
    figureOf({
      id: 'idle.rss',
      what: 'resident memory that idle streams add',
      unit: 'bytes per stream',
      better: 'lower',
      rounds: rounds.map(({ hub }) => hub.rssBytes),
      bound: beside(({ rssBytes }) => rssBytes),
      target: { at_most: 2458, of: 'value' },
    }),
    figureOf({
      id: 'idle.processor_time',
      what: 'processor time of an idle stream',
      unit: 'µs/s',
      better: 'lower',
      rounds: rounds.map(({ hub }) => hub.time),
      bound: beside(({ time }) => time),
      target: { at_most: 4.7, of: 'value' },
      isDisturbed,
    }),
  ];
}

export const idle: ScenarioProgram = {
  about: 'idle agent streams: memory and processor time of each',
  ownHub: 'each round needs a new hub',
  run: (options) =>
    runStreamRounds<Cost>(options, {
      name: 'idle',
      frameBytes,
      preloads: ['count'],
      prepare: ({ hub }) => hub.ask('grow'),
      measureHub({ hub, deployer, client }) {
        const settle = async (): Promise<void> => {
          await delay(settleMs);
          await hub.ask('collect');
        };
        const server: Server = { pid: hub.pid, port: hub.port, request: deployer.streamRequest(), settle };
        return measureCost(server, client, options);
      },
      async measureBare(bare, client) {
        const port = await bare.start();
        const settle = () => delay(settleMs);
        return measureCost({ pid: bare.pid, port, request: bareRequest, settle }, client, options);
      },
      describe: ({ rssBytes }) => `${Math.round(rssBytes ?? 0)} bytes per stream`,
      figuresOf,
    }),
};
