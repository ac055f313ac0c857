// The pure part of replays: which calls events report, what is known of their sessions, what two documents make of
// them, what is uncertain.
import { compileBundle } from 'reeve-agent/rules';
import { describe, expect, it } from 'vitest';
import { reportOf } from '../../src/evaluation/rules/replay.ts';
import { ReplayCalls } from '../../src/evaluation/rules/replay-call.ts';
import { allowingJudge, createJudge, type Judge } from '../../src/evaluation/rules/replay-judge.ts';
import type { StoredEvent } from '../../src/event/record.ts';

let made = 0;
interface Given extends Partial<Omit<StoredEvent, 'payload'>> {
  readonly payload?: StoredEvent['payload'];
  readonly args?: object;
}
/** An event of the flat form; later ones are newer. */
function event({ args = {}, payload = {}, givenCallId, ...given }: Given = {}): StoredEvent {
  const n = ++made;
  return {
    id: `e${n}`,
    seq: n,
    env: 'production',
    createdAt: n,
    outcomes: [],
    callId: `digest${n}`,
    agentId: 'a',
    toolName: 'pay',
    verdict: 'call_allowed',
    mode: 'enforce',
    timestamp: n,
    flat: true,
    givenCallId: givenCallId ?? `call${n}`,
    payload: payload && { tool_args: args, principal: null, ...payload },
    ...given,
  };
}

const rule = (id: string, when: string, more = '') =>
  `  - {id: ${id}, type: pre, tool: "*", when: {${when}}, then: {effect: deny, message: "no {args.amount}"}${more}}\n`;
const ask = (id: string, when: string) =>
  `  - {id: ${id}, type: pre, tool: "*", when: {${when}}, then: {effect: approve, message: "may it?"}}\n`;
const session = (limits: string) =>
  `  - {id: limits, type: session, limits: {${limits}}, then: {effect: deny, message: "enough"}}\n`;

function judge(contracts: string, own = { selectors: [] as string[], operators: [] as string[] }): Judge {
  const yaml = `apiVersion: service/v1\nkind: ContractBundle\nmetadata: {name: b}\ndefaults: {mode: enforce}\ncontracts:\n${contracts}`;
  const operators = Object.fromEntries(own.operators.map((name) => [name, () => false]));
  const compiled = compileBundle(yaml, { operators });
  if (!compiled.ok) throw new Error(compiled.problems[0]?.message);
  return createJudge(compiled.bundle, own);
}

/** @param events oldest first */
function replay(
  events: readonly StoredEvent[],
  base: Judge,
  candidate: Judge,
  options: { readonly maxCalls?: number; readonly maxSessions?: number; readonly maxResults?: number } = {},
) {
  const { maxCalls = 100, maxSessions = null, maxResults = 100 } = options;
  const calls = new ReplayCalls({ maxCalls, maxSessions });
  // Two pages, so that what belongs together is read apart.
  const newest = [...events].reverse();
  const half = newest.length >> 1;
  const inputs = [...calls.take(newest.slice(0, half)), ...calls.take(newest.slice(half))];
  const counters = calls.counters();
  const report = reportOf(
    calls.calls,
    (place) => {
      const call = inputs[place];
      if (!call) throw new Error('no call');
      const counted = { tool: call.tool, counters: counters[place] ?? null };
      return {
        base: base.call(call),
        candidate: candidate.call(call),
        baseLimits: base.limits(counted),
        candidateLimits: candidate.limits(counted),
      };
    },
    { maxResults, changedOnly: false },
  );
  return { ...report, calls: calls.calls, left: calls.leftOut };
}
const changes = ({ results }: ReturnType<typeof replay>) =>
  results.map(({ change, doubts }) => [change, ...doubts].join(' '));

