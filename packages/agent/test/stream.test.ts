// The stream follower and the live bundle against a loopback hub: parsing, reconnecting, checking, swapping,
// remembering, reporting.
import { generateKeyPairSync, sign } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BundleCache } from '../src/bundle/cache.ts';
import { type AppliedBundle, LiveBundle, type LiveBundleOptions } from '../src/bundle/live.ts';
import { Pins } from '../src/bundle/pins.ts';
import { sha256 } from '../src/bundle/signature.ts';
import { ConfigurationError } from '../src/failure.ts';
import { type FetchedBundle, HubClient, noProvenance } from '../src/hub.ts';
import { SseParser } from '../src/stream/sse.ts';
import { sseTransport } from '../src/stream/transport.ts';
import { approvalRequest, FakeHub } from './fake-hub.ts';
import { ManualClock, until } from './manual-clock.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

describe('the event parser', () => {
  const text =
    ': hello\n\nid: 1-0\nevent: a\ndata: {"x":1}\n\nevent:b\r\ndata: one\r\ndata:two\r\n\r\nid: 2-0\rdata: ü😀\r\r: keepalive\n\ndata: cut off';
  const frames = [
    { id: '1-0', event: 'a', data: '{"x":1}' },
    { id: null, event: 'b', data: 'one\ntwo' },
    { id: '2-0', event: '', data: 'ü😀' },
  ];

  it('reads the same frames however the bytes are cut', () => {
    const all = bytes(text);
    fc.assert(
      fc.property(fc.array(fc.nat(all.length), { maxLength: 12 }), (cuts) => {
        const at = [0, ...cuts.sort((a, b) => a - b), all.length];
        const parser = new SseParser();
        const got = at.slice(1).flatMap((end, i) => parser.push(all.subarray(at[i], end)));
        expect(got).toEqual(frames);
      }),
    );
  });

  it('refuses a frame above its limit, in one line or in many', () => {
    expect(() => new SseParser(100).push(bytes(`data: ${'x'.repeat(101)}`))).toThrow(RangeError);
    expect(() => new SseParser(100).push(bytes('data: xxxxxxxxxx\n'.repeat(11)))).toThrow(RangeError);
    expect(new SseParser(100).push(bytes('data: xxxxxxxxxx\n\n'.repeat(50)))).toHaveLength(50);
  });

  it('takes megabytes in small pieces in little time', () => {
    const parser = new SseParser();
    const piece = bytes('x'.repeat(64));
    const start = performance.now();
    parser.push(bytes('data: '));
    for (let n = 0; n < 60_000; n++) parser.push(piece);
    expect(parser.push(bytes('\n\n'))[0]?.data).toHaveLength(3_840_000);
    // A minute and more while each piece copied all those before it.
    expect(performance.now() - start).toBeLessThan(10_000);
  });
});

const pair = () => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const hex = publicKey.export({ format: 'der', type: 'spki' }).subarray(12).toString('hex');
  return { hex, sign: (yaml: string) => sign(null, Buffer.from(yaml), privateKey) };
};
type Pair = ReturnType<typeof pair>;

const update = (yaml: string, extra: object = {}, key?: Pair) => ({
  bundle_name: 'guardrails',
  version: 1,
  revision_hash: sha256(Buffer.from(yaml)),
  signature: key ? key.sign(yaml).toString('hex') : null,
  public_key: key?.hex ?? null,
  yaml_bytes: Buffer.from(yaml).toString('base64'),
  ...extra,
});

let hub: FakeHub;
let clock: ManualClock;
let folder: string;
let open: LiveBundle<string>[];

beforeEach(async () => {
  clock = new ManualClock();
  open = [];
  hub = await new FakeHub().start();
  hub.on('GET /stream', () => 'stream');
  hub.on('POST /agents/report', { body: {} });
  folder = await mkdtemp(join(tmpdir(), 'stream-'));
});
afterEach(async () => {
  await Promise.all(open.map((live) => live.close()));
  await hub.stop();
  await rm(folder, { recursive: true });
});

const serve = (name: string, yaml: string, extra: object = {}, key?: Pair): FakeHub =>
  hub.on(`GET /bundles/${name}/current`, {
    body: { ...update(yaml, extra, key), bundle_name: undefined, name },
  });

