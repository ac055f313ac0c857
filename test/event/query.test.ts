// The query language: texts, mistakes, canonical form, old filters, and which events match.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { growth, maxGrowth } from '../../packages/agent/test/cpu.ts';
import { toEventJson } from '../../src/event/record/json.ts';
import type { EventInput } from '../../src/event/record.ts';
import { eventGrammar } from '../../src/event/rules/query/fields.ts';
import { queryOfFilters } from '../../src/event/rules/query/filters.ts';
import { type QueriedOutcome, queryTest } from '../../src/event/rules/query/match.ts';
import { needlesOf } from '../../src/event/rules/query/needles.ts';
import { parseQuery, type Query } from '../../src/event/rules/query/parse.ts';
import { printQuery } from '../../src/event/rules/query/print.ts';
import { brokenQueries, validQueries } from './query-cases.ts';

function parsed(text: string): Query {
  const result = parseQuery(text, eventGrammar);
  if ('problem' in result) throw new Error(`${text}: ${JSON.stringify(result.problem)}`);
  return result.query;
}

const withoutPlaces = ({ terms }: Query) => terms.map(({ start: _start, end: _end, ...term }) => term);

describe('texts of queries', () => {
  it.each(validQueries)('%s', (text, canonical) => {
    const query = parsed(text);
    expect(printQuery(query, eventGrammar)).toBe(canonical);
    expect(withoutPlaces(parsed(canonical))).toEqual(withoutPlaces(query));
  });

  it.each(brokenQueries)('%s', (text, position, expected) => {
    const result = parseQuery(text, eventGrammar);
    expect(result).toMatchObject({ problem: { position, expected: expect.stringMatching(expected) } });
  });

  it('never throws, and whatever parses prints to the same terms', () => {
    const piece = fc.oneof(
      fc.constantFrom(
        'verdict:',
        'tool:',
        'args.a',
        '.b[]',
        ':',
        '-',
        '(',
        ')',
        ',',
        '"',
        '\\',
        '*',
        '>',
        '2s',
        ' ',
        'denied',
      ),
      fc.string({ maxLength: 4, unit: 'binary' }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const result = parseQuery(pieces.join(''), eventGrammar);
        if ('problem' in result) {
          expect(result.problem.position).toBeLessThanOrEqual(pieces.join('').length);
          return;
        }
        const text = printQuery(result.query, eventGrammar);
        expect(withoutPlaces(parsed(text))).toEqual(withoutPlaces(result.query));
      }),
      { numRuns: 500 },
    );
  });
});

const anEvent = (change: Partial<EventInput> = {}): EventInput => ({
  callId: 'call-1',
  agentId: 'checkout-010',
  toolName: 'read_file',
  verdict: 'call_denied',
  mode: 'enforce',
  timestamp: 0,
  payload: {
    decision_name: 'no-secrets',
    reason: 'The path holds Geheimnisse.',
    policy_version: 'abc123',
    bundle_name: 'shop',
    session_id: 'run-91',
    tool_success: true,
    duration_ms: 2500,
    principal: { user_id: 'ada' },
    tool_args: {
      path: '/srv/shop/.env',
      amount: 9800,
      text: '12.5',
      due: '2026-02-01T10:00:00Z',
      note: 'order 4711 is late',
      key: '[REDACTED]',
      items: [{ sku: 'A-1' }, { sku: 'B-2' }],
      'a b': { c: true },
    },
  },
  ...change,
});
const outcome = (change: Partial<QueriedOutcome>): QueriedOutcome => ({
  verdict: 'call_executed',
  decisionName: null,
  reason: null,
  ...change,
});

function matches(text: string, event = anEvent(), outcomes: readonly QueriedOutcome[] = []): boolean {
  const query = parsed(text);
  const queried = { event, outcomes, env: 'production', sample: false };
  const fits = queryTest(query).fits(queried);
  const json = JSON.stringify(toEventJson(event));
  // A needle that a matching event lacks would hide it.
  if (fits && outcomes.length === 0)
    for (const { pattern } of needlesOf(query)) expect(json).toMatch(new RegExp(pattern, 'u'));
  return fits;
}

