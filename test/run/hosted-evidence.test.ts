// The signed decision bundle of a run, and what the offline check makes of it.
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createSecrets } from '../../adapters/node/secrets.ts';
import { verifyCommand } from '../../packages/agent/src/cli/verify.ts';
import { checkBundle } from '../../packages/agent/src/cli/verify-bundle.ts';
import { Guard, ServerSink } from '../../packages/agent/src/index.ts';
import type { Caller } from '../../src/http/contract/call.ts';
import { BundleWriter, bundleType } from '../../src/run/rules/decision-bundle.ts';
import { renderMicros } from '../../src/shared/instant.ts';
import { canonicalJson } from '../../src/shared/json/canonical.ts';
import { envelopeBytes } from '../../src/signing/rules/envelope.ts';
import { makeHub, type OperatorCaller, type TestHub, type UserCaller } from '../harness.ts';

let t: TestHub;
let user: UserCaller;
let agent: Extract<Caller, { kind: 'hostedKey' }>;
let viewer: OperatorCaller;
beforeEach(async () => {
  t = await makeHub();
  user = await t.tenant();
  agent = { ...t.key(user), kind: 'hostedKey', env: null };
  viewer = t.operator(user, 'viewer');
});
afterEach(() => t.close());

const at = (ms = 0): string => renderMicros(t.clock.now() + ms);
const event = (i: number, more: object = {}) => ({
  call_id: `c${i}`,
  tool_name: 'read_file',
  tool_args: { path: `/${i}`, n: 1.5 },
  action: 'call_allowed',
  timestamp: at(i),
  session_id: 's1',
  ...more,
});
const ingest = (events: readonly object[]) => t.call('hostedIngestEvents', { body: { events } }, agent);
const params = { agent_id: 'agent-1', session_id: 's1' };
const bundle = (
  query: { [name: string]: string } = {},
  as: Caller = viewer,
  headers: { [name: string]: string } = {},
) => t.call('hostedRunBundle', { params, query }, as, { headers });
const pinned = async () => [(await t.hub.store.signing.getActive(user.tenantId))?.publicKey ?? ''];
type Envelope = Awaited<ReturnType<typeof bundle>>['body'];
const payloadOf = ({ payload }: Envelope) => JSON.parse(Buffer.from(payload, 'base64').toString());

