// Calls that a person is asked about: never when something refuses, judged again afterwards, and counted like any other
// call.
import { describe, expect, it } from 'vitest';
import { type ApprovalRequest, DeniedError, Guard, type GuardOptions, localApproval } from '../src/index.ts';

const bundle = (contracts: string): string => `apiVersion: service/v1
kind: ContractBundle
metadata: { name: payments }
defaults: { mode: enforce }
contracts:
${contracts}`;
const over = (id: string, amount: number, effect: string, rest = ''): string => `  - id: ${id}
    type: pre
    tool: pay
    when: { args.amount: { gt: ${amount} } }
    then: { effect: ${effect}, message: "${id}"${rest} }
`;
const session = (limits: string): string =>
  `  - { id: few, type: session, limits: { ${limits} }, then: { effect: deny, message: "enough" } }\n`;

/** A guard whose person says yes, and what the person was asked. */
function willing(contracts: string, options: GuardOptions = {}, answer: () => void = () => {}) {
  const questions: ApprovalRequest[] = [];
  const guard = Guard.fromYaml(bundle(contracts), {
    openTelemetry: null,
    approvals: localApproval(async (request) => {
      questions.push(request);
      answer();
      return { approved: true, decidedBy: 'ann' };
    }),
    ...options,
  });
  return { guard, questions };
}
const pay = (guard: Guard, amount: number): Promise<unknown> =>
  guard.run('pay', { amount }, () => 'paid').catch((failure: unknown) => failure);
const steps = (guard: Guard): string[] => guard.events.events.map((event) => event.action);

describe('a call that one contract asks about and another refuses', () => {
  it('is refused, and nobody is asked', async () => {
    const { guard, questions } = willing(over('ask', 1_000, 'approve') + over('never', 10_000, 'deny'));
    expect(await pay(guard, 20_000)).toMatchObject({ contract: 'never' });
    expect(questions).toEqual([]);
    expect(await pay(guard, 5_000)).toBe('paid');
    expect(questions).toHaveLength(1);
  });

  it('is refused by a contract in code as well', async () => {
    const { guard, questions } = willing(over('ask', 0, 'approve'), {
      contracts: [{ id: 'closed', type: 'session', check: () => ({ deny: 'the shop is closed' }) }],
    });
    expect(await pay(guard, 5)).toMatchObject({ contract: 'closed' });
    expect(questions).toEqual([]);
  });
});

describe('an approved call', () => {
  it('is judged again by the contracts in force then', async () => {
    const { guard } = willing(over('ask', 0, 'approve'), {}, () =>
      guard.reload(bundle(over('never', 0, 'deny'))),
    );
    expect(await pay(guard, 5)).toMatchObject({ contract: 'never' });
    expect(steps(guard)).toEqual(['call_approval_requested', 'call_approval_granted', 'call_denied']);
    expect(guard.events.events.map((event) => event.follows_decision)).toEqual([undefined, undefined, true]);
  });

  it('has the version of the contracts that judged it in the records of shadow copies', async () => {
    const candidate = bundle(over('never', 0, 'deny')).replace(
      'defaults:',
      'observe_alongside: true\ndefaults:',
    );
    const { guard } = willing(over('ask', 0, 'approve'), {}, () =>
      guard.reload([bundle(over('later', 0, 'approve')), candidate]),
    );
    expect(await pay(guard, 5)).toBe('paid');
    const versions = guard.events.events.map(({ action, policy_version }) => [action, policy_version]);
    expect(versions.slice(2)).toEqual([
      ['call_would_deny', guard.policyVersion],
      ['call_executed', guard.policyVersion],
    ]);
  });

  it('is refused by contracts that enforce by then, although it began with ones that observe', async () => {
    const asking = over('ask', 0, 'approve').replace('type: pre', 'type: pre\n    mode: enforce');
    const observing = bundle(asking).replace('mode: enforce', 'mode: observe');
    const strict = bundle(over('never', 0, 'deny'));
    const guardIn = (mode?: 'observe') => {
      const guard: Guard = Guard.fromYaml(observing, {
        openTelemetry: null,
        ...(mode === undefined ? {} : { mode }),
        approvals: localApproval(async () => {
          guard.reload(strict);
          return true;
        }),
      });
      return guard;
    };
    const following = guardIn();
    expect(await pay(following, 5)).toMatchObject({ contract: 'never' });
    expect(following.events.events.map(({ action, mode }) => [action, mode])).toEqual([
      ['call_approval_requested', 'observe'],
      ['call_approval_granted', 'observe'],
      ['call_denied', 'enforce'],
    ]);
    const fixed = guardIn('observe');
    expect(await pay(fixed, 5)).toBe('paid');
    expect(fixed.events.last()).toMatchObject({ action: 'call_executed', mode: 'observe' });
  });

  it('is not asked about again when other contracts ask by then', async () => {
    const { guard, questions } = willing(over('ask', 0, 'approve'), {}, () =>
      guard.reload(bundle(over('another', 0, 'approve'))),
    );
    expect(await pay(guard, 5)).toBe('paid');
    expect(questions).toHaveLength(1);
  });

  it('counts against the limit of its tool: three of ten run', async () => {
    const { guard, questions } = willing(
      over('ask', 0, 'approve') + session('max_calls_per_tool: { pay: 3 }'),
    );
    const results = await Promise.all(Array.from({ length: 10 }, () => pay(guard, 5)));
    expect(results.filter((result) => result === 'paid')).toHaveLength(3);
    expect(results.filter((result) => result instanceof DeniedError)).toHaveLength(7);
    expect(questions.length).toBeLessThanOrEqual(10);
    expect(await pay(guard, 5)).toMatchObject({ message: 'enough' });
  });

  it('is one attempt, not two', async () => {
    const { guard } = willing(over('ask', 0, 'approve') + session('max_attempts: 3'));
    expect(await pay(guard, 5)).toBe('paid');
    expect(guard.events.last().session_attempt_count).toBe(1);
    expect(await pay(guard, 5)).toBe('paid');
  });

  it('shows the person every contract that asks', async () => {
    const { guard, questions } = willing(
      over('a', 0, 'approve', ', timeout: 60') +
        over('b', 0, 'approve', ', timeout: 30, timeout_effect: allow'),
    );
    await pay(guard, 5);
    expect(questions).toMatchObject([
      {
        message: 'a\nb',
        timeout: 30,
        timeoutEffect: 'deny',
        contractName: 'a',
        contracts: [
          { name: 'a', message: 'a' },
          { name: 'b', message: 'b' },
        ],
      },
    ]);
  });
});

describe('a session without limits', () => {
  it('goes on, and nobody is warned', async () => {
    const { guard } = willing(over('never', 1_000_000, 'deny'));
    for (let i = 0; i < 520; i++) expect(await pay(guard, 1)).toBe('paid');
  });

  it('ends where an option says so', async () => {
    const { guard } = willing(over('never', 1_000_000, 'deny'), { limits: { maxToolCalls: 2 } });
    for (let i = 0; i < 2; i++) await pay(guard, 1);
    expect(await pay(guard, 1)).toMatchObject({ contract: 'max_tool_calls' });
    const wrong = (limits: object) => () => Guard.fromYaml('', { limits } as never);
    for (const limits of [{ maxCalls: 1 }, { maxToolCalls: 0 }, { maxCallsPerTool: { a: 1.5 } }]) {
      expect(wrong(limits)).toThrow(/^option limits must be an object with maxToolCalls/);
    }
  });
});