describe('events that match', () => {
  it.each([
    'verdict:denied',
    'verdict:(allowed,denied)',
    '-verdict:asked',
    'tool:read_*',
    'tool:*file',
    'tool:r*d*e',
    'agent:checkout-*',
    'contract:no-secrets',
    'env:production',
    'mode:enforce',
    'bundle:shop',
    'version:abc*',
    'run:run-91',
    'call:call-1',
    'reason:geheimnisse',
    'reason:"holds geh"',
    'reason:geh*',
    'geheimnisse',
    'ORDER',
    '4711',
    '47*',
    '"order 4711"',
    'env',
    'srv',
    'checkout',
    'file',
    'secrets',
    '9800',
    'args.amount:9800',
    'args.amount:98*',
    'args.amount:>9799.5',
    'args.amount:<=9800',
    'args.text:>12',
    'args.due:>2026-01-31',
    'args.due:<=2026-02-01T10:00:00Z',
    'args.items[].sku:B-2',
    'args.items[].sku:(X,A-*)',
    'args.items.0.sku:A-1',
    'args.items:*',
    'args."a b".c:true',
    'args.path:*.env',
    'args.path:/srv/shop/.env',
    'principal.user_id:ada',
    'duration:>2s',
    'duration:<=2500ms',
    'then:succeeded',
    '-is:sample',
    '-then:failed',
    '-args.missing:*',
  ])('%s', (text) => {
    expect(matches(text)).toBe(true);
  });

  it.each([
    'verdict:asked',
    '-verdict:denied',
    'tool:read',
    'tool:READ_FILE',
    'agent:checkout',
    'version:abc',
    'geheim',
    '471',
    '"late order"',
    'args.path:.env',
    'args.path:*.ENV',
    'args.amount:>9800',
    'args.note:>5',
    'args.due:>5',
    'args.amount:<2026-01-01',
    'args.items.sku:A-1',
    'args.key:*',
    'redacted',
    'args.missing:*',
    'args.items[].sku:C',
    'duration:>3s',
    'then:failed',
    'is:pending',
    'is:truncated',
    'args.__proto__:*',
  ])('not by %s', (text) => {
    expect(matches(text)).toBe(false);
  });

  it('by the first verdict, where a denial in mode observe is "would deny", and by later reports', () => {
    const observed = anEvent({ mode: 'observe' });
    expect(matches('verdict:would_deny', observed)).toBe(true);
    expect(matches('verdict:denied', observed)).toBe(false);
    const waiting = anEvent({ verdict: 'call_approval_requested', payload: { tool_args: {} } });
    expect(matches('is:pending verdict:asked', waiting)).toBe(true);
    const approved = [
      outcome({ verdict: 'call_approval_granted', reason: 'fine by Bo', decisionName: 'ask-all' }),
    ];
    expect(matches('is:pending', waiting, approved)).toBe(false);
    for (const text of ['then:approved', 'verdict:asked', 'contract:ask-all', 'reason:bo', 'fine'])
      expect(matches(text, waiting, approved), text).toBe(true);
    expect(matches('then:timed_out', waiting, [outcome({ toolSuccess: false, error: 'timed out' })])).toBe(
      true,
    );
  });

  it('numbers are found however JSON writes them', () => {
    for (const number of ['100', '4711', '0.5', '1200', '-3']) {
      for (const written of [
        number,
        `${Number(number)}e0`,
        `${Number(number) / 1000}e3`,
        `${Number(number) * 10}e-1`,
      ]) {
        for (const { pattern } of needlesOf(parsed(`args.n:${number}`)))
          expect(`{"n":${written}}`).toMatch(new RegExp(pattern));
      }
    }
  });

  it('a hostile wildcard takes no more time for a long text than its length', () => {
    const query = `args.a:${'a*'.repeat(200)}b`;
    const read = (n: number) =>
      expect(matches(query, anEvent({ payload: { tool_args: { a: 'a'.repeat(n) } } }))).toBe(false);
    expect(growth(read, 15_000)).toBeLessThan(maxGrowth);
  });
});

describe('single filters', () => {
  it('become text', () => {
    expect(
      queryOfFilters({ tool_name: 'a b', verdict: 'call_denied', search: 'late order' }, eventGrammar),
    ).toBe('tool:"a b" verdict:denied "late order"');
    expect(queryOfFilters({ verdict: 'call_approval_timeout', agent_id: 'ci-*' }, eventGrammar)).toBe(
      'then:expired agent:"ci-*"',
    );
  });
});
