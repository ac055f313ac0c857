// Contracts as code, custom operators and selectors, and vendor names: what a guard understands beyond the language's
// own words.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sha256 } from '../src/bundle/signature.ts';
import {
  type CodeContract,
  ConfigurationError,
  DeniedError,
  Guard,
  type GuardOptions,
  localApproval,
} from '../src/index.ts';

const yaml = `apiVersion: service/v1
kind: ContractBundle
metadata: { name: guardrails }
defaults: { mode: enforce }
tools: { pay: { side_effect: read } }
contracts:
  - id: documented
    type: pre
    tool: "*"
    when: { args.stop: { equals: true } }
    then: { effect: deny, message: "the document says no" }
`;
const guardOf = (contracts: readonly CodeContract[], more: Partial<GuardOptions> = {}): Guard =>
  Guard.fromYaml(yaml, { contracts, openTelemetry: null, ...more });
const ok = (): string => 'ok';
const denial = (running: Promise<unknown>): Promise<DeniedError> =>
  running.then(
    () => {
      throw new Error('it ran');
    },
    (failure) => {
      if (!(failure instanceof DeniedError)) throw failure;
      return failure;
    },
  );

describe('contracts as code', () => {
  const cheap: CodeContract = {
    id: 'cheap-only',
    type: 'pre',
    tool: 'pay*',
    check: async ({ args }) => ((args.amount as number) > 100 ? { deny: 'too much' } : undefined),
  };

  it('deny before the document does, in its own words, and only the tools they name', async () => {
    const guard = guardOf([cheap]);
    const { contract, message, event } = await denial(guard.run('pay', { amount: 101, stop: true }, ok));
    expect([contract, message]).toEqual(['cheap-only', 'too much']);
    expect(event).toMatchObject({
      action: 'call_denied',
      decision_source: 'precondition',
      decision_name: 'cheap-only',
      policy_error: false,
      rules_evaluated: [{ name: 'cheap-only', type: 'precondition', passed: false, message: 'too much' }],
    });
    expect(await guard.run('look', { amount: 101 }, ok)).toBe('ok');
    expect(await guard.run('pay', { amount: 1 }, ok)).toBe('ok');
    expect(guard.events.last().rules_evaluated.map(({ name, passed }) => [name, passed])).toEqual([
      ['cheap-only', true],
      ['documented', true],
    ]);
    expect((await denial(guard.run('pay', { amount: 1, stop: true }, ok))).contract).toBe('documented');
  });

  it.each([
    ['pre', 'precondition', 'Precondition error: broken'],
    ['session', 'session_contract', 'Session contract error: broken'],
  ] as const)('deny when they throw, as %s', async (type, source, reason) => {
    const check = (): never => {
      throw new Error('broken');
    };
    const { event } = await denial(guardOf([{ id: 'broken', type, check }]).run('pay', {}, ok));
    expect(event).toMatchObject({ decision_source: source, reason, policy_error: true });
  });

  it.each([
    ['a string', 'only at night'],
    ['empty', ''],
    ['0', 0],
    ['a list', ['no']],
    ['another object', { denied: 'no' }],
    ['another object', { deny: undefined }],
    ['a function', () => false],
  ])('and hooks deny an answer that is %s: %o', async (kind, value) => {
    const answer = (): never => value as never;
    const expected = "must be nothing, true, false or { deny: 'the reason' }, but is";
    const hooked = await denial(guardOf([], { hooks: [{ name: 'hours', run: answer }] }).run('pay', {}, ok));
    expect(hooked.event).toMatchObject({
      decision_source: 'hook',
      decision_name: 'hours',
      reason: `Hook error: the answer of hook hours ${expected} ${kind}`,
      policy_error: true,
    });
    const { event } = await denial(guardOf([{ id: 'hours', type: 'pre', check: answer }]).run('pay', {}, ok));
    expect(event).toMatchObject({
      decision_name: 'hours',
      reason: `Precondition error: the answer of contract hours ${expected} ${kind}`,
      policy_error: true,
    });
  });

  it('and hooks allow with nothing, null or true', async () => {
    for (const value of [undefined, null, true]) {
      const guard = guardOf([{ id: 'hours', type: 'pre', check: () => value }], {
        hooks: [{ run: async () => value }],
      });
      expect(await guard.run('pay', {}, ok)).toBe('ok');
    }
  });

  it('only record in observe mode, and are recorded themselves when they only observe', async () => {
    const watching = guardOf([{ ...cheap, mode: 'observe' }]);
    expect(await watching.run('pay', { amount: 101 }, ok)).toBe('ok');
    expect(watching.events.events.map(({ action, decision_name }) => [action, decision_name])).toEqual([
      ['call_would_deny', 'cheap-only'],
      ['call_allowed', null],
      ['call_executed', null],
    ]);
    const observing = guardOf([cheap], { mode: 'observe' });
    expect(await observing.run('pay', { amount: 101 }, ok)).toBe('ok');
    expect(observing.events.filter('call_would_deny')).toHaveLength(1);
  });

  it('see the counts of the run', async () => {
    const twice: CodeContract = {
      id: 'twice',
      type: 'session',
      check: (_, { executions }) => executions < 2,
    };
    const guard = guardOf([twice]);
    await guard.run('a', {}, ok);
    await guard.run('b', {}, ok);
    const { event } = await denial(guard.run('c', {}, ok));
    expect(event).toMatchObject({ decision_source: 'session_contract', reason: 'Denied by contract twice.' });
    await guard.run('c', {}, ok, { sessionId: 'another' });
  });

  it('look at results after the call: a failure warns, is counted, and changes nothing', async () => {
    const told: string[] = [];
    const guard = guardOf([
      { id: 'short', type: 'post', check: (_, output) => (output?.length ?? 0) < 3 || { deny: 'long' } },
      { id: 'broken', type: 'post', mode: 'observe', check: () => Promise.reject(new Error('oh')) },
    ]);
    const onWarning = (warnings: readonly { contract: string; message: string }[]): void => {
      told.push(...warnings.map(({ contract, message }) => `${contract}: ${message}`));
    };
    expect(await guard.run('pay', {}, () => 'long enough', { onWarning })).toBe('long enough');
    expect(told).toEqual(['short: long', 'broken: [observe] Postcondition error: oh']);
    expect(guard.events.last()).toMatchObject({ postconditions_passed: false, policy_error: true });
    await guard.run('pay', {}, ok);
    expect(guard.events.last().postconditions_passed).toBe(true);
  });

  it('are not asked in a dry run', () => {
    expect(guardOf([cheap]).evaluate('pay', { amount: 101 }).verdict).toBe('allow');
  });
});

