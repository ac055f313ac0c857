// A governed call from start to end: what decides, in which order, what is recorded, and what the agent gets.
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  type ApprovalBackend,
  type ApprovalOutcome,
  type AuditRecord,
  ConfigurationError,
  DeniedError,
  Guard,
  type GuardOptions,
  localApproval,
  MemorySessionStore,
  type RunOptions,
} from '../src/index.ts';
import { ManualClock } from './manual-clock.ts';

const bundle = (contracts: string, top = ''): string => `apiVersion: service/v1
kind: ContractBundle
metadata: { name: guardrails }
defaults: { mode: enforce }
${top}
contracts:
${contracts}`;

const noEnv = `  - id: no-env
    type: pre
    tool: read_file
    when: { args.path: { contains: ".env" } }
    then: { effect: deny, message: "{args.path} is secret", tags: [secrets] }
`;
const watched = noEnv.replace('no-env', 'watched').replace('type: pre', 'type: pre\n    mode: observe');
const ask = `  - id: ask
    type: pre
    tool: deploy
    when: { args.target: { exists: true } }
    then: { effect: approve, message: "deploy?", timeout: 5 }
`;
const few = (limits: string): string =>
  `  - { id: few, type: session, limits: { ${limits} }, then: { effect: deny, message: "that is enough" } }\n`;

const guardOf = (contracts: string, options: GuardOptions = {}, top = ''): Guard =>
  Guard.fromYaml(bundle(contracts, top), { openTelemetry: null, ...options });
const steps = (guard: Guard): string[] => guard.events.events.map((event) => event.action);
const denied = async (call: Promise<unknown>): Promise<DeniedError> => {
  const failure = await call.catch((error: unknown) => error);
  if (!(failure instanceof DeniedError)) throw new Error(`not denied: ${String(failure)}`);
  return failure;
};
const ok = (): string => 'ok';

