// Contents of records and events about a call: the conditions that stopped it, how long its tool ran, and its place in
// the run.
import { describe, expect, it } from 'vitest';
import {
  type AuditRecord,
  DeniedError,
  Guard,
  type GuardOptions,
  localApproval,
  toWire,
} from '../src/index.ts';
import { ManualClock } from './manual-clock.ts';

const bundle = (contracts: string): string => `apiVersion: service/v1
kind: ContractBundle
metadata: { name: guardrails }
defaults: { mode: enforce }
contracts:
${contracts}`;

const guardOf = (contracts: string, options: GuardOptions = {}): Guard =>
  Guard.fromYaml(bundle(contracts), { openTelemetry: null, ...options });

const pre = (when: string, more = 'then: { effect: deny, message: "no" }', head = ''): string =>
  `  - { id: rule, type: pre, ${head} tool: pay, when: ${when}, ${more} }\n`;

async function denial(guard: Guard, args: object, tool = 'pay'): Promise<AuditRecord> {
  const failure = await guard.run(tool, args, () => 'ok').catch((error: unknown) => error);
  if (!(failure instanceof DeniedError)) throw new Error(`not denied: ${String(failure)}`);
  return failure.event;
}

describe('the conditions on a record', () => {
  it('are each comparison of the contract that denied, with what the call had there', async () => {
    const when = `{ all: [ { args.amount: { gt: 100 } }, { any: [
      { args.to: { in: [a, b] } }, { principal.role: { equals: clerk } }, { args.note: { exists: true } } ] } ] }`;
    const event = await denial(guardOf(pre(when), { principal: { role: 'clerk' } }), {
      amount: 250,
      to: 'c',
    });
    expect(event.conditions).toEqual([
      { path: 'args.amount', operator: 'gt', expected: 100, actual: 250, result: 'yes' },
      { path: 'args.to', operator: 'in', expected: ['a', 'b'], actual: 'c', result: 'no' },
      { path: 'principal.role', operator: 'equals', expected: 'clerk', actual: 'clerk', result: 'yes' },
      { path: 'args.note', operator: 'exists', expected: true, actual: null, result: 'skipped' },
    ]);
  });

  it('say that a comparison could not be made', async () => {
    const event = await denial(guardOf(pre('{ args.amount: { gt: 100 } }')), { amount: 'much' });
    expect(event).toMatchObject({
      policy_error: true,
      conditions: [{ path: 'args.amount', expected: 100, actual: 'much', result: 'fault' }],
    });
  });

  it('stand on a call that a person is asked about and refuses, and not on one that is allowed', async () => {
    const contract = pre('{ args.amount: { gt: 100 } }', 'then: { effect: approve, message: "pay?" }');
    const guard = guardOf(contract, { approvals: localApproval(async () => false) });
    await denial(guard, { amount: 250 });
    await guard.run('pay', { amount: 1 }, () => 'ok');
    expect(guard.events.events.map(({ action, conditions }) => [action, conditions?.length])).toEqual([
      ['call_approval_requested', 1],
      ['call_approval_denied', 1],
      ['call_allowed', undefined],
      ['call_executed', undefined],
    ]);
  });

  it('stand on a call that a contract only watches, each with its own', async () => {
    const watching = (id: string, limit: number): string =>
      pre(`{ args.amount: { gt: ${limit} } }`, undefined, 'mode: observe,').replace('id: rule', `id: ${id}`);
    const guard = guardOf(watching('one', 100) + watching('two', 200));
    await guard.run('pay', { amount: 250 }, () => 'ok');
    expect(
      guard.events.events.map(({ action, decision_name, conditions }) => [
        action,
        decision_name,
        conditions?.[0]?.expected,
      ]),
    ).toEqual([
      ['call_would_deny', 'one', 100],
      ['call_would_deny', 'two', 200],
      ['call_allowed', null, undefined],
      ['call_executed', null, undefined],
    ]);
  });

  it('of a sandbox are its boundaries, and which of them the call leaves', async () => {
    const sandbox = `  - { id: box, type: sandbox, tools: [read], within: [/work], not_within: [/work/keys],
      allows: { domains: [example.com] }, outside: deny, message: "outside" }\n`;
    const event = await denial(guardOf(sandbox), { path: '/work/keys/a' }, 'read');
    expect(event.conditions).toEqual([
      { path: 'args', operator: 'within', expected: ['/work'], actual: ['/work/keys/a'], result: 'yes' },
      {
        path: 'args',
        operator: 'not_within',
        expected: ['/work/keys'],
        actual: ['/work/keys/a'],
        result: 'no',
      },
      { path: 'args', operator: 'allows.domains', expected: ['example.com'], actual: [], result: 'yes' },
    ]);
  });

  it('of a session contract are its limits and the counts', async () => {
    const guard = guardOf(
      '  - { id: few, type: session, limits: { max_tool_calls: 1, max_attempts: 9 }, then: { effect: deny, message: "enough" } }\n',
    );
    await guard.run('pay', {}, () => 'ok');
    expect((await denial(guard, {})).conditions).toEqual([
      { path: 'limits.max_attempts', operator: 'gte', expected: 9, actual: 2, result: 'no' },
      { path: 'limits.max_tool_calls', operator: 'gte', expected: 1, actual: 1, result: 'yes' },
    ]);
  });

  it('hold no secret', async () => {
    const when = `{ any: [ { args.password: { equals: hunter2 } }, { args.header: { contains: x } } ] }`;
    const token = `ghp_${'a1'.repeat(18)}`;
    const event = await denial(guardOf(pre(when)), { password: 'hunter3', header: `x ${token}` });
    expect(JSON.stringify(event)).not.toMatch(/hunter|ghp_/);
    expect(event.conditions?.map(({ result }) => result)).toEqual(['no', 'yes']);

    const parent = guardOf(pre('{ args.credentials.value: { contains: Zq7 } }'));
    const claim = guardOf(pre('{ principal.claims.api_key.raw: { contains: Zq7 } }'), {
      principal: { claims: { api_key: { raw: 'Zq7hK2mPx9Lw' } } },
    });
    const sibling = guardOf(pre('{ args.value: { contains: Zq7 } }'));
    for (const { conditions } of [
      await denial(parent, { credentials: { value: 'Zq7hK2mPx9Lw' } }),
      await denial(claim, {}),
      await denial(sibling, { name: 'DB_PASSWORD', value: 'Zq7hK2mPx9Lw' }),
    ])
      expect(conditions).toMatchObject([{ expected: '[REDACTED]', actual: '[REDACTED]', result: 'yes' }]);
    const ordinary = await denial(sibling, { name: 'BUILD', value: 'Zq7-build' });
    expect(ordinary.conditions).toMatchObject([{ expected: 'Zq7', actual: 'Zq7-build' }]);
  });

  it('are at most 50, of at most 512 characters a value', async () => {
    const many = Array.from({ length: 60 }, (_, i) => `{ args.text: { not_equals: "${i}" } }`).join(', ');
    const one = await denial(guardOf(pre(`{ all: [ ${many} ] }`)), { text: 'y'.repeat(600_000) });
    expect(one.conditions).toHaveLength(50);
    expect(JSON.stringify(one.conditions).length).toBeLessThan(20_000);

    const list = `[${Array.from({ length: 200 }, (_, i) => `"item ${i}"`).join(', ')}]`;
    const two = await denial(guardOf(pre(`{ args.text: { not_in: ${list} } }`)), {
      text: 'y'.repeat(600_000),
    });
    const [condition] = two.conditions ?? [];
    expect(String(condition?.expected)).toHaveLength(512);
    expect(String(condition?.expected)).toMatch(/^\["item 0",/);
    expect(String(condition?.actual)).toHaveLength(512);
  });

  it('of 130 listed numbers of more are marked as cut', async () => {
    const list = `[${Array.from({ length: 200 }, () => '1').join(', ')}]`;
    const event = await denial(guardOf(pre(`{ args.n: { not_in: ${list} } }`)), { n: 2 });
    expect(event.conditions?.[0]?.expected).toEqual([...Array.from({ length: 130 }, () => 1), '…']);
  });
});

describe('an event on the wire', () => {
  it('names its run, its place in the run and its parent', async () => {
    const guard = guardOf(pre('{ args.amount: { gt: 100 } }'), { sessionId: 'run-1' });
    await guard.run('outer', {}, async () => {
      await denial(guard, { amount: 250 });
    });
    const events = guard.events.events.map((record) => toWire(record, 'bob', 'guardrails'));
    const parent = events[0]?.call_id;
    expect(events.map(({ verdict, payload }) => [verdict, payload.run_id, payload.call_index])).toEqual([
      ['call_allowed', 'run-1', 0],
      ['call_denied', 'run-1', 1],
      ['call_executed', 'run-1', 0],
    ]);
    expect(events[1]?.payload).toMatchObject({
      parent_call_id: parent,
      tool_success: null,
      error: null,
      policy_error: false,
      session_attempt_count: 2,
      conditions: [{ path: 'args.amount', operator: 'gt', expected: 100, actual: 250, result: 'yes' }],
    });
    expect(events[2]?.payload).toMatchObject({ parent_call_id: null, tool_success: true });
    expect(events[2]?.payload).not.toHaveProperty('conditions');
  });

  it('says how long the tool ran, and how it failed', async () => {
    const clock = new ManualClock();
    const guard = guardOf(pre('{ args.amount: { gt: 100 } }'), { clock });
    const failing = guard.run('pay', { amount: 1 }, () => {
      clock.advance(1_250);
      throw new Error('the bank is closed');
    });
    await expect(failing).rejects.toThrow('the bank is closed');
    const [allowed, failed] = guard.events.events.map((record) => toWire(record, 'bob', null).payload);
    expect(allowed).toMatchObject({ duration_ms: 0, tool_success: null });
    expect(failed).toMatchObject({ duration_ms: 1_250, tool_success: false, error: 'the bank is closed' });
  });
});