describe('calls', () => {
  it('are what events decided, once each, the first in time standing for a call', () => {
    const found = replay(
      [
        event({ givenCallId: 'x', verdict: 'call_would_block', mode: 'observe' }),
        event({ givenCallId: 'x', verdict: 'call_allowed' }),
        event({ givenCallId: 'y', verdict: 'call_denied' }),
        event({ givenCallId: 'x', agentId: 'b' }),
        event({ sample: true }),
      ],
      allowingJudge,
      allowingJudge,
    );
    expect(
      found.calls.map(({ agentId, callId, recordedAction }) => [agentId, callId, recordedAction]),
    ).toEqual([
      ['b', 'x', 'call_allowed'],
      ['a', 'y', 'call_blocked'],
      ['a', 'x', 'call_would_block'],
    ]);
    expect(found.totals).toMatchObject({ calls: 3, sessions: 0, changes: { unchanged: 3 } });
  });

  it('without a call id are calls of their own, and those of no session count beside the newest sessions', () => {
    const of = (session_id: string | null) =>
      event({ unnamed: true, payload: session_id === null ? {} : { session_id } });
    const found = replay(
      [of('old'), of(null), of('new'), of('new'), of(null)],
      allowingJudge,
      allowingJudge,
      {
        maxSessions: 1,
      },
    );
    expect(found.calls.map(({ sessionId }) => sessionId)).toEqual([null, 'new', 'new', null]);
    expect(found.left).toBe(true);
    expect(found.sessions).toEqual([{ agentId: 'a', sessionId: 'new', calls: 2, changed: 0 }]);
  });

  it('end at their bound, the newest kept', () => {
    const events = Array.from({ length: 5 }, () => event());
    const found = replay(events, allowingJudge, allowingJudge, { maxCalls: 2, maxResults: 1 });
    expect(found.calls.map(({ eventId }) => eventId)).toEqual([events[4]?.id, events[3]?.id]);
    expect([found.results.length, found.leftOut]).toEqual([1, 1]);
  });
});

describe('differences', () => {
  const events = [
    event({ args: { amount: 1 } }),
    event({ args: { amount: 7 } }),
    event({ args: { amount: 20 } }),
  ];
  const over = (id: string, amount: number) => rule(id, `args.amount: {gt: ${amount}}`);

  it('are named by what the second document decides, newest first, with the rules of both', () => {
    const found = replay(events, judge(over('ten', 10)), judge(over('five', 5)));
    expect(changes(found)).toEqual(['unchanged', 'newlyBlocked', 'unchanged']);
    expect(found.results[1]).toMatchObject({
      base: { decision: 'allow', ruleId: null },
      candidate: { decision: 'block', ruleId: 'five', message: 'no 7' },
    });
    expect(found.byRule).toEqual([
      { ruleId: 'five', base: 0, candidate: 2 },
      { ruleId: 'ten', base: 1, candidate: 0 },
    ]);
    expect(changes(replay(events, judge(over('five', 5)), judge(over('ten', 10))))[1]).toBe('newlyAllowed');
    expect(changes(replay(events, allowingJudge, judge(over('ten', 10))))[0]).toBe('newlyBlocked');
  });

  it('tell an observing rule, an ask, and that a person would decide', () => {
    const observing = rule('r', 'args.amount: {gt: 10}', ', mode: observe');
    expect(changes(replay(events, judge(over('x', 10)), judge(observing)))[0]).toBe('newlyObserved');
    const asking = judge(ask('a', 'args.amount: {gt: 10}'));
    expect(changes(replay(events, judge(over('x', 10)), asking))[0]).toBe('newlyAsked approval');
    expect(changes(replay(events, asking, judge(over('x', 10))))[0]).toBe('newlyBlocked approval');
    // Both ask: nothing is otherwise.
    expect(changes(replay(events, asking, asking))[0]).toBe('unchanged');
  });

  it('count rules that could not be evaluated', () => {
    const found = replay([event({ args: { amount: 'much' } })], allowingJudge, judge(over('x', 10)));
    expect(found.totals).toMatchObject({ errors: 1, changes: { newlyBlocked: 1 } });
  });

  it('keep an answer small: results that find no room are counted', () => {
    const message = 'é'.repeat(400);
    const loud = judge(
      `  - {id: r, type: pre, tool: "*", when: {args.amount: {gt: 0}}, then: {effect: deny, message: "${message}"}}\n`,
    );
    const many = Array.from({ length: 3000 }, () => event({ args: { amount: 1 } }));
    const found = replay(many, loud, loud, { maxCalls: 5000, maxResults: 3000 });
    expect(found.leftOut).toBeGreaterThan(0);
    expect(found.results.length + found.leftOut).toBe(3000);
    expect(Buffer.byteLength(JSON.stringify(found.results))).toBeLessThan(3 * 1024 * 1024);
  });
});

