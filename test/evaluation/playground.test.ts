// The playground: verdicts, bounds, and what hostile YAML cannot do to the server.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { HubError } from '../../src/shared/error.ts';
import { bundleYaml } from '../contract/library.ts';
import { makeEvaluator, makeHub, type TestHub, type UserCaller } from '../harness.ts';
import { costly, hostile } from '../http/hostile.ts';
import { itAtNight, rowsOfRun } from '../runs.ts';

let t: TestHub;
let user: UserCaller;
beforeAll(async () => {
  t = await makeHub();
  user = await t.tenant();
});
afterAll(async () => {
  await t.close();
});

const yaml = bundleYaml('team', ['block-etc']);
const evaluate = async (body: object, hub = t) =>
  (
    await hub.call(
      'evaluateBundle',
      { body: { yaml_content: yaml, tool_name: 'read_file', tool_args: {}, ...body } },
      user,
    )
  ).body;

describe('an evaluation', () => {
  it('denies what a contract fires on, and says which', async () => {
    expect(await evaluate({ tool_args: { path: '/etc/passwd' } })).toEqual({
      verdict: 'deny',
      mode: 'enforce',
      contracts_evaluated: [
        {
          id: 'block-etc',
          type: 'precondition',
          matched: false,
          fired: true,
          effect: 'deny',
          message: 'Not that file.',
          observed: false,
          tags: [],
          trace: expect.objectContaining({ selector: 'args.path', value: '/etc/passwd', outcome: 'yes' }),
        },
      ],
      warnings: [],
      deciding_contract: 'block-etc',
      policy_version: t.hub.secrets.sha256(yaml).slice(0, 12),
      evaluation_time_ms: expect.any(Number),
    });
  });

  it('evaluates results, counters and metadata when it gets them, and lints the document', async () => {
    const yaml_content = `apiVersion: service/v1
kind: ContractBundle
metadata: {name: more}
defaults: {mode: enforce}
contracts:
  - {id: few, type: session, limits: {max_tool_calls: 3}, then: {effect: deny, message: enough}}
  - {id: hide, type: post, tool: read_file, when: {output.text: {contains: secret}}, then: {effect: warn, message: hidden}}
  - {id: ticket, type: pre, tool: read_file, when: {metadata.ticket: {equals: none}}, then: {effect: deny, message: no}}
  - {id: dead, type: pre, tool: read_file, when: {arg.path: {exists: true}}, then: {effect: deny, message: never}}
`;
    const more = (given: object) => evaluate({ yaml_content, tool_args: { path: '/x' }, ...given });
    expect(await more({})).toMatchObject({
      verdict: 'allow',
      warnings: [{ severity: 'error', code: 'unknown-root', contract: 'dead', line: 9, suggestion: 'args' }],
    });
    expect(await more({ output: 'a secret' })).toMatchObject({ verdict: 'warn', deciding_contract: 'hide' });
    expect(await more({ session: { calls: 3 } })).toMatchObject({
      verdict: 'deny',
      deciding_contract: 'few',
    });
    expect(await more({ metadata: { ticket: 'none' } })).toMatchObject({ deciding_contract: 'ticket' });
  });

  it('allows what no contract fires on', async () => {
    expect(await evaluate({ tool_args: { path: '/home/x' } })).toMatchObject({
      verdict: 'allow',
      deciding_contract: null,
      contracts_evaluated: [{ id: 'block-etc', matched: true }],
    });
    expect(
      (await evaluate({ tool_name: 'other', tool_args: { path: '/etc/x' } })).contracts_evaluated,
    ).toEqual([]);
  });

  it('is not decided by what only observes', async () => {
    const observing = yaml.replace('type: pre', 'type: pre\n    mode: observe');
    expect(await evaluate({ yaml_content: observing, tool_args: { path: '/etc/x' } })).toMatchObject({
      verdict: 'allow',
      deciding_contract: null,
      contracts_evaluated: [{ matched: false, observed: true }],
    });
  });

  it('takes null for its optional fields, and sees environment and principal', async () => {
    const on = (when: string) => yaml.replace(/when: .*/, `when: ${when}`);
    const verdict = async (when: string, body: object) =>
      (await evaluate({ yaml_content: on(when), ...body })).verdict;
    const absent = { environment: null, agent_id: null, principal: null };
    expect(await verdict('{environment: {equals: production}}', absent)).toBe('deny');
    expect(await verdict('{environment: {equals: production}}', { environment: 'staging' })).toBe('allow');
    expect(await verdict('{principal.role: {equals: admin}}', absent)).toBe('allow');
    const principal = { user_id: 'u', role: 'admin', claims: { team: 'x' } };
    expect(await verdict('{principal.role: {equals: admin}}', { principal })).toBe('deny');
    expect(await verdict('{principal.claims.team: {equals: x}}', { principal })).toBe('deny');
    for (const field of ['service_id', 'org_id', 'ticket_ref']) {
      const when = `{principal.${field}: {equals: x}}`;
      expect(await verdict(when, { principal: { [field]: 'x' } }), field).toBe('deny');
      expect(await verdict(when, { principal: { [field]: null } }), field).toBe('allow');
    }
  });

  it('of YAML with problems is refused with a sentence', async () => {
    await expect(
      evaluate({ yaml_content: yaml.replace('effect: deny', 'effect: nope') }),
    ).rejects.toMatchObject({
      code: 'unprocessable',
      message: expect.stringMatching(/^Invalid contract YAML: /),
    });
  });

  it('of more than 10 documents or 100 contracts is a validation error at the YAML', async () => {
    const many = (n: number) =>
      bundleYaml(
        'team',
        Array.from({ length: n }, (_, i) => `c${i}`),
      );
    const refusal = {
      code: 'validation_failed',
      detail: { fields: [{ field: ['yamlContent'], message: expect.any(String) }] },
    };
    await expect(evaluate({ yaml_content: many(101) })).rejects.toMatchObject(refusal);
    await expect(evaluate({ yaml_content: hostile['11 documents'] })).rejects.toMatchObject(refusal);
    expect((await evaluate({ yaml_content: many(100) })).contracts_evaluated).toHaveLength(100);
  });

  it.each([
    [{ tool_name: '' }],
    [{ tool_name: 'x'.repeat(256) }],
    [{ tool_args: [] }],
    [{ environment: 'x'.repeat(65) }],
    [{ principal: 'root' }],
    [{ yaml_content: 'x'.repeat(1_048_577) }],
    [{ yaml_content: 'x'.repeat(5 * 1024 * 1024 + 1) }],
    [{ yaml_content: 'a: \u0000' }],
    [{ yaml_content: 'a: \ud800' }],
  ])('of a request that does not fit is refused: %#', async (body) => {
    await expect(evaluate(body)).rejects.toMatchObject({ code: 'validation_failed' });
  });
});