function live(extra: Partial<LiveBundleOptions<string>> = {}, url = hub.url) {
  const errors: string[] = [];
  const applied: AppliedBundle<string>[] = [];
  const client = new HubClient({ url, apiKey: 'key', agentId: 'agent-1', clock });
  const bundle = new LiveBundle<string>({
    hub: client,
    transport: sseTransport(fetch),
    compile: (yaml) => {
      const text = Buffer.from(yaml).toString();
      if (text.includes('broken')) throw new Error('does not compile');
      return text;
    },
    bundleName: 'guardrails',
    tags: {},
    signing: 'off',
    pins: new Pins({ url, account: client.http.account }, join(folder, 'reeve-pins')),
    cache: null,
    onApplied: (next) => applied.push(next),
    onError: (failure, what) => errors.push(`${what}: ${String(failure)}`),
    ...extra,
  });
  open.push(bundle);
  const runs = (): string | undefined => bundle.current?.compiled;
  return { bundle, client, errors, applied, runs };
}

const cacheFor = (configured: string | null = 'guardrails', url = hub.url): BundleCache =>
  new BundleCache(join(folder, 'cache.json'), { url, env: 'production', configured });

/** Runs a start that needs the hub's retries (0.5 s and 1 s) to pass. */
async function whileAway<T>(start: Promise<T>): Promise<T> {
  start.catch(() => {});
  for (const wait of [500, 1000]) {
    await clock.asked(wait);
    clock.advance(wait);
  }
  return start;
}

/** Without `trace`: files that share this process may have made it trace. */
function queryOf({ request }: { readonly request: { readonly query: Iterable<readonly [string, string]> } }) {
  const { trace: _, ...query } = Object.fromEntries(request.query);
  return query;
}