describe('a call', () => {
  it('that no contract minds runs with its own arguments, and is recorded before and after', async () => {
    const guard = guardOf(noEnv, {
      sessionId: 'run-1',
      principal: { user_id: 'ann', claims: { token: 'x' } },
    });
    const args = { path: 'a.txt', list: [1] };
    const result = await guard.run('read_file', args, (seen) => {
      expect(seen).toBe(args);
      return steps(guard).join();
    });
    expect(result).toBe('call_allowed');
    const [allowed, executed] = guard.events.events as [AuditRecord, AuditRecord];
    expect(allowed).toMatchObject({
      run_id: 'run-1',
      call_index: 0,
      parent_call_id: null,
      action: 'call_allowed',
      decision_source: null,
      environment: 'production',
      principal: {
        user_id: 'ann',
        service_id: null,
        org_id: null,
        role: null,
        ticket_ref: null,
        claims: { token: '[REDACTED]' },
      },
      side_effect: 'irreversible',
      tool_success: null,
      session_attempt_count: 1,
      policy_version: guard.policyVersion,
      mode: 'enforce',
      rules_evaluated: [{ name: 'no-env', type: 'precondition', passed: true, message: null }],
    });
    expect(executed).toMatchObject({
      action: 'call_executed',
      call_id: allowed.call_id,
      tool_success: true,
      postconditions_passed: true,
      session_execution_count: 1,
    });
  });

  it('that a contract denies does not run and says which contract and why', async () => {
    const guard = guardOf(noEnv);
    let ran = false;
    const failure = await denied(
      guard.run('read_file', { path: '/a/.env', api_key: 'k' }, () => {
        ran = true;
      }),
    );
    expect(ran).toBe(false);
    expect(failure).toMatchObject({ contract: 'no-env', message: '/a/.env is secret' });
    expect(failure.event).toMatchObject({
      action: 'call_denied',
      decision_source: 'yaml_precondition',
      decision_name: 'no-env',
      reason: '/a/.env is secret',
      tool_args: { path: '/a/.env', api_key: '[REDACTED]' },
      rules_evaluated: [{ name: 'no-env', passed: false, metadata: { tags: ['secrets'] } }],
    });
    expect(guard.events.last()).toBe(failure.event);
  });

  it('that the guard only observes is recorded as would-deny and runs', async () => {
    const guard = guardOf(noEnv, { mode: 'observe' });
    expect(await guard.run('read_file', { path: '.env' }, ok)).toBe('ok');
    expect(steps(guard)).toEqual(['call_would_deny', 'call_executed']);
    expect(guard.events.events[0]).toMatchObject({ mode: 'observe', decision_name: 'no-env' });
    expect(guardOf(noEnv, {}, '').mode).toBe('enforce');
  });

  it('that only an observing contract minds has a record of its own before the decision', async () => {
    const guard = guardOf(watched);
    await guard.run('read_file', { path: '.env' }, ok);
    expect(steps(guard)).toEqual(['call_would_deny', 'call_allowed', 'call_executed']);
    expect(guard.events.events[0]).toMatchObject({
      mode: 'observe',
      decision_source: 'precondition',
      decision_name: 'watched',
      rules_evaluated: [],
      session_attempt_count: 0,
    });
  });

  it('is refused when its arguments are not those that were judged any more', async () => {
    const args = { path: 'a.txt' };
    const hook = {
      run: () => {
        args.path = '.env';
        return undefined;
      },
    };
    const guard = guardOf(noEnv, { hooks: [hook], sessionId: 's' });
    const failure = await denied(guard.run('read_file', args, (given) => given.path));
    expect(failure.contract).toBe('arguments_changed');
    expect(failure.event).toMatchObject({
      action: 'call_denied',
      decision_source: 'arguments_changed',
      tool_args: { path: 'a.txt' },
    });
    args.path = 'a.txt';
    await guard.run('read_file', { path: 'a.txt' }, ok);
    expect(guard.events.last().session_execution_count).toBe(1);
  });

  it('is judged to its end by the contracts it began with', async () => {
    const guard = guardOf(noEnv);
    const before = guard.policyVersion;
    await guard.run('read_file', { path: 'a' }, () => guard.reload(bundle(watched)));
    expect(guard.events.events.map((event) => event.policy_version)).toEqual([before, before]);
    expect(guard.policyVersion).not.toBe(before);
    expect(() => guard.reload('nonsense')).toThrow(ConfigurationError);
    await guard.run('read_file', { path: '.env' }, ok);
  });

  it.each([
    ['', {}],
    ['a/b', {}],
    ['a\nb', {}],
    ['tool', [] as unknown as object],
    ['tool', null as unknown as object],
  ])('named %j with arguments %j is an error, not a verdict', async (tool, args) => {
    const guard = guardOf(noEnv);
    await expect(guard.run(tool, args, ok)).rejects.toThrow(TypeError);
    expect(guard.events.events).toEqual([]);
  });

  it('names the governed call it is made inside of as its parent', async () => {
    const guard = guardOf(noEnv);
    await Promise.all([
      guard.run('outer', {}, () => guard.run('inner', {}, ok)),
      guard.run('alone', {}, ok, { parentCallId: 'given' }),
    ]);
    const of = (tool: string) => guard.events.events.find((event) => event.tool_name === tool);
    expect(of('inner')?.parent_call_id).toBe(of('outer')?.call_id);
    expect(of('outer')?.parent_call_id).toBeNull();
    expect(of('alone')?.parent_call_id).toBe('given');
    expect(['outer', 'inner', 'alone'].map((tool) => of(tool)?.call_index).sort()).toEqual([0, 1, 2]);
  });
});

describe('hooks', () => {
  it('come before contracts, run by glob and predicate, and deny under their name', async () => {
    const asked: string[] = [];
    const guard = guardOf(noEnv, {
      hooks: [
        { tool: 'write_*', run: () => false },
        { name: 'never', when: () => false, run: () => false },
        {
          tool: 'read_*',
          run: function office(call) {
            asked.push(call.tool);
            return { deny: 'closed' };
          },
        },
      ],
    });
    const failure = await denied(guard.run('read_file', { path: '.env' }, ok));
    expect(failure).toMatchObject({ contract: 'office', message: 'closed' });
    expect(failure.event).toMatchObject({
      decision_source: 'hook',
      hooks_evaluated: [{ name: 'office', result: 'deny', reason: 'closed' }],
      rules_evaluated: [],
    });
    expect(asked).toEqual(['read_file']);
  });

  it('that throw deny, and say that the policy failed', async () => {
    const run = (): never => {
      throw new Error('boom');
    };
    const failure = await denied(guardOf(noEnv, { hooks: [{ name: 'h', run }] }).run('t', {}, ok));
    expect(failure.message).toBe('Hook error: boom');
    expect(failure.event.policy_error).toBe(true);
  });
});