describe('a decision bundle', () => {
  it('with half of a surrogate pair in an event can be verified', async () => {
    const half = '\ud83d';
    const args = { [half]: half, '\\ud83d': 1, list: [{ a: `x${half}` }], whole: '😀' };
    await ingest([event(1, { tool_args: args, reason: half, workflow: { name: half } }), event(2)]);
    const { body } = await bundle();
    expect(await checkBundle(body, await pinned())).toMatchObject({ wrong: null });
    expect(payloadOf(body).events[0]).toMatchObject({
      tool_args: { '\\ud83d~': '\\ud83d', '\\ud83d': 1, list: [{ a: 'x\\ud83d' }], whole: '😀' },
      reason: '\\ud83d',
    });
  });

  it('holds the run: events in order, approvals, totals, and what they were judged by', async () => {
    await ingest([
      event(2, { action: 'call_blocked', policy_version: 'f'.repeat(64) }),
      event(1, { digest: 'x', prev: 'y' }),
    ]);
    const asked = { tool_name: 'deploy', message: 'May I?', session_id: 's1', agent_id: 'agent-1' };
    await t.call('createApproval', { body: asked }, t.key(user));
    const { body, headers } = await bundle();
    expect(await checkBundle(body, await pinned())).toMatchObject({ wrong: null });
    expect(headers['Content-Disposition']).toBe('attachment; filename="decision-bundle-agent-1-s1.json"');
    const payload = payloadOf(body);
    expect(payload).toMatchObject({
      schema: 'service.decision-bundle/v1',
      workspace_id: user.tenantId,
      agent_id: 'agent-1',
      session_id: 's1',
      event_count: 2,
      first_event_at: at(1),
      last_event_at: at(2),
      status: 'approval_pending',
      rulesets: [{ policy_version: 'f'.repeat(64), name: null }],
      approvals: [{ tool_name: 'deploy', status: 'pending', effective_action: null }],
      totals: { allow: 1, block: 1 },
      redaction: { client_side: true },
    });
    expect(payload.events.map((one: { call_id: string }) => one.call_id)).toEqual(['c1', 'c2']);
    expect(payload.events[0].prev).toBe('');
    expect(payload.events[1].prev).toBe(payload.events[0].digest);
    // The exact bytes are canonical.
    expect(Buffer.from(body.payload, 'base64').toString()).toBe(canonicalJson(payload));
  });

  it('of the longest agent id that an event can have, in letters of three bytes, can be verified', async () => {
    const agent_id = '代'.repeat(255);
    await ingest([event(1, { agent_id })]);
    const run = { agent_id: agent_id, session_id: 's1' };
    const { body } = await t.call('hostedRunBundle', { params: run, query: {} }, viewer);
    expect(await checkBundle(body, await pinned())).toMatchObject({ wrong: null });
    expect(payloadOf(body)).toMatchObject({ agent_id: run.agent_id, event_count: 1 });
  });

  it('of an agent that the library governs holds each of its calls, and how it ended', async () => {
    const yaml = `apiVersion: service/v1
kind: ContractBundle
metadata: { name: guardrails }
defaults: { mode: enforce }
contracts:
  - { id: no-env, type: pre, tool: read, when: { args.path: { contains: .env } }, then: { effect: deny, message: "no" } }
`;
    const key = t.key(user);
    const post = (events: readonly object[]) => t.call('ingestEvents', { body: { events } }, key);
    const agentId = key.agentId ?? '';
    const guard = Guard.fromYaml(yaml, {
      openTelemetry: null,
      sessionId: 'run-1',
      sinks: [new ServerSink({ post, agentId, batchSize: 4 })],
    });
    for (let i = 0; i < 11; i++) {
      await guard.run('read', { path: i === 7 ? '.env' : `${i}` }, () => 'text').catch(() => {});
    }
    await guard.close();
    const { body: list } = await t.call('hostedListRuns', { query: {} }, viewer);
    expect(list.runs).toMatchObject([
      { agent_id: agentId, session_id: 'run-1', counts: { calls: 11, blocked: 1 } },
    ]);
    const run = { agent_id: agentId, session_id: 'run-1' };
    const { body } = await t.call('hostedRunBundle', { params: run, query: {} }, viewer);
    expect((await checkBundle(body, await pinned())).wrong).toBeNull();
    const { events } = payloadOf(body);
    expect(events).toHaveLength(11);
    expect(events[7]).toMatchObject({
      action: 'call_blocked',
      call_index: 7,
      conditions: [
        { path: 'args.path', operator: 'contains', expected: '.env', actual: '.env', result: 'yes' },
      ],
    });
    expect(events[8]).toMatchObject({
      action: 'call_allowed',
      run_id: 'run-1',
      outcomes: [{ action: 'call_executed', tool_success: true, duration_ms: expect.any(Number) }],
    });
  });

  it('has events of one time in the order of arrival, however many', async () => {
    for (let batch = 0; batch < 3; batch++) {
      const all = Array.from({ length: 90 }, (_, i) => event(90 * batch + i, { timestamp: at(i % 2) }));
      await ingest(all.reverse());
    }
    const { body } = await bundle();
    expect((await checkBundle(body, await pinned())).wrong).toBeNull();
    const places = payloadOf(body).events.map(({ timestamp, seq }: { timestamp: string; seq: number }) => ({
      timestamp,
      seq,
    }));
    expect(places).toHaveLength(270);
    const order = (a: { seq: number; timestamp: string }, b: typeof a) =>
      a.timestamp < b.timestamp ? -1 : a.timestamp > b.timestamp ? 1 : a.seq - b.seq;
    expect(places).toEqual([...places].sort(order));
  });

  it('is the same for the same content, and is not sent to who has it', async () => {
    await ingest([event(1)]);
    const first = await bundle();
    t.clock.advance(5000);
    const second = await bundle();
    expect(second.body.payload).toBe(first.body.payload);
    expect(second.body.signatures).toEqual(first.body.signatures);
    const known = await bundle({}, viewer, { 'if-none-match': first.headers.ETag ?? '' });
    expect(known.status).toBe(304);
    const weakened = await bundle({}, viewer, { 'if-none-match': `"other", W/${first.headers.ETag}` });
    expect(weakened.status).toBe(304);
    await ingest([event(2)]);
    expect((await bundle()).body.payload).not.toBe(first.body.payload);
  });

  it('checks with a key that was replaced since', async () => {
    await ingest([event(1)]);
    const old = await pinned();
    const { body } = await bundle();
    await t.call('rotateSigningKey', { body: {} }, user);
    expect((await checkBundle(body, old)).wrong).toBeNull();
    expect((await checkBundle(body, await pinned())).wrong).toMatch(/not signed by a trusted key/);
  });

  it('may be asked for in parts; one that would be too large names them', async () => {
    await ingest(Array.from({ length: 6 }, (_, i) => event(i)));
    const { events } = payloadOf((await bundle()).body);
    const seqs = events.map((one: { seq: number }) => one.seq);
    const part = (await bundle({ from_seq: String(seqs[2]), to_seq: String(seqs[4]) })).body;
    expect(payloadOf(part)).toMatchObject({ event_count: 3, from_seq: seqs[2], to_seq: seqs[4] });
    expect((await checkBundle(part, await pinned())).wrong).toBeNull();
    const large = { text: 'x'.repeat(60_000) };
    for (let i = 0; i < 3; i++) {
      await ingest(Array.from({ length: 50 }, (_, n) => event(100 + i * 50 + n, { tool_args: large })));
    }
    const refusal = await bundle().catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: 'response_too_large', detail: { reason: 'run_too_large' } });
    const named = [...String((refusal as Error).message).matchAll(/from_seq=(\d+)&to_seq=(\d+)/g)];
    expect(named.length).toBeGreaterThan(1);
    let count = 0;
    for (const [, from_seq = '', to_seq = ''] of named)
      count += payloadOf((await bundle({ from_seq, to_seq })).body).event_count;
    expect(count).toBe(156);
  });

  it('of a part follows the part before', async () => {
    await ingest(Array.from({ length: 4 }, (_, i) => event(i)));
    const { events } = payloadOf((await bundle()).body);
    const to_seq = String(events[1].seq);
    const first = payloadOf((await bundle({ to_seq })).body);
    expect(first).toMatchObject({ event_count: 2, prev_head: '' });
    const { body } = await bundle({ from_seq: String(events[2].seq), prev_head: first.chain_head });
    expect((await checkBundle(body, await pinned())).wrong).toBeNull();
    const second = payloadOf(body);
    expect(second).toMatchObject({ event_count: 2, prev_head: first.chain_head });
    expect(second.events[0].prev).toBe(first.events[1].digest);
    // Parts that were cut where time and arrival agree are the whole.
    expect(second.chain_head).toBe(payloadOf((await bundle()).body).chain_head);
    const none = { from_seq: String(events[3].seq + 1), prev_head: first.chain_head };
    expect(payloadOf((await bundle(none)).body)).toMatchObject({ events: [], chain_head: first.chain_head });
    await expect(bundle({ prev_head: 'A'.repeat(64) })).rejects.toMatchObject({ code: 'validation_failed' });
  });

  it('in parts is checked as a run: each file follows the one before it', async () => {
    await ingest(Array.from({ length: 6 }, (_, i) => event(i)));
    const { events } = payloadOf((await bundle()).body);
    const folder = mkdtempSync(join(tmpdir(), 'reeve-parts-'));
    let prev_head = '';
    const files = [];
    for (const i of [0, 2, 4]) {
      const range = { from_seq: String(events[i].seq), to_seq: String(events[i + 1].seq) };
      const { body } = await bundle({ ...range, ...(prev_head === '' ? {} : { prev_head }) });
      prev_head = payloadOf(body).chain_head;
      const file = join(folder, `${i}.json`);
      writeFileSync(file, JSON.stringify(body));
      files.push(file);
    }
    const key = (await pinned()).join();
    const [first = '', second = '', third = ''] = files;
    expect(await verifyCommand.run(['--key', key, first, second, third])).toBe(0);
    expect(await verifyCommand.run(['--key', key, second, third])).toBe(0);
    expect(await verifyCommand.run(['--key', key, first, third])).toBe(1);
    const written = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    const code = await verifyCommand.run(['--json', '--key', key, first, third]);
    const text = written.mock.calls.join('');
    written.mockRestore();
    expect({ code, outcomes: JSON.parse(text) }).toEqual({
      code: 1,
      outcomes: [
        { file: first, line: null, ok: true, message: expect.stringMatching(/^2 events from agent agent-1/) },
        { file: third, line: null, ok: false, message: expect.stringMatching(/^does not follow the part/) },
      ],
    });
    rmSync(folder, { recursive: true });
  });

  it('holds approvals whole, the newest that there is room for', async () => {
    await ingest([event(1)]);
    const ask = async (n: number, bytes: number) => {
      t.clock.advance(7000);
      const tool_args = { n, text: 'x'.repeat(bytes) };
      const body = {
        tool_name: 'deploy',
        message: 'May I?',
        session_id: 's1',
        agent_id: 'agent-1',
        tool_args,
      };
      return (await t.call('hostedCreateApproval', { body }, agent)).body;
    };
    await ask(0, 10_000);
    const small = payloadOf((await bundle()).body);
    expect(small).toMatchObject({ approvals: [{ tool_args: { n: 0 } }], approvals_left_out: 0 });
    expect(small.approvals[0].tool_args.text).toHaveLength(10_000);
    for (let n = 1; n <= 30; n++) await ask(n, 60_000);
    const { approvals, approvals_left_out } = payloadOf((await bundle()).body);
    expect(approvals_left_out).toBeGreaterThan(0);
    expect(approvals.length + approvals_left_out).toBe(31);
    expect(approvals.at(-1).tool_args.n).toBe(30);
    expect(approvals[0].tool_args.n).toBe(approvals_left_out);
    expect(approvals[0].tool_args.text).toHaveLength(60_000);
  });

  it('is signed for no run that lost events to a purge', async () => {
    await ingest([event(1)]);
    t.clock.advance(3_600_001);
    await ingest([event(2)]);
    expect((await bundle()).body.signatures).toHaveLength(1);
    const { body } = await t.call('purgeEvents', { query: { older_than_hours: '1' } }, user);
    expect(body).toMatchObject({ deleted_count: 1 });
    await expect(bundle()).rejects.toMatchObject({ code: 'not_found', message: /a purge removed records/ });
  });

  it('is of one workspace, for who may read it', async () => {
    await ingest([event(1)]);
    const stranger = t.operator(await t.tenant(), 'admin');
    await expect(bundle({}, stranger)).rejects.toMatchObject({ code: 'not_found' });
    await expect(
      t.call('hostedRunBundle', { params: { ...params, session_id: 'none' } }, viewer),
    ).rejects.toMatchObject({
      code: 'not_found',
    });
  });
});