it('an evaluation over its time is ended, and so is the next', async () => {
  const impatient = makeEvaluator({ limitMs: 1 });
  const hub = await makeHub({}, impatient);
  try {
    await expect(evaluate({ yaml_content: costly() }, hub)).rejects.toMatchObject({
      code: 'unprocessable',
      message: 'Evaluation timed out',
    });
    await expect(evaluate({ yaml_content: costly() }, hub)).rejects.toThrow('Evaluation timed out');
  } finally {
    await hub.close();
    await impatient.close();
  }
});

describe('the environment of the server', () => {
  const name = 'REEVE_TEST_SECRET';
  beforeEach(() => {
    process.env[name] = 'open-sesame';
  });
  afterEach(() => {
    delete process.env[name];
  });

  it('cannot be read from the playground by selector or placeholder', async () => {
    const fresh = makeEvaluator();
    const hub = await makeHub({}, fresh);
    try {
      const on = (when: string, message = 'Not that file.') =>
        yaml.replace(/when: .*/, `when: ${when}`).replace('Not that file.', message);
      const exists = await evaluate({ yaml_content: on(`{env.${name}: {exists: true}}`) }, hub);
      expect(exists.verdict).toBe('allow');
      const missing = await evaluate(
        { yaml_content: on(`{env.${name}: {exists: false}}`, `"It is {env.${name}}."`) },
        hub,
      );
      expect(missing.verdict).toBe('deny');
      expect(JSON.stringify(missing)).not.toContain('open-sesame');
    } finally {
      await hub.close();
      await fresh.close();
    }
  });
});

describe('hostile YAML', () => {
  const refused = async (call: Promise<unknown>): Promise<HubError> => {
    const error = await call.then(
      () => null,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(HubError);
    return error as HubError;
  };

  it.each(rowsOfRun(Object.keys(hostile), 5))(
    '%s is refused by every route that takes YAML',
    async (what) => {
      const yaml_content = hostile[what] ?? '';
      for (const call of [
        () => evaluate({ yaml_content }),
        () => t.call('uploadBundle', { body: { yaml_content } }, user),
        () => t.call('importContracts', { body: { yaml_content } }, user),
      ]) {
        const error = await refused(call());
        expect(['unprocessable', 'validation_failed']).toContain(error.code);
        expect(error.message).not.toMatch(/\bat .+:\d+:\d+/);
      }
      expect(Reflect.get({}, 'polluted')).toBeUndefined();
    },
  );

  it('leaves the library and the bundles as they were', async () => {
    expect((await t.call('listContracts', {}, user)).body).toEqual([]);
    expect((await t.call('listBundles', {}, user)).body).toEqual([]);
  });

  itAtNight('in four evaluations at once does not move the event loop', async () => {
    const bodies = [
      { yaml_content: hostile['an alias bomb'] },
      { yaml_content: hostile['a million tokens'] },
      { yaml_content: costly() },
      { yaml_content: yaml.replace('^/etc/', '^(a+)+$'), tool_args: { path: `${'a'.repeat(9999)}!` } },
    ];
    // The threads are warm: what is measured is the evaluations, not the compiler that runs tests.
    await Promise.allSettled(bodies.map((body) => evaluate(body)));
    let turns = 0;
    const timer = setInterval(() => {
      turns++;
    }, 5);
    for (let round = 0; round < 3; round++) await Promise.allSettled(bodies.map((body) => evaluate(body)));
    clearInterval(timer);
    // On the loop, they would leave it a turn or two after each of twelve.
    expect(turns).toBeGreaterThan(40);
  });

  it('is answered or refused when many come at once; a refusal names no time to retry', async () => {
    const body = { yaml_content: costly() };
    const results = await Promise.allSettled(Array.from({ length: 40 }, () => evaluate(body)));
    const codes = new Set(
      results.map((result) => (result.status === 'fulfilled' ? 'answered' : result.reason.code)),
    );
    expect(codes).toContain('answered');
    expect(codes).toContain('too_busy');
    const busy = results.find((result) => result.status === 'rejected' && result.reason.code === 'too_busy');
    expect(busy).toMatchObject({
      reason: { message: 'Too many concurrent evaluations. Try again shortly.', detail: {} },
    });
  });
});