describe('limits', () => {
  it('are those of contracts alone: a guard that lives long refuses none of 1,000 allowed calls', async () => {
    const guard = guardOf(noEnv);
    let ran = 0;
    for (let i = 0; i < 1_000; i++) {
      await guard.run('read_file', { path: 'a' }, () => ran++);
      if (i % 2 === 0) await denied(guard.run('read_file', { path: '.env' }, ok));
    }
    expect(ran).toBe(1_000);
    expect(guard.events.last()).toMatchObject({
      session_attempt_count: 1_500,
      session_execution_count: 1_000,
    });
  }, 60_000);

  it('deny the N-th attempt, denied ones included', async () => {
    const guard = guardOf(noEnv + few('max_attempts: 3'));
    await guard.run('read_file', { path: 'a' }, ok);
    await denied(guard.run('read_file', { path: '.env' }, ok));
    const failure = await denied(guard.run('read_file', { path: 'a' }, ok));
    expect(failure.event).toMatchObject({
      decision_source: 'attempt_limit',
      decision_name: 'few',
      session_attempt_count: 3,
      session_execution_count: 1,
    });
    expect(failure.message).toBe('that is enough');
  });

  it('deny by the session contract, whose message is not expanded, per run', async () => {
    const guard = guardOf(few('max_tool_calls: 1'));
    await guard.run('t', {}, ok);
    const failure = await denied(guard.run('t', {}, ok));
    expect(failure.event).toMatchObject({ decision_source: 'yaml_session', decision_name: 'few' });
    expect(failure.message).toBe('that is enough');
    await guard.run('t', {}, ok, { sessionId: 'another run' });
  });

  it('deny per tool', async () => {
    const guard = guardOf(few('max_calls_per_tool: { deploy: 1 }'));
    await guard.run('deploy', {}, ok);
    const failure = await denied(guard.run('deploy', {}, ok));
    expect(failure.event).toMatchObject({
      decision_source: 'operation_limit',
      decision_name: 'few',
      reason: 'that is enough',
    });
    await guard.run('other', {}, ok);
  });

  it('hold for calls side by side', async () => {
    const guard = guardOf(few('max_tool_calls: 5, max_calls_per_tool: { once: 1 }'));
    let ran = 0;
    const call = (tool: string) => guard.run(tool, {}, () => ran++).catch(() => {});
    await Promise.all(Array.from({ length: 4 }, () => call('once')));
    expect(ran).toBe(1);
    await Promise.all(Array.from({ length: 20 }, () => call('many')));
    expect(ran).toBe(5);
    await call('many');
    expect(ran).toBe(5);
  });

  it('are shared by guards with one store and one session id', async () => {
    const sessions = new MemorySessionStore();
    const make = () => guardOf(few('max_tool_calls: 1'), { sessions, sessionId: 'shared' });
    await make().run('t', {}, ok);
    await denied(make().run('t', {}, ok));
    expect(await sessions.get('s:shared:execs')).toBe('1');
    expect(await sessions.get('s:shared:attempts')).toBe('2');
    expect(await sessions.get('s:shared:tool:t')).toBe('1');
  });

  it('count failures in a row', async () => {
    const sessions = new MemorySessionStore();
    const guard = guardOf(noEnv, { sessions, sessionId: 's' });
    for (const result of ['error: 1', 'Fatal: 2']) await guard.run('t', {}, () => result);
    expect(await sessions.get('s:s:consec_fail')).toBe('2');
    await guard.run('t', {}, ok);
    expect(await sessions.get('s:s:consec_fail')).toBeNull();
  });

  it('withhold no result while a slow store counts its outcome, and count in the order of the calls', async () => {
    const sessions = new MemorySessionStore();
    const { increment } = sessions;
    const writes: (() => void)[] = [];
    sessions.increment = async (key, amount) => {
      if (key.endsWith(':consec_fail')) await new Promise<void>((resolve) => writes.push(resolve));
      return increment.call(sessions, key, amount);
    };
    const guard = guardOf(noEnv, { sessions, sessionId: 's' });
    expect(await guard.run('t', {}, () => 'error: 1')).toBe('error: 1');
    expect(guard.events.last().action).toBe('call_failed');
    expect(await guard.run('t', {}, ok)).toBe('ok');
    await guard.run('other', {}, ok, { sessionId: 'other' });
    expect(writes).toHaveLength(1);
    const closing = guard.close();
    writes[0]?.();
    await closing;
    expect(await sessions.get('s:s:consec_fail')).toBeNull();
  });

  it('go on with the next outcome when the one before and its listener failed', async () => {
    const sessions = new MemorySessionStore();
    let failing = true;
    const { increment } = sessions;
    sessions.increment = async (key, amount) => {
      if (failing && key.endsWith(':consec_fail')) throw new Error('away');
      return increment.call(sessions, key, amount);
    };
    const onError = () => {
      throw new Error('a listener that fails');
    };
    const guard = guardOf(noEnv, { sessions, sessionId: 's', onError });
    await guard.run('t', {}, () => 'error: 1');
    failing = false;
    await guard.run('t', {}, () => 'error: 2');
    await guard.close();
    expect(await sessions.get('s:s:consec_fail')).toBe('1');
  });

  it('hold up a close for its time only, and are named then', async () => {
    const sessions = new MemorySessionStore();
    sessions.delete = () => new Promise(() => {});
    const failures: unknown[] = [];
    const onError = (failure: unknown, what: string) => failures.push(`${what}: ${String(failure)}`);
    const guard = guardOf(noEnv, { sessions, closeTimeout: 20, onError });
    await guard.run('t', {}, ok);
    await guard.close();
    expect(failures).toEqual(['counting the outcome of a call: Error: not done within 20 ms']);
  });

  it('stop the call when the counters cannot be read', async () => {
    const sessions = new MemorySessionStore();
    sessions.increment = () => Promise.reject(new Error('store away'));
    let ran = false;
    const guard = guardOf(noEnv, { sessions });
    await expect(
      guard.run('t', {}, () => {
        ran = true;
      }),
    ).rejects.toThrow('store away');
    expect(ran).toBe(false);
  });
});