describe('the offline check', () => {
  const changed = (body: Envelope, change: (payload: string) => string): Envelope => ({
    ...body,
    payload: Buffer.from(change(Buffer.from(body.payload, 'base64').toString())).toString('base64'),
  });

  it('says what is wrong where', async () => {
    await ingest([event(1), event(2), event(3)]);
    const { body } = await bundle();
    const keys = await pinned();
    const touched = changed(body, (text) => text.replace('"/2"', '"/9"'));
    expect((await checkBundle(touched, keys)).wrong).toMatch(/payload was changed/);
    // Without a key it is the chain that tells.
    expect((await checkBundle(touched, [])).wrong).toBe('event 2 was changed');
    const cut = changed(body, (text) => {
      const payload = JSON.parse(text);
      payload.events.splice(1, 1);
      return JSON.stringify(payload);
    });
    expect((await checkBundle(cut, [])).wrong).toBe('event 2 does not follow the event before it');
    expect((await checkBundle({ ...body, public_key: 'f'.repeat(64) }, keys)).wrong).toBeNull();
    expect((await checkBundle(body, ['a'.repeat(64)])).wrong).toMatch(/not signed by a trusted key|changed/);
    expect((await checkBundle({ payload: 1 }, keys)).wrong).toMatch(/not a decision bundle/);
    expect((await checkBundle({ ...body, payload: '%' }, [])).wrong).toMatch(/not base64/);
  });
});