describe('a live bundle', () => {
  it('starts from the current bundle, follows with name and version, and reports', async () => {
    serve('guardrails', 'one');
    const { bundle, runs } = live({ tags: { team: 'blue' } });
    await bundle.start();
    const stream = await hub.stream();
    expect(runs()).toBe('one');
    expect(queryOf(stream)).toEqual({
      env: 'production',
      documents: 'any',
      isolation: '1',
      bundle_name: 'guardrails',
      policy_version: sha256(Buffer.from('one')),
      tags: '{"team":"blue"}',
    });
    expect(stream.request.headers['x-service-agent-id']).toBe('agent-1');
    await until(() => hub.seen('POST /agents/report').length === 1);
    expect(hub.seen('POST /agents/report')[0]?.body).toEqual({
      bundle_name: 'guardrails',
      policy_version: sha256(Buffer.from('one')),
    });
  });

  it('swaps to what is pushed for its bundle and leaves others alone', async () => {
    serve('guardrails', 'one');
    const { bundle, runs, applied } = live();
    await bundle.start();
    const stream = await hub.stream();
    stream.send('contract_update', update('other', { bundle_name: 'another' }));
    stream.send('bundle_uploaded', { bundle_name: 'guardrails' });
    stream.send('contract_update', update('two', { version: 2 }));
    await until(() => runs() === 'two');
    expect(applied.map((next) => next.compiled)).toEqual(['one', 'two']);
    expect(bundle.current).toMatchObject({ version: 2, policyVersion: sha256(Buffer.from('two')) });
    await until(() => hub.seen('POST /agents/report').length === 2);
  });

  it('keeps what it runs when a push does not compile, has a wrong hash, or no YAML', async () => {
    serve('guardrails', 'one');
    const { bundle, runs, errors } = live();
    await bundle.start();
    const stream = await hub.stream();
    stream.send('contract_update', update('broken'));
    stream.send('contract_update', update('two', { revision_hash: sha256(Buffer.from('three')) }));
    stream.send('contract_update', { bundle_name: 'guardrails' });
    stream.write('event: contract_update\ndata: {not json\n\n');
    await until(() => errors.length === 4);
    expect(runs()).toBe('one');
    expect(errors.join('\n')).toMatch(
      /does not compile[\s\S]*does not match its revision hash[\s\S]*no yaml_bytes/,
    );
    expect(hub.seen('POST /agents/report').length).toBeLessThan(2);
  });

  it('follows an assignment to another bundle, and switches only once it has it', async () => {
    serve('guardrails', 'one');
    const { bundle, runs, errors } = live();
    await bundle.start();
    const stream = await hub.stream();
    stream.send('assignment_changed', { agent_id: 'agent-1', bundle_name: null, source: 'none' });
    stream.send('assignment_changed', { agent_id: 'agent-2', bundle_name: 'strict', source: 'rule' });
    stream.send('assignment_changed', { agent_id: 'agent-1', bundle_name: 'strict', source: 'rule' });
    await until(() => errors.length === 1);
    expect(bundle.current?.bundleName).toBe('guardrails');
    stream.send('contract_update', update('strict one', { bundle_name: 'strict' }));
    await until(() => runs() === 'strict one');
    stream.end();
    clock.advance(1500);
    await clock.asked(1500);
    clock.advance(1500);
    expect((await hub.stream(1)).request.query.get('bundle_name')).toBe('strict');
    serve('third', 'three');
    (await hub.stream(1)).send('assignment_changed', {
      agent_id: 'agent-1',
      bundle_name: 'third',
      source: 'rule',
    });
    await until(() => runs() === 'three');
    expect(bundle.current?.bundleName).toBe('third');
  });

  it('keeps the bundle of an assignment that changed while the stream was away', async () => {
    serve('first', 'one');
    const { bundle, runs, applied } = live({ bundleName: null });
    const started = bundle.start();
    (await hub.stream()).send('assignment_changed', { agent_id: 'agent-1', bundle_name: 'first' });
    await started;
    const endStream = async (stream: { end(): void }, wait: number): Promise<void> => {
      stream.end();
      await clock.asked(wait);
      clock.advance(wait);
    };
    await endStream(await hub.stream(), 1500);
    const second = await hub.stream(1);
    second.send('contract_update', update('two', { bundle_name: 'second' }));
    await until(() => runs() === 'two');
    await endStream(second, 3000);
    const third = await hub.stream(2);
    third.send('contract_update', update('three', { bundle_name: 'second', version: 2 }));
    await until(() => runs() === 'three');
    expect(applied.map((one) => one.compiled)).toEqual(['one', 'two', 'three']);
  });

  it('fetches an assigned bundle again until the hub can answer, also on a stream that lives', async () => {
    serve('guardrails', 'one');
    const { bundle, runs, errors } = live();
    await bundle.start();
    const stream = await hub.stream();
    hub.on('GET /bundles/strict/current', { status: 429, body: {}, headers: { 'Retry-After': '7' } });
    stream.send('assignment_changed', { agent_id: 'agent-1', bundle_name: 'strict', source: 'rule' });
    await clock.asked(7000);
    expect(errors).toEqual([expect.stringMatching(/^a new assignment: .*429/)]);
    clock.advance(7000);
    await clock.asked(7000);
    serve('strict', 'strict one');
    clock.advance(7000);
    await until(() => runs() === 'strict one');
    expect(hub.streams).toHaveLength(1);
    const { pending } = clock;
    await bundle.close();
    expect(clock.pending).toBeLessThan(pending);
  });

  it('fetches again what it could not fetch on resync, unless a push comes before', async () => {
    serve('guardrails', 'one');
    const { bundle, runs, errors } = live();
    await bundle.start();
    const stream = await hub.stream();
    hub.on('GET /bundles/guardrails/current', { status: 429, body: {} });
    stream.send('resync', {});
    await clock.asked(1500);
    clock.advance(1500);
    await clock.asked(3000);
    expect(errors).toHaveLength(2);
    stream.send('contract_update', update('two', { version: 2 }));
    await until(() => runs() === 'two');
    serve('guardrails', 'three');
    const fetches = hub.seen('GET /bundles/guardrails/current').length;
    clock.advance(60_000);
    stream.send('contract_update', update('four', { version: 4 }));
    await until(() => runs() === 'four');
    expect(hub.seen('GET /bundles/guardrails/current')).toHaveLength(fetches);
  });

  it('lets the hub assign: names no bundle and starts with the first push', async () => {
    const { bundle, runs } = live({ bundleName: null });
    const started = bundle.start();
    const stream = await hub.stream();
    expect(queryOf(stream)).toEqual({ env: 'production', documents: 'any', isolation: '1' });
    stream.send('contract_update', update('assigned', { bundle_name: 'strict' }));
    await started;
    expect(runs()).toBe('assigned');
    expect(clock.waits).toContain(30_000);
  });

  it('fails to start when nothing is assigned within 30 seconds', async () => {
    const { bundle } = live({ bundleName: null });
    const started = bundle.start().catch((failure: unknown) => failure);
    await hub.stream();
    clock.advance(30_000);
    expect(await started).toBeInstanceOf(ConfigurationError);
  });

  it('says why nothing was assigned: the hub could not be reached', async () => {
    const { url } = hub;
    await hub.stop();
    const { bundle, errors } = live({ bundleName: null }, url);
    const started = bundle.start().catch((failure: unknown) => failure);
    await until(() => errors.length > 0);
    clock.advance(30_000);
    const failure = await started;
    expect(failure).toBeInstanceOf(ConfigurationError);
    expect(String(failure)).toContain('cannot reach the hub: ECONNREFUSED');
    await hub.start();
  });

  it('says why nothing was assigned: what was pushed cannot be used', async () => {
    const { bundle, errors } = live({ bundleName: null });
    const started = bundle.start().catch((failure: unknown) => failure);
    (await hub.stream()).send('contract_update', update('broken'));
    await until(() => errors.length > 0);
    clock.advance(30_000);
    expect(String(await started)).toContain('no bundle is usable: does not compile');
  });

  it('ends a start at once when the hub refuses it, also with a bundle on disk', async () => {
    const first = live({ bundleName: null, cache: cacheFor(null) });
    const started = first.bundle.start();
    (await hub.stream()).send('contract_update', update('assigned'));
    await started;
    await first.bundle.close();
    hub.on('GET /stream', { status: 401, body: { detail: 'revoked' } });
    for (const cache of [null, cacheFor(null)]) {
      await expect(live({ bundleName: null, cache }).bundle.start()).rejects.toThrow('revoked');
    }
  });

  it('fetches the bundle again on resync', async () => {
    serve('guardrails', 'one');
    const { bundle, runs } = live();
    await bundle.start();
    serve('guardrails', 'two');
    (await hub.stream()).send('resync', { reason: 'position_gone' }, '9-0');
    await until(() => runs() === 'two');
  });

  it('hands pushed decisions to who waits for them', async () => {
    serve('guardrails', 'one');
    hub.on('POST /approvals', { status: 201, body: { id: 'a1', status: 'pending' } });
    hub.on('GET /approvals/a1', { body: { id: 'a1', status: 'pending' } });
    const { bundle, client } = live();
    await bundle.start();
    const pending = await client.approvals.request(approvalRequest());
    (await hub.stream()).send('approval_decided', {
      approval_id: 'a1',
      status: 'approved',
      decided_by: 'ann',
    });
    expect(await pending.outcome()).toMatchObject({ status: 'approved', decidedBy: 'ann' });
  });
});