describe('approvals', () => {
  const answering = (answer: Parameters<typeof localApproval>[0], clock?: ManualClock): GuardOptions => ({
    approvals: localApproval(answer, clock),
  });

  it('let an approved call run, with no allowed record', async () => {
    const guard = guardOf(
      ask,
      answering(async () => ({ approved: true, decidedBy: 'ann' })),
    );
    expect(await guard.run('deploy', { target: 'x' }, ok)).toBe('ok');
    expect(steps(guard)).toEqual(['call_approval_requested', 'call_approval_granted', 'call_executed']);
    expect(new Set(guard.events.events.map((event) => event.call_id)).size).toBe(1);
    expect(guard.events.events[0]).toMatchObject({
      decision_source: 'yaml_precondition',
      decision_name: 'ask',
    });
    expect(guard.events.last().session_execution_count).toBe(1);
  });

  it('deny with who and why', async () => {
    const guard = guardOf(
      ask,
      answering(async () => ({ approved: false, decidedBy: 'ann', reason: 'friday' })),
    );
    const failure = await denied(guard.run('deploy', { target: 'x' }, ok));
    expect(failure).toMatchObject({ contract: 'ask', message: 'deploy? (denied by ann: friday)' });
    expect(steps(guard)).toEqual(['call_approval_requested', 'call_approval_denied']);
  });

  it.each([
    ['deny', ['call_approval_requested', 'call_approval_timeout'], false],
    ['allow', ['call_approval_requested', 'call_approval_timeout', 'call_executed'], true],
  ])('time out with the effect %s', async (effect, expected, runs) => {
    const clock = new ManualClock();
    const guard = guardOf(
      ask.replace('timeout: 5', `timeout: 5, timeout_effect: ${effect}`),
      answering(() => new Promise(() => {}), clock),
    );
    const call = guard.run('deploy', { target: 'x' }, ok).catch((failure: unknown) => failure);
    await clock.asked(5000);
    clock.advance(5000);
    expect((await call) === 'ok').toBe(runs);
    expect(steps(guard)).toEqual(expected);
  });

  it('deny when there is nobody to ask, or asking fails', async () => {
    const alone = guardOf(ask);
    const nobody = await denied(alone.run('deploy', { target: 'x' }, ok));
    expect(nobody.message).toBe('Approval required but no approval backend configured: deploy?');
    expect(steps(alone)).toEqual(['call_denied']);
    const away: ApprovalBackend = { request: () => Promise.reject(new Error('hub away')) };
    const failure = await denied(guardOf(ask, { approvals: away }).run('deploy', { target: 'x' }, ok));
    expect(failure.message).toContain('hub away');
    expect(failure.event).toMatchObject({ action: 'call_denied', policy_error: true });
  });

  it('are waited for in observe mode too, where a refusal refuses', async () => {
    const refusing = guardOf(ask, { ...answering(async () => false), mode: 'observe' });
    await denied(refusing.run('deploy', { target: 'x' }, ok));
    expect(steps(refusing)).toEqual(['call_approval_requested', 'call_approval_denied']);
    const alone = guardOf(ask, { mode: 'observe' });
    expect(await alone.run('deploy', { target: 'x' }, ok)).toBe('ok');
    expect(steps(alone)).toEqual(['call_would_deny', 'call_executed']);
  });

  it.each(['enforce', 'observe'] as const)('run nothing after a cancelled wait, in mode %s', async (mode) => {
    const abort = new AbortController();
    const { signal } = abort;
    let runs = 0;
    const run = (outcome: (signal?: AbortSignal) => Promise<ApprovalOutcome>) => {
      const approvals: ApprovalBackend = { request: async () => ({ id: null, outcome }) };
      return guardOf(ask, { approvals, mode }).run('deploy', { target: 'x' }, () => runs++, { signal });
    };
    const approved = { status: 'approved', proceed: true, decidedBy: null, reason: null } as const;
    const cancelled = run(async (stop) => {
      abort.abort();
      stop?.throwIfAborted();
      return approved;
    });
    expect((await denied(cancelled)).event).toMatchObject({ action: 'call_denied', mode });
    await denied(run(async () => approved));
    expect(runs).toBe(0);
  });

  it('show the deciders what will run', async () => {
    let shown: unknown;
    const guard = guardOf(
      ask,
      answering(async (request) => {
        shown = request;
        return true;
      }),
    );
    await guard.run('deploy', { target: 'x', token: 'full' }, ok);
    expect(shown).toEqual({
      tool: 'deploy',
      args: { target: 'x', token: 'full' },
      message: 'deploy?',
      timeout: 5,
      timeoutEffect: 'deny',
      decisionSource: 'yaml_precondition',
      contractName: 'ask',
      contracts: [{ name: 'ask', message: 'deploy?' }],
      principal: null,
      sessionId: guard.events.last().run_id,
      callId: guard.events.last().call_id,
    });
    expect(JSON.stringify(guard.events.events)).not.toContain('full');
  });
});

