// A storm: all agents open their stream in one turn of the event loop and have no version. The first storm meets a hub
// that has just started, the second one comes as after a network is back. Each round has a fresh hub, in turns with a
// fresh bare loop that sends as many bytes.
import { setTimeout as delay } from 'node:timers/promises';
import { figureOf } from '../suite/figures.ts';
import { addedByEach, minus, processorMsOf, residentBytesOf } from '../suite/machine.ts';
import type { Figure, Scenario } from '../suite/results.ts';
import type { StreamClient } from '../suite/streams.ts';
import type { RunOptions } from './scenario.ts';
import { type Round, runStreamRounds } from './stream-rounds.ts';
import { bareRequest, bareText } from './streams-bound.ts';

const frameBytes = 2048;
/** First line of a frame with a document; the rest follows. */
const marker = 'event: contract_update';
/** Making the first password takes memory, which goes back some seconds later and would hide that of streams. */
const restMs = 5000;

/** Between the end of all streams and the second storm. */
const awayMs = 2000;

interface Storm {
  /** From the first connection's start until the last agent has its document. */
  readonly elapsedMs: number;
  /** The same, when all agents come back. */
  readonly backMs: number;
  readonly refused: number;
  /** Microseconds of processor time per opening. */
  readonly time: number | null;
  readonly rssBytes: number | null;
}

async function measureStorm(
  server: { readonly pid: number; readonly port: number; readonly request: string },
  client: StreamClient,
  { agents, seconds }: RunOptions,
): Promise<Storm> {
  const { pid, port, request } = server;
  const before = { time: processorMsOf(pid), rss: residentBytesOf(pid) };
  const order = { port, count: agents, request, atOnce: agents, marker };
  const { elapsedMs, refused } = await client.open(order);
  const spent = minus(processorMsOf(pid), before.time);
  await delay(seconds * 1000);
  const added = minus(residentBytesOf(pid), before.rss);
  await client.close();
  await delay(awayMs);
  const back = await client.open(order);
  await client.close();
  return {
    elapsedMs,
    backMs: back.elapsedMs,
    refused: refused + back.refused,
    time: spent === null ? null : (spent * 1000) / agents,
    rssBytes: addedByEach(added, agents),
  };
}

export function stormFigures(
  rounds: readonly Round<Storm>[],
  agents: number,
  isDisturbed: boolean,
): Figure[] {
  const of = (value: (storm: Storm) => number | null) => rounds.map(({ hub }) => value(hub));
  const beside = (value: (storm: Storm) => number | null) => ({
    what: bareText,
    rounds: rounds.map(({ bare }) => value(bare)),
  });
  const rateFigure = (id: string, what: string, duration: 'elapsedMs' | 'backMs'): Figure => {
    const rateOf = (storm: Storm): number => (agents * 1000) / storm[duration];
    return figureOf({
      ...{ id, what, unit: 'connections/s', better: 'higher', isDisturbed },
      rounds: of(rateOf),
      bound: beside(rateOf),
      target: { at_least: 0.5, of: 'ratio' },
    });
  };
  return [
    rateFigure('storm.rate', 'agents that have their document, right after a start', 'elapsedMs'),
    rateFigure('storm.back_rate', 'agents that come back and have their document', 'backMs'),
    figureOf({
      id: 'storm.refused',
      what: 'openings that were refused and tried again',
      unit: 'connections',
      better: 'lower',
      rounds: of(({ refused }) => refused),
      target: { at_most: 0, of: 'value' },
      isDisturbed,
    }),
    figureOf({
      id: 'storm.processor_time',
      what: "processor time of the hub's process per opening",
      unit: 'µs',
      better: 'lower',
      rounds: of(({ time }) => time),
      bound: beside(({ time }) => time),
    }),
    figureOf({
      id: 'storm.rss',
      what: 'resident memory after the storm, no forced collection',
      unit: 'bytes per stream',
      better: 'lower',
      rounds: of(({ rssBytes }) => rssBytes),
      target: { at_most: 10_240, of: 'value' },
      isDisturbed,
    }),
  ];
}

export const runStorm = (options: RunOptions): Promise<Scenario> =>
  runStreamRounds<Storm>(options, {
    name: 'storm',
    frameBytes,
    prepare: () => delay(restMs),
    measureHub({ hub: { pid, port }, deployer, client }) {
      const request = deployer.streamRequest({ isCurrent: false });
      return measureStorm({ pid, port, request }, client, options);
    },
    async measureBare(bare, client) {
      const port = await bare.start(frameBytes);
      return measureStorm({ pid: bare.pid, port, request: bareRequest }, client, options);
    },
    describe: ({ elapsedMs, backMs }) => `${Math.round(elapsedMs)} ms, then ${Math.round(backMs)} ms`,
    parameters: { frame_bytes: frameBytes },
    figuresOf: (rounds, isDisturbed) => stormFigures(rounds, options.agents, isDisturbed),
  });