describe('reconnecting', () => {
  const started = async (extra: Partial<LiveBundleOptions<string>> = {}) => {
    serve('guardrails', 'one');
    const all = live(extra);
    await all.bundle.start();
    return all;
  };

  it('asks what was decided while no stream was open', async () => {
    const { client } = await started();
    const first = await hub.stream();
    let status = 'pending';
    hub.on('POST /approvals', { status: 201, body: { id: 'a1', status } });
    hub.on('GET /approvals/a1', () => ({ body: { id: 'a1', status } }));
    const outcome = (await client.approvals.request(approvalRequest())).outcome();
    first.end();
    status = 'denied';
    await clock.asked(1500);
    clock.advance(1500);
    expect(await outcome).toMatchObject({ status: 'denied' });
  });

  it('goes on from the last position it was given', async () => {
    const { runs } = await started();
    const first = await hub.stream();
    first.send('contract_update', update('two'), '5-1');
    await until(() => runs() === 'two');
    first.end();
    await clock.asked(1500);
    clock.advance(1500);
    const next = await hub.stream(1);
    expect(next.request.headers['last-event-id']).toBe('5-1');
    expect(next.request.query.get('policy_version')).toBe(sha256(Buffer.from('two')));
  });

  it('waits from 1 to 60 s with jitter, longer each time, and from 1 s again after 30 s of connection', async () => {
    const { bundle, errors } = await started();
    const first = await hub.stream();
    hub.on('GET /stream', { status: 401, body: { detail: 'revoked' } });
    first.end();
    const waits = [1500, 3000, 6000, 12_000, 24_000, 45_000, 45_000];
    for (const [n, wait] of waits.entries()) {
      await clock.asked(wait);
      if (n === waits.length - 1) hub.on('GET /stream', () => 'stream');
      clock.advance(wait);
    }
    expect(errors).toHaveLength(waits.length - 1);
    expect(errors[0]).toContain('401');
    const second = await hub.stream(1);
    await until(() => bundle.connected);
    clock.advance(30_000);
    second.end();
    await clock.asked(1500);
  });

  it('waits at least as long as the hub asks, within a minute', async () => {
    await started();
    const stream = await hub.stream();
    hub.on('GET /stream', { status: 503, headers: { 'Retry-After': '20' } });
    stream.end();
    await clock.asked(1500);
    clock.advance(1500);
    await clock.asked(20_000);
  });

  it('gives up a connection that was silent for 120 s, but not one with keepalives', async () => {
    const { bundle, errors } = await started();
    const stream = await hub.stream();
    await until(() => bundle.connected);
    clock.advance(119_000);
    stream.send('contract_update', update('two'));
    await until(() => bundle.current?.compiled === 'two');
    clock.advance(119_000);
    expect(errors).toEqual([]);
    clock.advance(1000);
    await until(() => errors.length === 1);
    expect(errors[0]).toContain('no data for 120000 ms');
    await until(() => stream.closed);
  });

  it('ends when closed, while connected and while waiting', async () => {
    const { bundle } = await started();
    const stream = await hub.stream();
    await bundle.close();
    await until(() => stream.closed);
    const waiting = await started();
    (await hub.stream(1)).end();
    await clock.asked(1500);
    await waiting.bundle.close();
    await until(() => clock.pending === 0, 'the end of all timers');
  });
});

