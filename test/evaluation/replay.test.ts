// Replays on both APIs: what a document would have decided on the calls that agents reported, bounded and honest about
// what was not seen.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Replayer } from '../../src/evaluation/port/replayer.ts';
import { makeHub, type OperatorCaller, sharedReplayer, type TestHub, type UserCaller } from '../harness.ts';

const real = sharedReplayer();

/** Runs the real work, when a test lets it. */
let gate: Promise<void> = Promise.resolve();
/** Milliseconds that each portion says it took. */
let slow: number | null = null;
const replayer: Replayer = {
  ...real,
  async outline(tenantId, documents) {
    await gate;
    return real.outline(tenantId, documents);
  },
  async judge(...given) {
    const found = await real.judge(...given);
    return slow === null ? found : { ...found, elapsedMs: slow };
  },
};

let t: TestHub;
let user: UserCaller;
let operator: OperatorCaller;
beforeEach(async () => {
  gate = Promise.resolve();
  slow = null;
  t = await makeHub({}, undefined, replayer);
  user = await t.tenant();
  operator = t.operator(user, 'operator');
});
afterEach(() => t.close());

const contract = (id: string, amount: number, effect = 'deny') =>
  `  - {id: ${id}, type: pre, tool: pay, when: {args.amount: {gt: ${amount}}}, then: {effect: ${effect}, message: "no {args.amount}"}}\n`;
const bundle = (contracts: string, name = 'pay') => `apiVersion: service/v1
kind: ContractBundle
metadata: {name: ${name}}
defaults: {mode: enforce}
contracts:
${contracts}`;
const ruleset = (amount: number, name = 'pay') => `apiVersion: service/v1
kind: Ruleset
metadata: {name: ${name}}
rules:
  - {id: over-${amount}, type: pre, tool: pay, when: {args.amount: {gt: ${amount}}}, then: {action: block, message: "no"}}
  - {id: out, type: post, tool: pay, when: {output.text: {contains: x}}, then: {action: warn, message: "m"}}
`;

const at = (ms: number): string => new Date(t.clock.now() + ms).toISOString();
/** Calls that pay these amounts, a second apart, the last one now. */
async function pays(amounts: readonly number[], more: object = {}, as = t.key(user)): Promise<void> {
  const events = amounts.map((amount, i) => ({
    call_id: `c${i}-${amount}`,
    agent_id: 'agent-1',
    tool_name: 'pay',
    verdict: 'call_allowed',
    mode: 'enforce',
    timestamp: at((i + 1 - amounts.length) * 1000),
    payload: { tool_args: { amount }, principal: null },
    ...more,
  }));
  for (let from = 0; from < events.length; from += 1000) {
    await t.call('ingestEvents', { body: { events: events.slice(from, from + 1000) } }, as);
  }
}
const deploy = async (yaml_content: string, name = 'pay', env = 'production') => {
  const { version } = (await t.call('uploadBundle', { body: { yaml_content } }, user)).body;
  const params = { name, version: String(version) };
  await t.call('deployBundle', { params, body: { env } }, user);
};
const replay = async (body: object, as = user) =>
  (await t.call('replayBundle', { body: { env: 'production', ...body } }, as)).body;
const versions = async (query: { readonly [name: string]: string } = {}, as = operator) =>
  (await t.call('hostedReplayVersions', { params: { name: 'pay' }, query }, as)).body;
const text = async (body: object, as = operator) =>
  (await t.call('hostedReplayText', { params: { name: 'pay' }, body }, as)).body;

