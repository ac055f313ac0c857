// A replay's work in its thread: compiles the two documents unless the thread remembers them, and judges a portion of
// calls.
import {
  type AcceptedKinds,
  absentOperators,
  compileBundle,
  createRedaction,
  maxStoredRules,
} from 'reeve-agent/rules';
import type { ReplayDocuments, ReplayOutline } from '../../../src/evaluation/port/replayer.ts';
import type { ReplayCall } from '../../../src/evaluation/rules/replay-call.ts';
import {
  allowingJudge,
  type CountedCall,
  createJudge,
  type Judge,
  type Judged,
  type LimitJudged,
} from '../../../src/evaluation/rules/replay-judge.ts';
import { HubError } from '../../../src/shared/error.ts';
import { systemClock } from '../clock.ts';
import { CompiledTexts } from './compiled-texts.ts';
import { profilesIn } from './evaluation.ts';

export interface ReplayTask {
  readonly tenantId: string;
  readonly documents: ReplayDocuments;
  readonly accepted: AcceptedKinds & { readonly apiVersions?: readonly string[] };
  /** Prefix of the hub's own API keys. */
  readonly keyPrefix: string;
}

interface Timed {
  readonly elapsedMs: number;
}
export type Outlined = ReplayOutline & Timed;
export type JudgedCalls = {
  readonly judged: readonly { readonly base: Judged; readonly candidate: Judged }[];
} & Timed;
export type JudgedLimits = {
  readonly judged: readonly { readonly base: LimitJudged; readonly candidate: LimitJudged }[];
} & Timed;

interface Compiled {
  readonly name: string;
  readonly judge: Judge;
}

/** Of this thread: room for both documents of a replay, however large they are, and of those that run beside it. */
const texts = new CompiledTexts<Compiled>({ maxBytes: 16 * 1024 * 1024 });

/** @throws HubError unprocessable */
export function outlineReplay(task: ReplayTask): Outlined {
  const start = systemClock.monotonic();
  const { base, candidate, name } = judgesOf(task);
  const skipped = { base: base.skippedRules, candidate: candidate.skippedRules };
  return { name, skipped, elapsedMs: systemClock.monotonic() - start };
}

/** @throws HubError unprocessable */
export function judgeCalls(
  task: ReplayTask & { readonly calls: readonly ReplayCall[]; readonly budgetMs: number },
): JudgedCalls {
  const start = systemClock.monotonic();
  const { base, candidate } = judgesOf(task);
  const judged: JudgedCalls['judged'][number][] = [];
  for (const call of task.calls) {
    if (systemClock.monotonic() - start > task.budgetMs) break;
    judged.push({ base: base.call(call), candidate: candidate.call(call) });
  }
  return { judged, elapsedMs: systemClock.monotonic() - start };
}

/** @throws HubError unprocessable */
export function judgeLimits(task: ReplayTask & { readonly calls: readonly CountedCall[] }): JudgedLimits {
  const start = systemClock.monotonic();
  const { base, candidate } = judgesOf(task);
  const judged = task.calls.map((call) => ({ base: base.limits(call), candidate: candidate.limits(call) }));
  return { judged, elapsedMs: systemClock.monotonic() - start };
}

function judgesOf(task: ReplayTask): {
  readonly base: Judge;
  readonly candidate: Judge;
  readonly name: string;
} {
  const { base, candidate } = task.documents;
  const { judge, name } = compiled(task, candidate, 'document');
  return { base: base === null ? allowingJudge : compiled(task, base, 'base').judge, candidate: judge, name };
}

function compiled(task: ReplayTask, yaml: string, which: 'document' | 'base'): Compiled {
  const { tenantId, accepted, keyPrefix, documents } = task;
  const { toolArguments, words } = documents;
  // All that the compiled text depends on; a tenant never finds what another has compiled.
  const key = JSON.stringify([tenantId, accepted, keyPrefix, toolArguments, words]) + yaml;
  return texts.of(key, 0, () => {
    const result = compileBundle(yaml, {
      ...accepted,
      maxContracts: maxStoredRules,
      toolArguments,
      ...profilesIn(words),
      operators: absentOperators(words.operators),
      looksSecret: createRedaction({ keyPrefixes: [keyPrefix] }).looksSecret,
    });
    if (!result.ok) {
      const problems = result.problems.map(({ message }) => message.replace(/^Invalid YAML: /, ''));
      const text = `The hub cannot evaluate the ${which} of the replay: ${problems.join('; ')}`;
      throw new HubError('unprocessable', text.slice(0, 4000));
    }
    return { name: result.bundle.name, judge: createJudge(result.bundle, words) };
  });
}