describe('signatures', () => {
  it('accepts hex and base64 by a pinned key', async () => {
    const key = pair();
    serve('guardrails', 'one', { signature: key.sign('one').toString('base64') }, key);
    const { bundle, runs } = live({ signing: [pair().hex, key.hex] });
    await bundle.start();
    expect(runs()).toBe('one');
    (await hub.stream()).send('contract_update', update('two', {}, key));
    await until(() => runs() === 'two');
  });

  it.each([
    ['no signature', { signature: null }],
    ['a signature of something else', { signature: 'ab'.repeat(64) }],
    ['no signature at all, but text', { signature: 'nonsense' }],
  ])('refuses an update with %s, and says so', async (_name, extra) => {
    const key = pair();
    serve('guardrails', 'one', {}, key);
    const { bundle, runs, errors } = live({ signing: [key.hex] });
    await bundle.start();
    const stream = await hub.stream();
    stream.send('contract_update', update('two', extra));
    await until(() => errors.length === 1);
    expect(errors[0]).toMatch(/BundleRejectedError/);
    expect(runs()).toBe('one');
  });

  it('trusts the first key it sees and no other, also after a restart', async () => {
    const key = pair();
    const other = pair();
    serve('guardrails', 'one', {}, key);
    const first = live({ signing: 'first-seen', cache: cacheFor() });
    await first.bundle.start();
    (await hub.stream()).send('contract_update', update('two', {}, other));
    await until(() => first.errors.length === 1);
    expect(first.runs()).toBe('one');
    await first.bundle.close();
    serve('guardrails', 'two', {}, other);
    const second = live({ signing: 'first-seen', cache: cacheFor() });
    await second.bundle.start();
    expect(second.runs()).toBe('one');
    expect(second.errors[0]).toContain('not signed by a trusted key');
  });

  it('does not start on an unsigned bundle', async () => {
    serve('guardrails', 'one');
    await expect(live({ signing: 'first-seen' }).bundle.start()).rejects.toThrow(ConfigurationError);
  });
});

