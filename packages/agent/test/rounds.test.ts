// A guard's calls over several rounds, and calls that their caller refuses: what runs, what is counted, and what is
// recorded.
import { describe, expect, it } from 'vitest';
import type { CallRounds, RoundOptions } from '../src/guard/call.ts';
import {
  type CodeContract,
  DeniedError,
  Guard,
  type GuardOptions,
  MemorySessionStore,
} from '../src/index.ts';

const bundle = (contracts: string, mode = 'enforce'): string => `apiVersion: service/v1
kind: ContractBundle
metadata: { name: guardrails }
defaults: { mode: ${mode} }
contracts:
${contracts}`;
/** Fires for no call here. */
const quiet =
  '  - { id: quiet, type: pre, tool: other, when: { args.a: { exists: true } }, then: { effect: deny, message: no } }\n';
const few = (limits: string): string =>
  `  - { id: few, type: session, limits: { ${limits} }, then: { effect: deny, message: "enough" } }\n`;

const guardOf = (yaml: string, options: GuardOptions = {}): Guard =>
  Guard.fromYaml(yaml, { openTelemetry: null, onFindings: null, ...options });
const actions = (guard: Guard): string[] => guard.events.events.map(({ action }) => action);

/** A call whose tool asks its user until the last round. */
class AskingCall {
  carried: CallRounds | null = null;
  runs = 0;

  round(guard: Guard, isLast = false, more: Partial<RoundOptions<string>> = {}): Promise<string> {
    const rounds: RoundOptions<string> = {
      earlier: this.carried,
      isInterim: (result) => result === 'asks',
      carry: (result, next) => {
        this.carried = next;
        return result;
      },
      ...more,
    };
    const tool = (): string => {
      this.runs += 1;
      return isLast ? 'done' : 'asks';
    };
    return guard.run('ask', {}, tool, { rounds });
  }
}

describe('a call that its caller refuses', () => {
  const refusal = { name: 'tool_definition_changed', reason: 'the tool has changed' };

  it.each([
    ['in observe mode', quiet],
    ['also where an observed limit comes first', few('max_attempts: 1')],
  ])('does not run, and is recorded as denied: %s', async (_name, contracts) => {
    const guard = guardOf(bundle(contracts, 'observe'), { sessionId: 'one' });
    let runs = 0;
    const running = guard.run('ask', {}, () => ++runs, { refusal });
    await expect(running).rejects.toMatchObject({ contract: refusal.name, message: refusal.reason });
    expect(runs).toBe(0);
    expect(actions(guard)).toEqual(['call_denied']);
    expect(guard.events.last()).toMatchObject({
      decision_name: refusal.name,
      session_execution_count: 0,
    });
  });

  it('does not go on in a later round either', async () => {
    const guard = guardOf(bundle(quiet, 'observe'));
    const call = new AskingCall();
    await call.round(guard);
    const rounds = { earlier: call.carried, isInterim: () => false, carry: (result: number) => result };
    await expect(guard.run('ask', {}, () => ++call.runs, { refusal, rounds })).rejects.toThrow(DeniedError);
    expect(call.runs).toBe(1);
    expect(actions(guard)).toEqual(['call_allowed', 'call_denied']);
    expect(guard.events.last()).toMatchObject({ session_attempt_count: 1, session_execution_count: 1 });
  });
});