describe('results', () => {
  const tools = 'tools: { find: { side_effect: read }, send: { side_effect: write } }';
  const post = (effect: string, tool = '"*"') => `  - id: numbers
    type: post
    tool: ${tool}
    when: { output.text: { matches: "\\\\d{3}-\\\\d{4}" } }
    then: { effect: ${effect}, message: "has numbers" }
`;
  const run = async (contracts: string, tool: string, result: unknown, options: RunOptions<unknown> = {}) => {
    const guard = guardOf(contracts, {}, tools);
    const warnings: string[] = [];
    const got = await guard.run(tool, {}, () => result, {
      onWarning: (all) => warnings.push(...all.map((one) => `${one.contract}: ${one.message}`)),
      ...options,
    });
    return { got, warnings, last: guard.events.last() };
  };

  it('are redacted in the form they had', async () => {
    expect((await run(post('redact'), 'find', 'call 555-1234 now')).got).toBe('call [REDACTED] now');
    expect((await run(post('redact'), 'find', { n: '555-1234' })).got).toEqual({ n: '[REDACTED]' });
    expect((await run(post('redact'), 'find', 'nothing')).got).toBe('nothing');
  });

  it('are suppressed whole', async () => {
    const { got, last } = await run(post('deny'), 'find', '555-1234');
    expect(got).toBe('[OUTPUT SUPPRESSED] has numbers');
    expect(last).toMatchObject({ action: 'call_executed', postconditions_passed: false });
  });

  it('of tools that have acted stay, with a warning', async () => {
    const { got, warnings } = await run(post('deny'), 'send', '555-1234');
    expect(got).toBe('555-1234');
    expect(warnings).toEqual(['numbers: has numbers Tool already executed — assess before proceeding.']);
  });

  it('do not fail postconditions that only observe', async () => {
    const observing = post('deny').replace('type: post', 'type: post\n    mode: observe');
    const { got, warnings, last } = await run(observing, 'find', '555-1234');
    expect([got, last.postconditions_passed]).toEqual(['555-1234', true]);
    expect(warnings).toEqual(['numbers: [observe] has numbers']);
  });

  it.each([
    ['error: no', false],
    ['FATAL: no', false],
    [{ is_error: true }, false],
    [{ isError: true }, false],
    ['fine', true],
    [null, true],
    [0, true],
  ])('like %j count as success: %s', async (result, success) => {
    const { last } = await run(noEnv, 't', result);
    expect(last).toMatchObject({ action: success ? 'call_executed' : 'call_failed', tool_success: success });
    const own = await run(noEnv, 't', result, { success: () => !success });
    expect(own.last.tool_success).toBe(!success);
  });

  it('that are exceptions pass through, recorded and redacted, but not past a contract', async () => {
    const guard = guardOf(post('redact', 'find'), {}, tools);
    const boom = new Error('password is --password hunter2');
    const fail = (error: Error) => (): never => {
      throw error;
    };
    await expect(guard.run('other', {}, fail(boom))).rejects.toBe(boom);
    expect(guard.events.last()).toMatchObject({
      action: 'call_failed',
      tool_success: false,
      error: 'password is --password [REDACTED]',
    });
    await expect(guard.run('find', {}, fail(new Error('at 555-1234')))).rejects.toThrow('at [REDACTED]');
    // What a contract removed does not leave by the record.
    expect(guard.events.last()).toMatchObject({ action: 'call_failed', error: 'at [REDACTED]' });
  });

  it('are recorded though an option’s function throws', async () => {
    const throwing = () => {
      throw new Error('mine');
    };
    const { got, last } = await run(post('warn'), 'find', '555-1234', {
      success: throwing,
      onWarning: throwing,
    });
    expect([got, last.action]).toEqual(['555-1234', 'call_failed']);
  });
});