describe('a language of one’s own', () => {
  const custom = yaml.replace('args.stop: { equals: true }', 'risk.level: { above_the_line: 3 }');
  const language = {
    operators: { above_the_line: (field: unknown, line: unknown) => (field as number) > (line as number) },
    selectors: {
      risk: ({ args }: { args: { readonly [name: string]: unknown } }) => ({ level: args.points }),
    },
  };

  it('has the operators and selectors it is given, also for contracts put in use later', async () => {
    expect(() => Guard.fromYaml(custom)).toThrow(ConfigurationError);
    const guard = Guard.fromYaml(yaml, { ...language, openTelemetry: null });
    guard.reload(custom);
    await denial(guard.run('pay', { points: 4 }, ok));
    expect(await guard.run('pay', { points: 3 }, ok)).toBe('ok');
  });

  it('lets an operator that throws deny', async () => {
    const fail = (): never => {
      throw new Error('no idea');
    };
    const guard = Guard.fromYaml(custom, {
      ...language,
      operators: { above_the_line: fail },
      openTelemetry: null,
    });
    const { event } = await denial(guard.run('pay', { points: 1 }, ok));
    expect(event).toMatchObject({ decision_name: 'documented', policy_error: true });
  });

  it('takes the kinds and versions of a hub with names of its own', () => {
    const named = yaml.replace('service/v1', 'acme/v1').replace('ContractBundle', 'AcmeBundle');
    const names = {
      apiVersions: ['acme/v1'],
      bundleKinds: ['AcmeBundle'],
      rulesetKinds: ['AcmeRules'],
    };
    const rules = named
      .replace('AcmeBundle', 'AcmeRules')
      .replace('contracts:', 'rules:')
      .replace('effect: deny', 'action: block');
    for (const text of [named, rules]) {
      const answer = Guard.fromYaml(text, names).evaluate('pay', { stop: true });
      expect([answer.verdict, answer.denyReasons]).toEqual(['deny', ['the document says no']]);
      expect(() => Guard.fromYaml(text)).toThrow(ConfigurationError);
    }
    expect(() => Guard.fromYaml(yaml, names)).toThrow(ConfigurationError);
  });
});