describe('the isolation of programs', () => {
  const current = 'GET /bundles/guardrails/current';
  const withHeader = (isolation: string) =>
    hub.on(current, {
      body: { ...update('one'), name: 'guardrails' },
      headers: { 'X-Reeve-Isolation': isolation },
    });

  it('is none until the hub names a mode: with the bundle, and then on the stream', async () => {
    serve('guardrails', 'one');
    const { bundle } = live();
    expect(bundle.isolation).toBe('none');
    await bundle.start();
    const stream = await hub.stream();
    expect(bundle.isolation).toBe('none');
    for (const isolation of ['required', 'preferred', 'none']) {
      stream.send('isolation_changed', { isolation });
      await until(() => bundle.isolation === isolation, isolation);
    }
    withHeader('preferred');
    const second = live();
    await second.bundle.start();
    expect(second.bundle.isolation).toBe('preferred');
  });

  it.each(['container', '', null, undefined])('is required where the hub names the mode %j', async (name) => {
    serve('guardrails', 'one');
    const { bundle } = live();
    await bundle.start();
    (await hub.stream()).send('isolation_changed', { isolation: name });
    await until(() => bundle.isolation === 'required', 'the mode');
    withHeader('container');
    const second = live();
    await second.bundle.start();
    expect(second.bundle.isolation).toBe('required');
  });

  it('is that of the last frame, whatever an answer contains', async () => {
    serve('guardrails', 'one');
    const { bundle, runs } = live();
    await bundle.start();
    const stream = await hub.stream();
    stream.send('isolation_changed', { isolation: 'required' });
    await until(() => bundle.isolation === 'required', 'the mode');
    hub.on(current, {
      body: { ...update('two'), name: 'guardrails' },
      headers: { 'X-Reeve-Isolation': 'preferred' },
    });
    stream.send('resync', {});
    await until(() => runs() === 'two', 'the bundle');
    expect(bundle.isolation).toBe('required');
  });

  it('becomes stricter with the answer after lost frames', async () => {
    serve('guardrails', 'one');
    const { bundle, runs } = live();
    await bundle.start();
    const stream = await hub.stream();
    stream.send('isolation_changed', { isolation: 'preferred' });
    await until(() => bundle.isolation === 'preferred', 'the mode');
    hub.on(current, {
      body: { ...update('two'), name: 'guardrails' },
      headers: { 'X-Reeve-Isolation': 'required' },
    });
    stream.send('resync', {});
    await until(() => runs() === 'two', 'the bundle');
    expect(bundle.isolation).toBe('required');
    stream.send('isolation_changed', { isolation: 'none' });
    await until(() => bundle.isolation === 'none', 'the mode of the next frame');
  });

  it('is kept on disk from a frame that repeats the mode of an answer with an unusable bundle', async () => {
    serve('guardrails', 'one');
    const first = live({ cache: cacheFor() });
    await first.bundle.start();
    await first.bundle.close();
    hub.on(current, {
      body: { ...update('two'), name: 'guardrails', revision_hash: sha256(Buffer.from('three')) },
      headers: { 'X-Reeve-Isolation': 'required' },
    });
    let isPinFrameHere = false;
    const onToolPins = (): void => {
      isPinFrameHere = true;
    };
    const second = live({ cache: cacheFor(), onToolPins });
    await second.bundle.start();
    expect([second.runs(), second.bundle.isolation]).toEqual(['one', 'required']);
    const stream = await hub.stream();
    stream.send('isolation_changed', { isolation: 'required' });
    stream.send('tool_pins_changed', {});
    await until(() => isPinFrameHere, 'the frame behind the mode');
    await second.bundle.close();
    expect(await cacheFor().load()).toMatchObject({ isolation: 'required' });
  });

  it('is kept on disk with the bundle, from an answer and from a frame, for a start without the hub', async () => {
    withHeader('preferred');
    const first = live({ cache: cacheFor() });
    await first.bundle.start();
    expect(await cacheFor().load()).toMatchObject({ isolation: 'preferred' });
    (await hub.stream()).send('isolation_changed', { isolation: 'required' });
    await until(() => first.bundle.isolation === 'required', 'the mode');
    await first.bundle.close();
    // An answer without a mode leaves the last one in force until the stream names it.
    serve('guardrails', 'two');
    const second = live({ cache: cacheFor() });
    await second.bundle.start();
    expect([second.runs(), second.bundle.isolation]).toEqual(['two', 'required']);
    await second.bundle.close();
    const url = hub.url;
    await hub.stop();
    const third = live({ cache: cacheFor('guardrails', url) }, url);
    await whileAway(third.bundle.start());
    expect([third.runs(), third.bundle.isolation]).toEqual(['two', 'required']);
  });

  it('is none in a file without a mode, and required in one with a mode of a newer version', async () => {
    serve('guardrails', 'one');
    const first = live({ cache: cacheFor() });
    await first.bundle.start();
    await first.bundle.close();
    const path = join(folder, 'cache.json');
    const record = JSON.parse(await readFile(path, 'utf8'));
    expect(record).not.toHaveProperty('isolation');
    hub.on(current, { status: 503, body: {} });
    for (const [isolation, mode] of [
      [undefined, 'none'],
      ['container', 'required'],
    ]) {
      await writeFile(path, JSON.stringify({ ...record, isolation }));
      const next = live({ cache: cacheFor() });
      await whileAway(next.bundle.start());
      expect([next.runs(), next.bundle.isolation]).toEqual(['one', mode]);
      await next.bundle.close();
    }
  });
});