describe('the form of a bundle', () => {
  const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

  it('is signed as the specification says', () => {
    const secrets = createSecrets('s'.repeat(32));
    const seed = Uint8Array.from({ length: 32 }, (_, i) => i);
    const payload =
      '{"agent_id":"sample-agent","schema":"service.decision-bundle/v1","session_id":"sample-session"}';
    const hex = secrets.sign(seed, envelopeBytes(bundleType, Buffer.from(payload)));
    expect(Buffer.from(hex, 'hex').toString('base64')).toBe(
      'AkYfWKQT2AZ78JLybe6tX5hzQr6FsiNw4ghKcJCSO0+hPmv++3vfUdK6+ZTDYXbMUmOA2/j2M6khpdoWnFudCw==',
    );
  });

  it('an event cut in pieces is its canonical JSON again, with digest and prev in their places', () => {
    const events = [{ a: 1, digest: 'mine', e: 2, prev: 'mine', z: 3 }, {}, { q: [1] }];
    const written = (all: typeof events) => {
      const bundle = new BundleWriter({ approvals: ['ü'] }, '', sha256);
      for (const one of all) bundle.add(one);
      return bundle.finish({ zz: 'é', aa: 2 });
    };
    const text = (all: typeof events) => Buffer.from(written(all).payload).toString();
    const parsed = JSON.parse(text(events));
    expect(canonicalJson(parsed)).toBe(text(events));
    const [first, second, third] = parsed.events;
    expect(first).toEqual({ a: 1, e: 2, z: 3, prev: '', digest: sha256('{"a":1,"e":2,"prev":"","z":3}') });
    expect([second.prev, third.prev, parsed.chain_head]).toEqual([first.digest, second.digest, third.digest]);
    expect(text([])).toBe(
      '{"aa":2,"approvals":["ü"],"chain_head":"","events":[],"schema":"service.decision-bundle/v1","zz":"é"}',
    );
    const { payload, signed } = written(events);
    expect(Buffer.from(signed)).toEqual(Buffer.from(envelopeBytes(bundleType, payload)));
  });

  it('grows with its events, and keeps what was written', () => {
    const bundle = new BundleWriter({}, '', sha256);
    const events = Array.from({ length: 3000 }, (_, n) => ({ n, text: 'é'.repeat(n % 700) }));
    let bytes = 0;
    for (const event of events) bytes += bundle.add(event);
    const { payload } = bundle.finish({});
    const parsed = JSON.parse(Buffer.from(payload).toString());
    expect(parsed.events.map(({ n, text }: (typeof events)[number]) => ({ n, text }))).toEqual(events);
    expect(canonicalJson(parsed)).toBe(Buffer.from(payload).toString());
    expect(bytes).toBeGreaterThanOrEqual(payload.length - 200);
  });

  it('refuses fields in front that there is no room for', () => {
    const bundle = new BundleWriter({}, '', sha256);
    expect(() => bundle.finish({ aa: 'x'.repeat(1000) })).toThrow(/spare room/);
  });
});