describe('a text', () => {
  it('is judged against what is deployed, in the words of the console', async () => {
    await deploy(bundle(contract('ten', 10)));
    await pays([1, 7, 20]);
    const yaml_content = bundle(contract('five', 5) + contract('ask', 0, 'approve'));
    const found = await replay({ yaml_content });
    expect(found).toMatchObject({
      name: 'pay',
      base: { version: 1 },
      candidate: { version: null, revision_hash: t.hub.secrets.sha256(yaml_content) },
      calls_seen: 3,
      calls_in_window: 3,
      truncated: false,
      results_left_out: 0,
      totals: { calls: 3, unchanged: 1, newly_denied: 1, newly_asked: 1, newly_allowed: 0, uncertain: 1 },
    });
    expect(found.results).toMatchObject([
      {
        call_id: 'c1-7',
        recorded_verdict: 'call_allowed',
        base: { decision: 'allow', contract_id: null },
        candidate: { decision: 'deny', contract_id: 'five', message: 'no 7' },
        change: 'newly_denied',
        uncertain: false,
      },
      { call_id: 'c0-1', change: 'newly_asked', uncertain_because: ['approval'] },
    ]);
    expect(found.totals.by_contract[0]).toEqual({ contract_id: 'five', base_hits: 0, candidate_hits: 2 });
    expect((await replay({ yaml_content, changed_only: false })).results).toHaveLength(3);
    expect(await replay({ yaml_content, limit: 1 })).toMatchObject({ results_left_out: 1 });
  });

  it('is judged against nothing where nothing is deployed, and against a saved version that is named', async () => {
    await deploy(bundle(contract('ten', 10)));
    await pays([7], {}, t.key(user, 'staging'));
    const yaml_content = bundle(contract('five', 5));
    expect(await replay({ yaml_content, env: 'staging' })).toMatchObject({
      base: null,
      totals: { calls: 1, newly_denied: 1 },
    });
    expect(await replay({ yaml_content, env: 'staging', base_version: 1 })).toMatchObject({
      base: { version: 1 },
    });
    await expect(replay({ yaml_content, base_version: 9 })).rejects.toMatchObject({
      code: 'not_found',
      message: "Bundle 'pay' version 9 not found.",
    });
  });

  it('sees the calls of its window, agent and environment alone, and none of the sample run or of others', async () => {
    await pays([1, 2, 3]);
    await pays([4], { agent_id: 'agent-2', call_id: 'x' });
    await pays([5], {}, t.key(await t.tenant()));
    await t.call('hostedSampleRun', {}, operator);
    const yaml_content = bundle(contract('all', 0));
    const seen = async (body: object) => (await replay({ yaml_content, ...body })).calls_seen;
    expect(await seen({})).toBe(4);
    expect(await seen({ agent_id: 'agent-2' })).toBe(1);
    expect(await seen({ env: 'development' })).toBe(0);
    expect(await seen({ since: at(-1000) })).toBe(3);
    expect(await seen({ until: at(-1500) })).toBe(1);
    t.clock.advance(8 * 24 * 3_600_000);
    expect(await seen({})).toBe(0);
    await expect(replay({ yaml_content, since: at(0), until: at(-1) })).rejects.toMatchObject({
      code: 'unprocessable',
    });
  });

  it('is for operators of the environment that it names', async () => {
    const roles = [
      { role: 'operator', env: 'staging' },
      { role: 'viewer', env: '*' },
    ] as const;
    const person = { ...user, roles };
    const yaml_content = bundle(contract('five', 5));
    expect(await replay({ yaml_content, env: 'staging' }, person)).toMatchObject({ calls_seen: 0 });
    for (const refusal of [
      replay({ yaml_content }, person),
      text({ yaml_content, env: 'production' }, { ...operator, roles }),
    ])
      await expect(refusal).rejects.toMatchObject({ code: 'role_required' });
  });

  it('that is hostile is refused, and says which text', async () => {
    const refused = async (yaml_content: string, message: RegExp) =>
      await expect(replay({ yaml_content })).rejects.toMatchObject({
        code: 'unprocessable',
        message: expect.stringMatching(message),
      });
    await refused('', /./);
    await refused('a: [', /./);
    await refused(bundle(contract('a', 1) + contract('a', 1)), /document of the replay.*duplicate|unique/i);
    await refused(
      bundle(
        '  - {id: a, type: pre, tool: x, when: {args.a: {matches: "("}}, then: {effect: deny, message: m}}\n',
      ),
      /document of the replay/,
    );
    const bomb = `a: &a [x]\n${Array.from({ length: 30 }, (_, i) => `${'b'.repeat(i + 1)}: &${'b'.repeat(i + 1)} [*${i === 0 ? 'a' : 'b'.repeat(i)}, *${i === 0 ? 'a' : 'b'.repeat(i)}]`).join('\n')}`;
    await refused(bomb, /./);
  });
});

