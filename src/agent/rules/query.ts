// The test whether an agent matches a query. Pure.
import type { Query, QueryTerm } from '../../event/rules/query/parse.ts';
import { anyOf, everyTerm, globs, isText } from '../../event/rules/query/values.ts';
import { visibleText, wordTest } from '../../event/rules/query/words.ts';
import { type Env, environments } from '../../shared/ids.ts';
import type { agentStates } from '../record/states.ts';
import type { DriftStatus } from '../record.ts';

/** The parts of an agent that a query compares. */
export interface QueriedAgent {
  readonly agentId: string;
  readonly displayName: string | null;
  readonly tags: { readonly [name: string]: string };
  readonly env: Env | null;
  /** The bundle that it should run, and the one that its stream follows. */
  readonly bundleNames: readonly (string | null)[];
  /** The hash of the document that it runs. */
  readonly policyVersion: string | null;
  readonly status: DriftStatus;
  readonly isConnected: boolean;
}

export type AgentTest = (agent: QueriedAgent) => boolean;

const stateTests: ReadonlyMap<string, AgentTest> = new Map<keyof typeof agentStates, AgentTest>([
  ['connected', ({ isConnected }) => isConnected],
  ['away', ({ isConnected }) => !isConnected],
  ['current', ({ status }) => status === 'current'],
  ['out_of_date', ({ status }) => status === 'drift'],
  ['unknown', ({ status }) => status === 'unknown'],
]);

function termTest(term: QueryTerm): AgentTest {
  const test = globs(term);
  const isAny = (texts: readonly (string | null)[]): boolean => texts.filter(isText).some(test);
  switch (term.field) {
    case null: {
      const words = anyOf(term.values.map(wordTest));
      return ({ agentId, displayName }) =>
        [agentId, displayName].some((text) => isText(text) && words(visibleText(text) ?? ''));
    }
    case 'agent':
      return ({ agentId }) => test(agentId);
    case 'bundle':
      return ({ bundleNames }) => isAny(bundleNames);
    case 'version':
      return ({ policyVersion }) => isAny([policyVersion]);
    case 'tag':
      return ({ tags }) => Object.entries(tags).some(([name, value]) => isAny([name, `${name}:${value}`]));
    case 'env':
      return ({ env }) => isAny([env]);
    case 'is': {
      const tests = term.values.map(({ text }) => stateTests.get(text));
      return (agent) => tests.some((one) => one?.(agent));
    }
    default:
      return () => false;
  }
}

/** Makes the test of a query that was parsed with the grammar of agents. */
export const agentQueryTest = ({ terms }: Query): AgentTest => everyTerm(terms, termTest);

/** The only environment that a query allows; null if it allows others. An agent is described for one environment. */
export function envOfQuery({ terms }: Query): Env | null {
  const term = terms.find(
    ({ field, isNegated, values }) => field === 'env' && !isNegated && values.length === 1,
  );
  return environments.find((env) => env === term?.values[0]?.text) ?? null;
}
