// Idle agent streams: resident memory and processor time of each. Each round has a fresh hub, because a later one would
// reuse the memory of closed streams, in turns with a fresh bare loop.
import { setTimeout as delay } from 'node:timers/promises';
import { type FigureForm, figureOf } from '../suite/figures.ts';
import {
  addedByEach,
  kernelBytes,
  minus,
  processorMsOf,
  residentBytesOf,
  totalOf,
} from '../suite/machine.ts';
import type { Figure, Scenario } from '../suite/results.ts';
import type { StreamClient } from '../suite/streams.ts';
import type { RunOptions } from './scenario.ts';
import { type Round, runStreamRounds } from './stream-rounds.ts';
import { bareRequest, bareText } from './streams-bound.ts';

/** Opened and closed before, in so many turns, so that what grows once has grown, and code is compiled. */
const warmStreams = 1000;
const warmTurns = 5;
const frameBytes = 1024;
const settleMs = 500;

interface Cost {
  readonly rssBytes: number | null;
  /** Of both ends of a stream. */
  readonly kernelBytes: number | null;
  /** Microseconds of processor time per second. */
  readonly time: number | null;
}

interface Server {
  readonly pids: () => readonly number[];
  readonly port: number;
  readonly request: string;
  /** Default: the end of the first frame. */
  readonly marker?: string;
  /** Collects garbage where the process can. */
  readonly settle: () => Promise<unknown>;
}

/** A long run holds the hub's streams. The others only need enough time for a figure. */
const maxBoundSeconds = 60;
const forBound = (options: RunOptions): RunOptions => ({
  ...options,
  seconds: Math.min(options.seconds, maxBoundSeconds),
});

/** All memory that the streams added ÷ streams, so nothing that they cause is left out. */
async function measureCost(
  { pids, settle, ...target }: Server,
  client: StreamClient,
  { agents, seconds }: RunOptions,
): Promise<Cost> {
  for (let turn = 0; turn < warmTurns; turn++) {
    await client.open({ ...target, count: Math.min(warmStreams, agents) });
    await client.close();
  }
  await settle();
  const empty = totalOf(pids(), residentBytesOf);
  const kernelEmpty = kernelBytes();
  await client.open({ ...target, count: agents });
  await settle();
  const added = minus(totalOf(pids(), residentBytesOf), empty);
  const kernelAdded = minus(kernelBytes(), kernelEmpty);
  const before = totalOf(pids(), processorMsOf);
  await delay(seconds * 1000);
  const spent = minus(totalOf(pids(), processorMsOf), before);
  // Fewer streams than were opened would cost less.
  await client.checkOpen();
  return {
    rssBytes: addedByEach(added, agents),
    kernelBytes: addedByEach(kernelAdded, agents),
    time: spent === null ? null : (spent * 1000) / seconds / agents,
  };
}

/** The other servers cannot grow their heap before, nor collect garbage when the suite asks for it. */
const uncollectedText = 'without a collection of garbage';

const rssForm: FigureForm = {
  id: 'idle.rss',
  what: 'resident memory that idle streams add',
  unit: 'bytes per stream',
  better: 'lower',
};

const kernelForm: FigureForm = {
  id: 'idle.kernel_memory',
  what: "memory of the kernel's structures that both ends of an idle stream add, on an idle machine",
  unit: 'bytes per stream',
  better: 'lower',
};

const timeForm: FigureForm = {
  id: 'idle.processor_time',
  what: 'processor time of an idle stream',
  unit: 'µs/s',
  better: 'lower',
};

export function idleFigures(rounds: readonly Round<Cost>[], isDisturbed: boolean): Figure[] {
  const beside = (value: (cost: Cost) => number | null, what = bareText) => ({
    what,
    rounds: rounds.map(({ bare }) => value(bare)),
  });
  return [
    figureOf({
      ...rssForm,
      what: `${rssForm.what} to a heap that has grown before, after a collection of garbage`,
      rounds: rounds.map(({ hub }) => hub.rssBytes),
      bound: beside(({ rssBytes }) => rssBytes, `${bareText}, ${uncollectedText}`),
      target: { at_most: 2458, of: 'value' },
    }),
    figureOf({
      ...kernelForm,
      rounds: rounds.map(({ hub }) => hub.kernelBytes),
      bound: beside(({ kernelBytes: bytes }) => bytes),
    }),
    figureOf({
      ...timeForm,
      rounds: rounds.map(({ hub }) => hub.time),
      bound: beside(({ time }) => time),
      target: { at_most: 4.7, of: 'value' },
      isDisturbed,
    }),
  ];
}

export const runIdle = (options: RunOptions): Promise<Scenario> =>
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
      const { pid, port } = hub;
      const request = deployer.streamRequest();
      return measureCost({ pids: () => [pid], port, request, settle }, client, options);
    },
    async measureBare(bare, client) {
      const port = await bare.start();
      const settle = () => delay(settleMs);
      const target = { pids: () => [bare.pid], port, request: bareRequest, settle };
      return measureCost(target, client, forBound(options));
    },
    describe: ({ rssBytes }) =>
      rssBytes === null ? 'memory is not measured' : `${Math.round(rssBytes)} bytes per stream`,
    figuresOf: idleFigures,
    rivals: {
      measure: ({ pids, port, request, marker }, client) =>
        measureCost(
          { pids, port, request, marker, settle: () => delay(settleMs) },
          client,
          forBound(options),
        ),
      figuresOf: (costs) => [
        figureOf({
          ...rssForm,
          what: `${rssForm.what}, ${uncollectedText}`,
          rounds: costs.map(({ rssBytes }) => rssBytes),
        }),
        figureOf({ ...timeForm, rounds: costs.map(({ time }) => time) }),
      ],
    },
  });