describe('a composition', () => {
  it('is assembled and judged; one without contracts is refused', async () => {
    await t.call(
      'createContract',
      {
        body: {
          contract_id: 'five',
          name: 'Five',
          type: 'pre',
          definition: {
            tool: 'pay',
            when: { 'args.amount': { gt: 5 } },
            then: { effect: 'deny', message: 'no' },
          },
        },
      },
      user,
    );
    const create = (name: string, contracts: readonly object[]) =>
      t.call('createComposition', { body: { name, contracts } }, user);
    await create('pay', [{ contract_id: 'five', position: 10 }]);
    await create('empty', []);
    await pays([1, 7]);
    const of = async (name: string, as = user) =>
      (await t.call('replayComposition', { params: { name }, body: { env: 'production' } }, as)).body;
    expect(await of('pay')).toMatchObject({ name: 'pay', base: null, totals: { calls: 2, newly_denied: 1 } });
    await expect(of('empty')).rejects.toMatchObject({ code: 'unprocessable' });
    await expect(of('absent')).rejects.toMatchObject({ code: 'not_found' });
    await expect(of('pay', await t.tenant())).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('versions of a ruleset', () => {
  const put = (yaml: string, query: { readonly [name: string]: string } = {}) =>
    t.call('hostedPutRuleset', { params: { name: 'pay' }, query, body: Buffer.from(yaml) }, operator, {
      headers: { 'content-type': 'application/x-yaml' },
    });

  it('are compared: the newest with what is deployed, else with the one before, or two that are named', async () => {
    await put(ruleset(10), { deploy: 'false' });
    await expect(versions()).rejects.toMatchObject({ code: 'unprocessable' });
    await put(ruleset(5), { deploy: 'false' });
    await pays([1, 7, 20]);
    const found = await versions();
    expect(found).toMatchObject({
      base: { version: 1 },
      candidate: { version: 2 },
      window: { env: null },
      totals: { newly_blocked: 1, unchanged: 2 },
      skipped_rules: { base: 1, candidate: 1 },
    });
    expect(found.results).toMatchObject([
      {
        recorded_action: 'call_allowed',
        candidate: { decision: 'block', rule_id: 'over-5' },
        change: 'newly_blocked',
      },
    ]);
    await put(ruleset(0));
    expect(await versions({ candidate: '1' })).toMatchObject({
      base: { version: 3 },
      candidate: { version: 1 },
      totals: { newly_allowed: 2 },
    });
    expect(await versions({ candidate: '1', base: '2', env: 'staging' })).toMatchObject({
      base: { version: 2 },
      calls_seen: 0,
    });
    await expect(versions({ candidate: '7' })).rejects.toMatchObject({
      code: 'not_found',
      message: "Ruleset 'pay' version 7 not found.",
    });
    await expect(versions({}, t.operator(await t.tenant()))).rejects.toMatchObject({ code: 'not_found' });
    await expect(versions({}, t.operator(user, 'viewer'))).rejects.toMatchObject({ code: 'forbidden' });
  });

  it('are compared with what is deployed where the person has a role', async () => {
    await deploy(bundle(contract('a', 10)), 'pay', 'staging');
    await deploy(bundle(contract('a', 5)), 'pay', 'production');
    const person = { ...operator, roles: [{ role: 'operator', env: 'staging' }] as const };
    expect(await versions()).toMatchObject({ base: { version: 2 } });
    expect(await versions({}, person)).toMatchObject({ base: { version: 1 }, candidate: { version: 2 } });
  });

  it('or one of them with a text under the same name', async () => {
    await put(ruleset(10));
    await pays([7]);
    expect(await text({ yaml_content: ruleset(5) })).toMatchObject({
      base: { version: 1 },
      candidate: { version: null },
      totals: { newly_blocked: 1 },
    });
    await expect(text({ yaml_content: ruleset(5, 'other') })).rejects.toMatchObject({
      detail: { reason: 'name_mismatch' },
    });
    await expect(text({ yaml_content: ruleset(5), candidate: 1 })).rejects.toMatchObject({
      code: 'validation_failed',
    });
  });

  it('look at the newest sessions, and at calls of none', async () => {
    await put(ruleset(0));
    await pays([1, 2], { call_id: undefined, payload: { session_id: 'old', tool_args: { amount: 1 } } });
    await pays([3]);
    t.clock.advance(5000);
    await pays([4], { payload: { session_id: 'new', tool_args: { amount: 1 } } });
    expect(await versions({ sessions: '1', base: '1' })).toMatchObject({
      calls_seen: 2,
      calls_in_window: 4,
      truncated: false,
      sessions: [{ agent_id: 'agent-1', session_id: 'new', calls: 1, changed: 0 }],
    });
    expect(await versions({ session_id: 'old', base: '1' })).toMatchObject({ calls_seen: 2 });
  });
});

describe('bounds', () => {
  const yaml_content = bundle(contract('five', 5));

  it('the newest calls, as many as asked for, of how many there are', async () => {
    await pays(Array.from({ length: 1300 }, (_, i) => i));
    const found = await replay({ yaml_content, calls: 700, limit: 1 });
    expect(found).toMatchObject({ calls_seen: 700, calls_in_window: 1300, truncated: false });
    expect(found.results[0]?.call_id).toBe('c1299-1299');
    expect(await replay({ yaml_content })).toMatchObject({ calls_seen: 1300, calls_in_window: 1300 });
  });

  it('when the time is over it says what it saw', async () => {
    await pays(Array.from({ length: 1300 }, (_, i) => i));
    slow = 6000;
    expect(await replay({ yaml_content })).toMatchObject({
      calls_seen: 1000,
      calls_in_window: 1300,
      truncated: true,
    });
  });

  it('two at once of a tenant, four of all; others are told when to come again', async () => {
    let open = (): void => {};
    gate = new Promise((resolve) => {
      open = resolve;
    });
    const [second, third] = [await t.tenant(), await t.tenant()];
    const running = [user, user, second, second].map((as) => replay({ yaml_content }, as));
    const busy = { code: 'rate_limited', detail: { reason: 'replay_busy', retryAfter: 2 } };
    await expect(replay({ yaml_content })).rejects.toMatchObject(busy);
    await expect(replay({ yaml_content }, third)).rejects.toMatchObject(busy);
    open();
    expect(await Promise.all(running)).toHaveLength(4);
    expect(await replay({ yaml_content }, third)).toMatchObject({ calls_seen: 0 });
  });

  it('ten a minute of a tenant', async () => {
    for (let i = 0; i < 10; i++) await replay({ yaml_content });
    await expect(replay({ yaml_content })).rejects.toMatchObject({
      code: 'rate_limited',
      detail: { retryAfter: expect.any(Number) },
    });
    t.clock.advance(60_000);
    expect(await replay({ yaml_content })).toMatchObject({ calls_seen: 0 });
  });

  it('changes nothing, and asks for the right to change things', async () => {
    await pays([7]);
    t.newFrames();
    await replay({ yaml_content });
    expect(t.newFrames()).toEqual([]);
    await expect(replay({ yaml_content, calls: 10_001 })).rejects.toMatchObject({
      code: 'validation_failed',
    });
    await expect(replay({ yaml_content, env: 'moon' })).rejects.toMatchObject({ code: 'validation_failed' });
  });
});
