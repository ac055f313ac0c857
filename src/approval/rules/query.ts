// The test whether an approval matches a query. Pure.
import type { Query, QueryTerm } from '../../event/rules/query/parse.ts';
import { anyOf, globs, isText, onlyValue, pathTest, someText } from '../../event/rules/query/values.ts';
import { type TextTest, visibleText, wordTest } from '../../event/rules/query/words.ts';
import { type Env, environments } from '../../shared/ids.ts';
import type { Approval, ApprovalStatus } from '../record.ts';
import { contractNamesOf } from './groups.ts';
import { assigneeOf } from './state.ts';

/** The person who searches, and the time at which approvals are seen. */
export interface ApprovalViewer {
  readonly personId: string;
  /** Epoch milliseconds. */
  readonly now: number;
}

type ApprovalTest = (approval: Approval, reader: ApprovalViewer) => boolean;

export interface ApprovalQueryTest {
  /** The terms that need no arguments. */
  readonly fitsRecord: ApprovalTest;
  /** All terms. */
  readonly fits: ApprovalTest;
  /** True if a term reads arguments. */
  readonly needsArguments: boolean;
}

const hasStatus =
  (...statuses: readonly ApprovalStatus[]): ApprovalTest =>
  ({ status }) =>
    statuses.includes(status);

const stateTests: { readonly [word: string]: ApprovalTest } = {
  pending: hasStatus('pending'),
  approved: hasStatus('approved'),
  denied: hasStatus('denied'),
  expired: hasStatus('timeout'),
  decided: hasStatus('approved', 'denied', 'timeout'),
  mine: (approval, { personId, now }) => assigneeOf(approval, now)?.id === personId,
  taken: (approval, { now }) => assigneeOf(approval, now) !== null,
};

const textsOf = (approval: Approval): readonly string[] =>
  [
    approval.agentId,
    approval.toolName,
    approval.message,
    approval.decisionReason,
    approval.callId,
    ...contractNamesOf(approval),
  ].filter(isText);

function wordsTest(term: QueryTerm): { readonly record: ApprovalTest; readonly args: ApprovalTest } {
  const test: TextTest = anyOf(term.values.map(wordTest));
  return {
    record: (approval) => textsOf(approval).some((text) => test(visibleText(text) ?? '')),
    args: (approval) => someText(approval.toolArgs, test),
  };
}

function recordTest(term: QueryTerm): ApprovalTest {
  const test = globs(term);
  switch (term.field) {
    case 'tool':
      return ({ toolName }) => test(toolName);
    case 'agent':
      return ({ agentId }) => test(agentId);
    case 'contract':
      return (approval) => contractNamesOf(approval).some(test);
    case 'env':
      return ({ env }) => test(env);
    case 'run':
      return ({ sessionId }) => sessionId !== null && test(sessionId);
    case 'by':
      return ({ decidedBy }) => decidedBy !== null && test(decidedBy);
    case 'reason': {
      const words = anyOf(term.values.map(wordTest));
      return ({ message, decisionReason }) =>
        [message, decisionReason].some((text) => isText(text) && words(visibleText(text) ?? ''));
    }
    case 'principal': {
      const fits = pathTest(term);
      return ({ principal }) => fits(principal);
    }
    case 'is': {
      const tests = term.values.map(({ text }) => stateTests[text]);
      return (approval, reader) => tests.some((one) => one?.(approval, reader));
    }
    default:
      return () => false;
  }
}

/** Makes the test of a query that was parsed with the grammar of approvals. */
export function approvalQueryTest({ terms }: Query): ApprovalQueryTest {
  const ofRecord: ApprovalTest[] = [];
  const others: ApprovalTest[] = [];
  for (const term of terms) {
    if (term.field === 'args') {
      const fits = pathTest(term);
      others.push(({ toolArgs }) => fits(toolArgs) !== term.isNegated);
    } else if (term.field === null) {
      const { record, args } = wordsTest(term);
      others.push(
        (approval, reader) => (record(approval, reader) || args(approval, reader)) !== term.isNegated,
      );
    } else {
      const test = recordTest(term);
      ofRecord.push((approval, reader) => test(approval, reader) !== term.isNegated);
    }
  }
  const fitsRecord: ApprovalTest = (approval, reader) => ofRecord.every((test) => test(approval, reader));
  return {
    fitsRecord,
    fits: (approval, reader) =>
      fitsRecord(approval, reader) && others.every((test) => test(approval, reader)),
    needsArguments: others.length > 0,
  };
}

const statusWords: { readonly [word: string]: ApprovalStatus } = {
  pending: 'pending',
  mine: 'pending',
  taken: 'pending',
  approved: 'approved',
  denied: 'denied',
  expired: 'timeout',
};

/** The single filters that a query implies: stores have indexes for them. */
export function filtersOfQuery(query: Query): {
  readonly status?: ApprovalStatus;
  readonly agentId?: string;
  readonly sessionId?: string;
  readonly env?: Env;
} {
  const [word, agentId, sessionId, envName] = ['is', 'agent', 'run', 'env'].map((name) =>
    onlyValue(query, name),
  );
  const env = environments.find((one) => one === envName);
  const status = word === undefined ? undefined : statusWords[word];
  return {
    ...(status === undefined ? {} : { status }),
    ...(agentId === undefined ? {} : { agentId }),
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(env === undefined ? {} : { env }),
  };
}