describe('contracts in layers', () => {
  const layer = (id: string, message: string, more = ''): string => `apiVersion: service/v1
kind: ContractBundle
metadata: { name: layer }
defaults: { mode: enforce }
${more}contracts:
  - id: ${id}
    type: pre
    tool: "*"
    when: { args.stop: { equals: true } }
    then: { effect: deny, message: "${message}" }
`;
  const after = layer('later', 'from now on', 'observe_alongside: true\n').replace(
    'type: pre\n    tool: "*"\n    when: { args.stop: { equals: true } }\n    then: { effect: deny',
    'type: post\n    tool: "*"\n    when: { output.text: { contains: o } }\n    then: { effect: warn',
  );

  it('let later ones win, and have one version of all their bytes', async () => {
    const layers = [yaml, layer('documented', 'the layer says no')];
    const guard = Guard.fromYaml(layers, { openTelemetry: null });
    expect((await denial(guard.run('pay', { stop: true }, ok))).message).toBe('the layer says no');
    expect(guard.policyVersion).toBe(
      sha256(Buffer.from(layers.map((text) => sha256(Buffer.from(text))).join(':'))),
    );
    expect(Guard.fromYaml([yaml]).policyVersion).toBe(sha256(Buffer.from(yaml)));
  });

  it('only record what stands alongside, before the call and after it', async () => {
    const alongside = layer('documented', 'it might', 'observe_alongside: true\n').replace(
      'args.stop',
      'args.maybe',
    );
    const guard = Guard.fromYaml([yaml, alongside, after], { openTelemetry: null });
    expect(await guard.run('pay', { maybe: true }, ok)).toBe('ok');
    expect(
      guard.events.events.map(({ action, mode, decision_source, decision_name }) => [
        action,
        mode,
        decision_source,
        decision_name,
      ]),
    ).toEqual([
      ['call_allowed', 'enforce', null, null],
      ['call_would_deny', 'observe', 'yaml_precondition', 'documented:candidate'],
      ['call_would_deny', 'observe', 'yaml_postcondition', 'later:candidate'],
      ['call_executed', 'enforce', null, null],
    ]);
    expect(guard.events.last()).toMatchObject({ postconditions_passed: true });
    guard.events.clear();
    await denial(guard.run('pay', { stop: true, maybe: true }, ok));
    expect(guard.events.events).toHaveLength(1);

    const asking = layer('first', 'may I?').replace('effect: deny', 'effect: approve');
    const approvals = localApproval(async () => true);
    const approved = Guard.fromYaml([asking, alongside], { approvals, openTelemetry: null });
    expect(await approved.run('pay', { stop: true, maybe: true }, ok)).toBe('ok');
    expect(approved.events.events.map(({ action, decision_name }) => [action, decision_name])).toEqual([
      ['call_approval_requested', 'first'],
      ['call_approval_granted', 'first'],
      ['call_would_deny', 'documented:candidate'],
      ['call_executed', null],
    ]);
  });

  it('name the document of each problem, and come from files too', async () => {
    const wrong = layer('No', 'x');
    expect(() => Guard.fromYaml([yaml, wrong, 'a: ['])).toThrow(/document 2: [\s\S]*document 3: /);
    expect(() => Guard.fromYaml([])).toThrow(ConfigurationError);
    const folder = await mkdtemp(join(tmpdir(), 'layers-'));
    const paths = [join(folder, 'a.yaml'), join(folder, 'b.yaml')];
    await writeFile(paths[0] ?? '', yaml);
    await expect(Guard.fromFile(paths)).rejects.toThrow('b.yaml cannot be read');
    await writeFile(paths[1] ?? '', layer('documented', 'from a file'));
    const guard = await Guard.fromFile(paths, { openTelemetry: null });
    expect(guard.evaluate('pay', { stop: true }).denyReasons).toEqual(['from a file']);
    await rm(folder, { recursive: true });
  });
});

describe('messages', () => {
  it('hide the same secrets in messages as redaction does', async () => {
    const text = yaml.replace('the document says no', 'no: {args.key}');
    const key = `sk-ant-${'a'.repeat(30)}`;
    const { message } = await denial(
      Guard.fromYaml(text, { openTelemetry: null }).run('pay', { stop: true, key }, ok),
    );
    expect(message).toBe('no: [REDACTED]');
  });
});