describe('the bundle on disk', () => {
  it('is written for its owner alone and used when the hub is away', async () => {
    serve('guardrails', 'one');
    const first = live({ cache: cacheFor() });
    await first.bundle.start();
    await first.bundle.close();
    const path = join(folder, 'cache.json');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    const url = hub.url;
    await hub.stop();
    const second = live({ cache: cacheFor('guardrails', url) }, url);
    await whileAway(second.bundle.start());
    expect(second.runs()).toBe('one');
    expect(second.errors[0]).toContain('using the bundle on disk');
  });

  it('is whole after several proxies have written the same file at once', async () => {
    const bundleOf = (size: number): FetchedBundle => ({
      bundleName: 'guardrails',
      version: size,
      bytes: Buffer.alloc(size, 'x'),
      ...{ revisionHash: null, signature: null, publicKey: null, provenance: noProvenance },
    });
    for (let round = 0; round < 20; round++) {
      await Promise.all([10, 200_000, 3000, 90_000].map((size) => cacheFor().save(bundleOf(size))));
      const saved = await cacheFor().load();
      expect(saved?.bytes.length).toBe(saved?.version);
    }
    expect(await readdir(folder)).toEqual(['cache.json']);
  });

  it('is used at once when the hub does not answer for 5 s', async () => {
    serve('guardrails', 'one');
    const first = live({ cache: cacheFor() });
    await first.bundle.start();
    await first.bundle.close();
    hub.on('GET /bundles/guardrails/current', () => new Promise(() => {}));
    const second = live({ cache: cacheFor() });
    const started = second.bundle.start();
    await until(() => hub.seen('GET /bundles/guardrails/current').length === 2);
    clock.advance(5000);
    await started;
    expect(second.runs()).toBe('one');
  });

  it('is used by an agent with an assignment when no stream can be opened', async () => {
    const first = live({ bundleName: null, cache: cacheFor(null) });
    const started = first.bundle.start();
    (await hub.stream()).send('contract_update', update('assigned'));
    await started;
    await first.bundle.close();
    hub.on('GET /stream', { status: 503 });
    const second = live({ bundleName: null, cache: cacheFor(null) });
    await second.bundle.start();
    expect(second.runs()).toBe('assigned');
  });

  it('is used when something else answers in place of the hub: a page', async () => {
    serve('guardrails', 'one');
    const first = live({ cache: cacheFor() });
    await first.bundle.start();
    await first.bundle.close();
    hub.on('GET /bundles/guardrails/current', { text: '<html>Sign in to this network</html>' });
    const second = live({ cache: cacheFor() });
    await second.bundle.start();
    expect([second.runs(), second.errors[0]]).toEqual(['one', expect.stringContaining('not JSON')]);
  });

  it('does not stand in for a refusal', async () => {
    serve('guardrails', 'one');
    const first = live({ cache: cacheFor() });
    await first.bundle.start();
    await first.bundle.close();
    hub.on('GET /bundles/guardrails/current', { status: 401, body: { detail: 'revoked' } });
    await expect(live({ cache: cacheFor() }).bundle.start()).rejects.toThrow('revoked');
  });

  it.each([
    ['changed', (text: string) => text.replace(/"yaml_bytes":"[^"]+"/, '"yaml_bytes":"dHdv"')],
    ['of another environment', (text: string) => text.replace('production', 'staging')],
    ['cut', (text: string) => text.slice(0, 50)],
  ])('is not used when it is %s', async (_name, spoil) => {
    serve('guardrails', 'one');
    const first = live({ cache: cacheFor() });
    await first.bundle.start();
    await first.bundle.close();
    const path = join(folder, 'cache.json');
    await writeFile(path, spoil(await readFile(path, 'utf8')));
    hub.on('GET /bundles/guardrails/current', { status: 503 });
    await expect(whileAway(live({ cache: cacheFor() }).bundle.start())).rejects.toThrow(ConfigurationError);
  });
});