describe('a call in several rounds', () => {
  const never =
    '  - { id: never, type: pre, tool: ask, when: { tool.name: { exists: true } }, then: { effect: deny, message: no } }\n';

  it('counts one execution in observe mode, though each round is refused', async () => {
    const sessions = new MemorySessionStore();
    const guard = guardOf(bundle(never), { mode: 'observe', sessions, sessionId: 'one' });
    const call = new AskingCall();
    await call.round(guard);
    await call.round(guard);
    expect(await call.round(guard, true)).toBe('done');
    expect(actions(guard)).toEqual([
      ...['call_would_deny', 'call_would_deny', 'call_would_deny'],
      'call_executed',
    ]);
    expect(guard.events.last()).toMatchObject({ rounds: 3, session_execution_count: 1 });
    expect([await sessions.get('s:one:execs'), await sessions.get('s:one:tool:ask')]).toEqual(['1', '1']);
  });

  it('counts its execution in observe mode if calls beside it have used up a limit', async () => {
    const sessions = new MemorySessionStore();
    const guard = guardOf(bundle(few('max_tool_calls: 1')), { mode: 'observe', sessions, sessionId: 'one' });
    await Promise.all([1, 2].map(() => guard.run('ask', {}, () => 'done')));
    expect(actions(guard).filter((action) => action === 'call_would_deny')).toHaveLength(1);
    expect(await sessions.get('s:one:execs')).toBe('2');
  });

  it('has one place in its run', async () => {
    const guard = guardOf(bundle(quiet));
    const call = new AskingCall();
    await call.round(guard);
    await call.round(guard);
    await call.round(guard, true);
    await guard.run('other', {}, () => 'done');
    expect(guard.events.events.map(({ tool_name, call_index }) => [tool_name, call_index])).toEqual([
      ...[
        ['ask', 0],
        ['ask', 0],
      ],
      ...[
        ['other', 1],
        ['other', 1],
      ],
    ]);
  });

  it('has the attempts of its first round in its records, and for contracts as code', async () => {
    const attempts: number[] = [];
    const counting: CodeContract = {
      id: 'counting',
      type: 'session',
      tool: 'ask',
      check: (_call, counts) => void attempts.push(counts.attempts),
    };
    const guard = guardOf(bundle(few('max_attempts: 4')), { contracts: [counting], sessionId: 'one' });
    const call = new AskingCall();
    await guard.run('other', {}, () => 'done');
    await call.round(guard);
    await guard.run('other', {}, () => 'done');
    await expect(guard.run('other', {}, () => 'done')).rejects.toMatchObject({ contract: 'few' });
    // It was an attempt within the limit, whatever comes between its rounds.
    expect(await call.round(guard, true)).toBe('done');
    expect(attempts).toEqual([2, 2]);
    expect(guard.events.last()).toMatchObject({ action: 'call_executed', session_attempt_count: 2 });
  });

  const approved = { proceed: true, status: 'approved', decidedBy: 'ann', reason: null } as const;
  const question = {
    denial: { source: 'yaml_precondition', name: 'ask-first', reason: 'sure?' },
    outcome: async () => approved,
  };

  it.each([
    ['the contracts in force refuse it', never, {}, ['call_denied']],
    ['a person has approved it', quiet, { question }, ['call_approval_granted', 'call_executed']],
    ['a person has approved it in vain', never, { question }, ['call_approval_granted', 'call_denied']],
  ])('has its own execution in the records of a later round: %s', async (_name, contracts, more, later) => {
    const guard = guardOf(bundle(quiet), { sessionId: 'one' });
    const call = new AskingCall();
    await call.round(guard);
    guard.reload(bundle(contracts));
    await call.round(guard, true, more).catch((failure) => expect(failure).toBeInstanceOf(DeniedError));
    const records = guard.events.events.slice(1);
    expect(records.map(({ action }) => action)).toEqual(later);
    for (const record of records)
      expect(record).toMatchObject({ session_attempt_count: 1, session_execution_count: 1 });
  });

  it('keeps the execution of an earlier round if its arguments change in a later one', async () => {
    const sessions = new MemorySessionStore();
    const args = { list: [1] };
    const changing: CodeContract = {
      id: 'changing',
      type: 'pre',
      check: () => void (isLater && args.list.push(2)),
    };
    let isLater = false;
    const guard = guardOf(bundle(quiet), { contracts: [changing], sessions, sessionId: 'one' });
    let carried: CallRounds | null = null;
    const round = () =>
      guard.run('ask', args, () => 'asks', {
        rounds: {
          earlier: carried,
          isInterim: () => true,
          carry: (result, next) => {
            carried = next;
            return result;
          },
        },
      });
    await round();
    isLater = true;
    await expect(round()).rejects.toMatchObject({ contract: 'arguments_changed' });
    expect(await sessions.get('s:one:execs')).toBe('1');
  });

  it('names the contracts in force beside a contract as code that observes', async () => {
    const observing: CodeContract = { id: 'observing', type: 'pre', mode: 'observe', check: () => false };
    const guard = guardOf(bundle(quiet), { contracts: [observing] });
    const call = new AskingCall();
    await call.round(guard);
    const first = guard.policyVersion;
    guard.reload(bundle(never));
    await expect(call.round(guard)).rejects.toThrow(DeniedError);
    expect(guard.events.events.map(({ action, policy_version }) => [action, policy_version])).toEqual([
      ...[
        ['call_would_deny', first],
        ['call_allowed', first],
      ],
      ...[
        ['call_would_deny', guard.policyVersion],
        ['call_denied', guard.policyVersion],
      ],
    ]);
  });
});