describe('what is uncertain', () => {
  const found = (given: Given, contracts: string, own?: Parameters<typeof judge>[1]) =>
    changes(replay([event(given)], allowingJudge, judge(contracts, own)))[0];
  const byKey = rule('r', 'args.key: {contains: zzz}');

  it.each<[string, Given, string]>([
    ['a redacted text', { args: { key: 'a [REDACTED] b' } }, 'unchanged arguments'],
    ['what the client cut', { args: { key: `${'x'.repeat(997)}...` } }, 'unchanged arguments'],
    ['what the hub cut', { args: { key: 'xx…' }, truncated: ['payload.tool_args'] }, 'unchanged arguments'],
    [
      'a number that the hub stored as text',
      { args: { key: '12345678901234567890' }, truncated: ['payload.tool_args'] },
      'unchanged arguments',
    ],
    [
      'a short number as text beside one that was altered',
      { args: { key: '42', other: '12345678901234567890' }, truncated: ['payload.tool_args'] },
      'unchanged',
    ],
    ['a text of digits that nobody altered', { args: { key: '12345678901234567890' } }, 'unchanged'],
    ['an ellipsis of the agent', { args: { key: 'xx…' } }, 'unchanged'],
    ['arguments given way to their size', { args: { _truncated: true, bytes: 9 } }, 'unchanged arguments'],
    ['redacted where no rule looks', { args: { key: 'k', other: '[REDACTED]' } }, 'unchanged'],
    ['no arguments at all', { payload: null }, 'unchanged arguments'],
    ['a tool whose name was cut', { truncated: ['tool_name'] }, 'unchanged tool'],
  ])('%s', (_, given, expected) => {
    expect(found(given, byKey)).toBe(expected);
  });

  it('what only the agent has, and its own words', () => {
    expect(found({}, rule('r', 'env.CI: {equals: true}'))).toBe('unchanged env');
    expect(found({}, rule('r', 'metadata.x: {equals: 1}'))).toBe('unchanged metadata');
    expect(found({}, rule('r', 'risk.score: {gt: 1}'))).toBe('unchanged');
    expect(found({}, rule('r', 'risk.score: {gt: 1}'), { selectors: ['risk'], operators: [] })).toBe(
      'unchanged custom',
    );
    expect(found({}, rule('r', 'args.a: {odd: 1}'), { selectors: [], operators: ['odd'] })).toBe(
      'unchanged custom',
    );
    expect(found({ payload: { principal: undefined } }, rule('r', 'principal.role: {equals: x}'))).toBe(
      'unchanged principal',
    );
  });
});

describe('sessions', () => {
  const inSession = (more: object = {}, given: Given = {}) =>
    event({ ...given, payload: { session_id: 's', ...more } });
  const limited = judge(session('max_tool_calls: 2'));

  it('are counted again from their first call, in the order of the calls', () => {
    const events = [0, 1, 2, 3].map((call_index) => inSession({ call_index }));
    expect(changes(replay(events, allowingJudge, limited))).toEqual([
      'newlyBlocked',
      'newlyBlocked',
      'unchanged',
      'unchanged',
    ]);
  });

  it('whose beginning is not seen are uncertain until what was seen is enough', () => {
    const events = [5, 6, 7].map((call_index) => inSession({ call_index }));
    expect(changes(replay(events, allowingJudge, limited))).toEqual([
      'newlyBlocked',
      'unchanged session',
      'unchanged session',
    ]);
  });

  it('counters that agents report are believed; whether an allowed call is among them is not known', () => {
    const reported = (attempts: number, executions: number) =>
      inSession({ call_index: 9, session_attempt_count: attempts, session_execution_count: executions });
    expect(changes(replay([reported(2, 1)], allowingJudge, limited))).toEqual(['unchanged']);
    expect(changes(replay([reported(3, 2)], allowingJudge, limited))).toEqual(['unchanged session']);
    expect(changes(replay([reported(4, 3)], allowingJudge, limited))).toEqual(['newlyBlocked']);
    const ofTool = judge(session('max_calls_per_tool: {pay: 2}'));
    expect(changes(replay([reported(2, 1)], allowingJudge, ofTool))).toEqual(['unchanged session']);
  });

  it('no session: limits that are declared are uncertain, built-in ones are not', () => {
    expect(changes(replay([event()], allowingJudge, limited))).toEqual(['unchanged session']);
    expect(changes(replay([event()], allowingJudge, judge(rule('r', 'args.a: {exists: true}'))))).toEqual([
      'unchanged',
    ]);
  });

  it('an attempt limit comes first, other limits behind a refusal', () => {
    const both = judge(session('max_attempts: 1, max_tool_calls: 1') + rule('r', 'args.a: {exists: true}'));
    const late = judge(session('max_tool_calls: 1') + rule('r', 'args.a: {exists: true}'));
    const events = [0, 1].map((call_index) => inSession({ call_index }, { args: { a: 1 } }));
    expect(replay(events, late, both).results[0]).toMatchObject({
      base: { decision: 'block', ruleId: 'r' },
      candidate: { decision: 'block', ruleId: 'limits' },
    });
  });
});