describe('sinks of a guard', () => {
  it('that fail are told of, and stop a call only in strict mode', async () => {
    const failing = { emit: () => Promise.reject(new Error('disk full')) };
    const errors: string[] = [];
    const lenient = guardOf(noEnv, {
      sinks: [failing],
      onError: (failure, what) => errors.push(`${what} ${failure}`),
    });
    expect(await lenient.run('t', {}, ok)).toBe('ok');
    expect(errors).toHaveLength(2);
    expect(steps(lenient)).toEqual(['call_allowed', 'call_executed']);
    let ran = false;
    const strict = guardOf(noEnv, { sinks: [failing], strictAudit: true });
    await expect(
      strict.run('t', {}, () => {
        ran = true;
      }),
    ).rejects.toThrow(AggregateError);
    expect(ran).toBe(false);
  });

  it('that refuse the record of an allowed call take its execution back', async () => {
    let isFull = true;
    const sink = { emit: () => (isFull ? Promise.reject(new Error('disk full')) : Promise.resolve()) };
    const guard = guardOf(few('max_tool_calls: 1'), { sinks: [sink], strictAudit: true });
    await expect(guard.run('t', {}, ok)).rejects.toThrow(AggregateError);
    isFull = false;
    expect(await guard.run('t', {}, ok)).toBe('ok');
    await denied(guard.run('t', {}, ok));
  });

  it('include the file its own contracts name', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'guard-'));
    const file = join(folder, 'audit.jsonl');
    const guard = guardOf(noEnv, {}, `observability: { file: ${JSON.stringify(file)} }`);
    await guard.run('t', {}, ok);
    await guard.close();
    expect((await readFile(file, 'utf8')).trim().split('\n')).toHaveLength(2);
    await rm(folder, { recursive: true });
  });

  it('get no secret that a message repeats', async () => {
    const noisy = noEnv
      .replace('path: { contains: ".env" }', 'command: { exists: true }')
      .replace('path}', 'command}');
    const guard = guardOf(noisy);
    const failure = await denied(guard.run('read_file', { command: 'login --password hunter2' }, ok));
    expect(failure.message).toContain('hunter2');
    expect(JSON.stringify(guard.events.events)).not.toContain('hunter2');
    expect(failure.event.rules_evaluated[0]?.message).toBe('login --password [REDACTED] is secret');
  });

  it('get custom redaction', async () => {
    const guard = guardOf(noEnv, {
      redaction: { sensitiveKeys: ['ssn'], customPatterns: [['ACME-\\d+', 'ACME-*']] },
    });
    await guard.run('t', { ssn: 1, note: 'ACME-77' }, ok);
    expect(guard.events.last().tool_args).toEqual({ ssn: '[REDACTED]', note: 'ACME-*' });
  });
});

