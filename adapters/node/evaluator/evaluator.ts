// The evaluator port over two pools of worker threads: one for dry runs, one for reading and assembling bundles, so
// that a busy playground never delays an upload. Decides nothing about bundles. Keeps promise P50.

import type { EvaluationRequest, Evaluator } from '../../../src/evaluation/port/evaluator.ts';
import { HubError } from '../../../src/shared/error.ts';
import type { Clock } from '../../../src/shared/ports/clock.ts';
import { createPool, placesOf } from './pool.ts';
import { type Accepted, perform, type Task, type TaskResult } from './tasks.ts';

export interface EvaluatorOptions {
  readonly clock: Clock;
  /** apiVersions and kinds that imports, dry runs and validation accept. */
  readonly accepted: Accepted;
  /** Prefix of the hub's own API keys, which are never shown. Keys that begin with `svk_` are hidden in any case. */
  readonly keyPrefix?: string;
  /** Milliseconds that a dry run may take; 5,000 by default. */
  readonly limitMs?: number;
  /** The module that the threads run; the one beside this file by default. */
  readonly entry?: URL;
}

/**
 * Texts up to this many characters, without anchors, are read at once on the caller's thread: a few milliseconds of
 * parsing at most. Anchors make a short text expand to a long one.
 */
const readAtOnce = 4096;
const reading = {
  ...placesOf('bundleReadings'),
  timedOut: () => new HubError('unprocessable', 'Reading the YAML took too long. Split the document.'),
  overgrown: () =>
    new HubError('unprocessable', 'Reading the YAML needs too much memory. Split the document.'),
};

const running = {
  ...placesOf('dryRuns'),
  timedOut: () => new HubError('unprocessable', 'Evaluation timed out'),
  overgrown: () => new HubError('unprocessable', 'Evaluation needs too much memory'),
};

/** The module that evaluators' threads run. */
export const evaluatorEntry = new URL(
  import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js',
  import.meta.url,
);

/** One tenant leaves threads of both pools to the others, whatever it asks for. */
function poolsOf(clock: Clock, entry: URL, limitMs: number) {
  const shared = { entry, clock, startMs: 15_000, memoryMb: 256 };
  return {
    runs: createPool({ ...shared, ...running, limitMs }),
    readings: createPool({ ...shared, ...reading, limitMs: 5000 }),
  };
}

const isSmall = (yaml: string): boolean => yaml.length <= readAtOnce && !yaml.includes('&');

export function createEvaluator({
  clock,
  accepted,
  keyPrefix = '',
  limitMs = 5000,
  entry = evaluatorEntry,
}: EvaluatorOptions): Evaluator {
  const { runs, readings } = poolsOf(clock, entry, limitMs);
  const read = async <T extends Task & { kind: 'outline' | 'takeApart' | 'listContracts' | 'inspect' }>(
    tenantId: string,
    task: T,
    atOnce: boolean,
  ): Promise<TaskResult<T>> => (atOnce ? perform(task) : await readings.run(task, tenantId)) as TaskResult<T>;

  const dryRun = (tenantId: string, request: EvaluationRequest) =>
    ({ kind: 'evaluate', tenantId, request, accepted, keyPrefix }) as const;

  return {
    evaluate: async (tenantId, request) => {
      const task = dryRun(tenantId, request);
      return (await runs.run(task, tenantId)) as TaskResult<typeof task>;
    },
    evaluateToJson: (tenantId, request) => runs.runToJson(dryRun(tenantId, request), tenantId),
    explain: async (tenantId, request) => {
      const task = { kind: 'explain', tenantId, request, accepted, keyPrefix } as const;
      return (await runs.run(task, tenantId)) as TaskResult<typeof task>;
    },
    outline: async (tenantId, yaml) => read(tenantId, { kind: 'outline', yaml }, isSmall(yaml)),
    takeApart: async (tenantId, yaml, maxContracts) =>
      read(tenantId, { kind: 'takeApart', yaml, accepted, maxContracts }, isSmall(yaml)),
    // Patterns make a short text expensive.
    inspect: async (tenantId, yaml, words, form = 'any') =>
      read(
        tenantId,
        { kind: 'inspect', yaml, accepted, words, form },
        isSmall(yaml) && !yaml.includes('match'),
      ),
    listContracts: async (tenantId, yaml) =>
      read(tenantId, { kind: 'listContracts', yaml, accepted }, isSmall(yaml)),
    async assemble(tenantId, request) {
      const task = { kind: 'assemble', request, accepted } as const;
      return (await readings.run(task, tenantId)) as TaskResult<typeof task>;
    },
    async close() {
      await Promise.all([runs.close(), readings.close()]);
    },
  };
}
