// The test whether a run matches a query, and the filter by which a store narrows the list first. Pure.
import type { Query, QueryTerm } from '../../event/rules/query/parse.ts';
import { anyOf, everyTerm, globs, onlyValue } from '../../event/rules/query/values.ts';
import { wordTest } from '../../event/rules/query/words.ts';
import { type Env, environments } from '../../shared/ids.ts';
import { omitUndefined } from '../../shared/omit-undefined.ts';
import { type RunStatus, runStatuses } from '../record.ts';

/** The parts of a run that a query compares. */
export interface QueriedRun {
  readonly agentId: string;
  readonly sessionId: string;
  readonly env: Env;
  readonly status: RunStatus;
}

export type RunTest = (run: QueriedRun) => boolean;

const statusWords: { readonly [word: string]: RunStatus } = {
  running: 'active',
  pending: 'approval_pending',
  denied: 'blocked',
  completed: 'completed',
  stale: 'stale',
};

function termTest(term: QueryTerm): RunTest {
  const test = globs(term);
  switch (term.field) {
    case null: {
      const words = anyOf(term.values.map(wordTest));
      return ({ agentId, sessionId }) => words(agentId) || words(sessionId);
    }
    case 'agent':
      return ({ agentId }) => test(agentId);
    case 'run':
      return ({ sessionId }) => test(sessionId);
    case 'env':
      return ({ env }) => test(env);
    case 'is':
      return ({ status }) => term.values.some(({ text }) => statusWords[text] === status);
    default:
      return () => false;
  }
}

/** Makes the test of a query that was parsed with the grammar of runs. */
export const runQueryTest = ({ terms }: Query): RunTest => everyTerm(terms, termTest);

export interface RunNarrowing {
  /** Only these can match. Empty: no run does. */
  readonly envs: readonly Env[];
  readonly statuses?: readonly RunStatus[];
  readonly agentId?: string;
  readonly sessionId?: string;
  /** Each run of these filters matches, so that no run needs a test. */
  readonly isWhole: boolean;
}

/** The filters that a query implies. */
export function narrowingOf(query: Query): RunNarrowing {
  const ofField = (field: string): readonly QueryTerm[] => query.terms.filter((term) => term.field === field);
  const [ofEnv, ofStatus] = [ofField('env'), ofField('is')];
  const any = { agentId: '', sessionId: '', env: 'production', status: 'active' } as const;
  const statusTest = runQueryTest({ terms: ofStatus });
  const envTest = runQueryTest({ terms: ofEnv });
  const [agentId, sessionId] = [onlyValue(query, 'agent'), onlyValue(query, 'run')];
  const consumed =
    ofEnv.length + ofStatus.length + Number(agentId !== undefined) + Number(sessionId !== undefined);
  return {
    envs: environments.filter((env) => envTest({ ...any, env })),
    ...(ofStatus.length === 0
      ? {}
      : { statuses: runStatuses.filter((status) => statusTest({ ...any, status })) }),
    ...omitUndefined({ agentId, sessionId }),
    isWhole: consumed === query.terms.length,
  };
}