describe('a dry run', () => {
  it('asks everything, runs, counts and records nothing', async () => {
    const sessions = new MemorySessionStore();
    const guard = guardOf(noEnv + watched.replace('secret"', 'watched"') + ask, { sessions, sessionId: 's' });
    const answer = guard.evaluate('read_file', { path: '.env' });
    expect(answer).toMatchObject({
      verdict: 'deny',
      decidingContract: 'no-env',
      denyReasons: ['.env is secret'],
      warnReasons: [],
      policyVersion: guard.policyVersion,
    });
    expect(answer.contractsEvaluated.map((entry) => [entry.id, entry.matched, entry.observed])).toEqual([
      ['no-env', false, false],
      ['watched', false, true],
    ]);
    expect(guard.evaluate('deploy', { target: 'x' }).verdict).toBe('approve');
    expect(guard.evaluate('read_file', { path: 'a' }).verdict).toBe('allow');
    expect(guard.events.events).toEqual([]);
    expect(await sessions.get('s:s:attempts')).toBeNull();
    expect(() => guard.evaluate('', {})).toThrow(TypeError);
  });

  it('asks post contracts when it has an output', () => {
    const guard = guardOf(`  - id: no-x
    type: post
    tool: "*"
    when: { output.text: { contains: x } }
    then: { effect: warn, message: "has x" }
`);
    expect(guard.evaluate('t', {}, { output: 'x' })).toMatchObject({
      verdict: 'warn',
      warnReasons: ['has x'],
    });
    expect(guard.evaluate('t', {})).toMatchObject({ verdict: 'allow', contractsEvaluated: [] });
  });
});

describe('what contracts see', () => {
  const seen = (condition: string, options: GuardOptions = {}) =>
    guardOf(
      `  - id: c\n    type: pre\n    tool: "*"\n    when: ${condition}\n    then: { effect: deny, message: "no" }\n`,
      options,
    );

  it('is the environment, principal, metadata and variables of the call', async () => {
    await denied(seen('{ environment: { equals: staging } }', { environment: 'staging' }).run('t', {}, ok));
    await denied(seen('{ environment: { equals: staging } }').run('t', {}, ok, { environment: 'staging' }));
    const role = seen('{ principal.role: { equals: intern } }', { principal: { role: 'intern' } });
    await denied(role.run('t', {}, ok));
    await role.run('t', {}, ok, { principal: { role: 'admin' } });
    await role.run('t', {}, ok, { principal: null });
    await denied(seen('{ metadata.a.b: { gt: 1 } }').run('t', {}, ok, { metadata: { a: { b: 2 } } }));
    await denied(
      seen('{ env.FREEZE: { equals: true } }', { variables: { FREEZE: 'True' } }).run('t', {}, ok),
    );
    await denied(seen('{ env.HOME: { exists: true } }').run('t', {}, ok));
    await seen('{ env.NO_SUCH_VARIABLE: { exists: true } }').run('t', {}, ok);
  });

  it('are paths with links followed, also of files that do not exist yet', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sandbox-'));
    const work = join(folder, 'work');
    await mkdir(work);
    await writeFile(join(folder, 'secret'), '');
    await symlink(join(folder, 'secret'), join(work, 'link'));
    await symlink(join(folder, 'later'), join(work, 'dangling'));
    await symlink('loop', join(work, 'loop'));
    const guard = guardOf(`  - id: box
    type: sandbox
    tools: [write_file]
    within: [${JSON.stringify(work)}]
    message: outside
`);
    const write = (path: string) => guard.run('write_file', { path }, ok);
    expect(await write(join(work, 'new/file.txt'))).toBe('ok');
    expect(await write(`${work}/a/../b`)).toBe('ok');
    for (const path of ['link', 'dangling', '../secret', 'link/../../secret']) {
      const failure = await denied(write(`${work}/${path}`));
      expect(failure.event.decision_source).toBe('yaml_sandbox');
    }
    await denied(write('relative.txt'));
    await denied(write('~/x'));
    await denied(write('$HOME/x'));
    // A tool that expands nothing opens each of these below its own folder.
    for (const start of ['$x/..', '~ann/..', `~/${'../'.repeat(40)}`])
      await denied(write(`${start}${work}/x`));
    await write(`${work}/loop`);
    await rm(folder, { recursive: true });
  });

  it('take relative words from the folder of the call, else of the guard, and arguments as they are declared', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sandbox-'));
    const work = join(folder, 'work');
    await mkdir(join(work, 'sub'), { recursive: true });
    await symlink('..', join(work, 'up'));
    const box = `  - {id: box, type: sandbox, tool: "*", within: [${JSON.stringify(work)}], message: outside}`;
    const guard = Guard.fromYaml(bundle(box), {
      openTelemetry: null,
      cwd: work,
      toolArguments: { shell: { input: 'command' } },
    });
    const run = (input: string, cwd?: string) => guard.run('shell', { input }, ok, cwd ? { cwd } : {});
    expect(await run('cat sub/../a')).toBe('ok');
    expect(await run('cat ../a', join(work, 'sub'))).toBe('ok');
    expect(guard.evaluate('shell', { input: 'cat ../a' }, { cwd: join(work, 'sub') }).verdict).toBe('allow');
    for (const input of ['cat ../a', 'cat up', 'touch up/new', 'cat u*', 'cat {up,a}/b'])
      await denied(run(input));
    await denied(run('ls', folder));
    await rm(folder, { recursive: true });
  });

  it("judge commands by profiles of one's own, in which no interpreter gets code in its line", async () => {
    const box = `  - {id: box, type: sandbox, tool: "*", allows: {commands: [ship, python3, git]}, message: outside}`;
    const guardOf = (commandProfiles: GuardOptions['commandProfiles']) =>
      Guard.fromYaml(bundle(box), { openTelemetry: null, ...(commandProfiles ? { commandProfiles } : {}) });
    const verdict = (guard: Guard, command: string) => guard.evaluate('shell', { command }).verdict;
    expect(verdict(guardOf(undefined), 'ship --now a')).toBe('allow');
    const own = guardOf({
      ship: { options: { flag: '--dry-run' }, operands: ['path'] },
      python3: { options: { word: '-c -m' }, operands: ['path'] },
    });
    expect(verdict(own, 'ship --dry-run a')).toBe('allow');
    expect(verdict(own, 'ship --now a')).toBe('deny');
    expect(verdict(own, 'python3 -m pytest')).toBe('allow');
    expect(verdict(own, 'python3 -c pass')).toBe('deny');
    expect(verdict(own, 'git status')).toBe('allow');
    expect(() => guardOf({ ship: { operands: ['file'] } } as never)).toThrow(TypeError);
  });

  it('must be a document without problems, all of which are named', () => {
    const broken = bundle(noEnv.replace('deny', 'perhaps') + few('max_tool_calls: 0'));
    const make = () => Guard.fromYaml(broken);
    expect(make).toThrow(ConfigurationError);
    expect(make).toThrow(/no-env[\s\S]*few/);
    expect(() => Guard.fromYaml(new Uint8Array([0xff, 0xfe]))).toThrow(ConfigurationError);
    expect(() => Guard.fromYaml('x'.repeat(1_048_577))).toThrow(ConfigurationError);
  });

  it('can come from a file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'guard-'));
    const path = join(folder, 'contracts.yaml');
    await writeFile(path, bundle(noEnv));
    const guard = await Guard.fromFile(path, { openTelemetry: null });
    await denied(guard.run('read_file', { path: '.env' }, ok));
    expect(guard.bundleName).toBe('guardrails');
    await rm(folder, { recursive: true });
    const missing = Guard.fromFile(path);
    await expect(missing).rejects.toThrow(TypeError);
    await expect(missing).rejects.toThrow(`${path} cannot be read (ENOENT)`);
  });
});
