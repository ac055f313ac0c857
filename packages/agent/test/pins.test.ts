// A hub that lies, or that somebody else answers for: what an agent that has seen it before refuses, what it follows,
// and how to begin anew.
import { mkdtemp, readdir, readFile, rm, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BundleRejectedError, type ConnectOptions, Guard } from '../src/index.ts';
import { FakeHub } from './fake-hub.ts';
import { aKey, documentOf, succession, type TestKey } from './lying-hub.ts';
import { until } from './manual-clock.ts';

const yamlFor = (word: string): string => `apiVersion: service/v1
kind: ContractBundle
metadata: { name: guardrails }
defaults: { mode: enforce }
contracts:
  - { id: no, type: pre, tool: "*", when: { args.text: { contains: ${word} } }, then: { effect: deny, message: "no ${word}" } }
`;

let hub: FakeHub;
let folder: string;
let guards: Guard[];
let failures: unknown[];
let key: TestKey;

beforeEach(async () => {
  [guards, failures, key] = [[], [], aKey()];
  folder = await mkdtemp(join(tmpdir(), 'pins-'));
  hub = await new FakeHub().start();
  hub.on('GET /stream', () => 'stream');
  hub.on('POST /agents/report', { body: {} });
});
afterEach(async () => {
  await Promise.all(guards.map((guard) => guard.close().catch(() => {})));
  await hub.stop();
  await rm(folder, { recursive: true });
});

type Document = Partial<ReturnType<typeof documentOf>>;

const serve = ({ bundle_name, ...rest }: Document): FakeHub =>
  hub.on(`GET /bundles/${bundle_name}/current`, { body: { name: bundle_name, ...rest } });

async function connect(extra: Partial<ConnectOptions> = {}): Promise<Guard> {
  const guard = await Guard.connect({
    url: hub.url,
    apiKey: 'svk_production_x',
    bundleName: 'guardrails',
    openTelemetry: null,
    cacheFile: join(folder, 'cache.json'),
    onError: (failure) => failures.push(failure),
    ...extra,
  });
  guards.push(guard);
  return guard;
}

/** A connected guard that runs the first document (word `one`, sequence 10), and how to push others to it. */
async function started(extra: Partial<ConnectOptions> = {}) {
  serve(documentOf({ yaml: yamlFor('one'), sequence: 10, key }));
  const guard = await connect(extra);
  const stream = await hub.stream(hub.streams.length);
  return {
    guard,
    push: (document: Document) => stream.send('contract_update', document),
    /** The refusal of a pushed document, which changed nothing. */
    async refused(document: Document): Promise<BundleRejectedError> {
      const before = guard.policyVersion;
      failures.length = 0;
      stream.send('contract_update', document);
      await until(() => failures.length > 0, 'a refusal');
      expect(guard.policyVersion).toBe(before);
      const [failure] = failures;
      if (!(failure instanceof BundleRejectedError)) throw failure;
      return failure;
    },
    runs: (word: string) => until(() => denies(guard, word), `the document that denies ${word}`),
  };
}

const denies = (guard: Guard, word: string): boolean =>
  guard.evaluate('say', { text: word }).verdict === 'deny';

const two = (extra: Partial<Parameters<typeof documentOf>[0]> = {}) =>
  documentOf({ yaml: yamlFor('two'), sequence: 20, version: 2, key, ...extra });

describe('an agent that was told nothing of signatures', () => {
  it('takes the first key it sees, and from then on no other, and names the file that says so', async () => {
    const { refused } = await started();
    const { message, pinFile } = await refused(two({ key: aKey() }));
    expect(message).toContain('not signed by a trusted key');
    expect(message).toContain(`delete ${pinFile}`);
    const files = await readdir(join(folder, 'reeve-pins'));
    expect(files.map((name) => join(folder, 'reeve-pins', name))).toContain(pinFile);
    expect(files.filter((name) => !name.endsWith('.json'))).toEqual([]);
  });

  it('remembers by the file after a restart, and begins anew without it', async () => {
    const { guard, refused } = await started();
    const { pinFile } = await refused(two({ key: aKey() }));
    await guard.close();
    serve(two({ key: aKey() }));
    const again = await connect();
    expect(denies(again, 'one')).toBe(true);
    expect(failures.at(-1)).toMatchObject({ pinFile });
    await again.close();
    await unlink(pinFile ?? '');
    expect(denies(await connect(), 'two')).toBe(true);
  });

  it('remembers for the life of the process when it has no folder', async () => {
    serve(documentOf({ yaml: yamlFor('one'), sequence: 10, key }));
    const guard = await Guard.connect({ url: hub.url, apiKey: 'k', bundleName: 'guardrails' });
    await guard.close();
    serve(two({ key: aKey() }));
    const again = Guard.connect({ url: hub.url, apiKey: 'k', bundleName: 'guardrails' });
    await expect(again).rejects.toThrow(/not signed by a trusted key.*keeps its pins in memory/);
  });

  it('runs what a hub deploys that never signs, until it has signed once', async () => {
    const bare = { signature: null, public_key: null, attestation: null, sequence: null };
    serve({ ...documentOf({ yaml: yamlFor('one'), sequence: 10, key }), ...bare });
    const guard = await connect();
    const stream = await hub.stream();
    stream.send('contract_update', { ...two(), ...bare });
    await until(() => denies(guard, 'two'), 'the unsigned document');
    const three = { yaml: yamlFor('three'), sequence: 30, key };
    stream.send('contract_update', documentOf(three));
    await until(() => denies(guard, 'three'), 'the signed document');
    stream.send('contract_update', { ...two({ sequence: 40 }), ...bare });
    await until(() => failures.length > 0, 'a refusal');
    expect(String(failures[0])).toContain('is not signed');
  });

  it('checks nothing but the hash when told so', async () => {
    const { push, runs } = await started({ signing: 'off' });
    push({ ...two({ sequence: 1, key: aKey() }), attestation: null });
    await runs('two');
    expect(await readdir(folder)).not.toContain('reeve-pins');
  });
});

describe('a signing key that was replaced', () => {
  it('is followed as far as the keys lead to each other', async () => {
    const { push, runs, refused } = await started();
    const keys = [key, aKey(), aKey(), aKey()] as const;
    const steps = [0, 1, 2].map((i) => succession(keys[i] ?? key, keys[i + 1] ?? key));
    push(two({ key: keys[3], successions: steps }));
    await runs('two');
    // The keys before are not trusted any more.
    await refused(documentOf({ yaml: yamlFor('three'), sequence: 30, key: keys[2], successions: steps }));
    push(documentOf({ yaml: yamlFor('four'), sequence: 40, key: keys[3] }));
    await runs('four');
  });

  it('keeps the sequence of what it signs anew', async () => {
    const { push, runs } = await started();
    const next = aKey();
    const successions = [succession(key, next)];
    push(documentOf({ yaml: yamlFor('one'), sequence: 10, key: next, successions }));
    push(two({ key: next }));
    await runs('two');
    expect(failures).toEqual([]);
  });

  it.each([
    ['nothing leads to it', () => []],
    ['another key says that it follows', (next: TestKey) => [succession(key, next, 'tenant-1', next)]],
    ['it follows in another tenant', (next: TestKey) => [succession(key, next, 'tenant-2')]],
    ['a step is missing', (next: TestKey) => [succession(aKey(), next)]],
    ['the list is no list', () => 'all of them' as unknown as object[]],
    ['the list holds nonsense', () => [{ previous_key: 1 }, {}, { public_key: 'x' }]],
  ])('is refused when %s', async (_name, made) => {
    const { refused } = await started();
    const next = aKey();
    const { message } = await refused(two({ key: next, successions: made(next) }));
    expect(message).toContain('not signed by a trusted key');
  });

  it('is followed from the keys the agent was given, also after a restart', async () => {
    const next = aKey();
    const signing = [aKey().hex, key.hex];
    const { guard, push, runs } = await started({ signing });
    push(two({ key: next, successions: [succession(key, next)] }));
    await runs('two');
    await guard.close();
    serve(documentOf({ yaml: yamlFor('three'), sequence: 30, key: next }));
    expect(denies(await connect({ signing }), 'three')).toBe(true);
  });

  it('is not trusted any more once the agent is given another one', async () => {
    const [followed, given] = [aKey(), aKey()];
    const { guard, push, runs } = await started({ signing: [key.hex] });
    push(two({ key: followed, successions: [succession(key, followed)] }));
    await runs('two');
    await guard.close();
    serve(documentOf({ yaml: yamlFor('three'), sequence: 30, key: given }));
    const again = await connect({ signing: [given.hex] });
    expect(denies(again, 'three')).toBe(true);
    failures.length = 0;
    const four = documentOf({ yaml: yamlFor('four'), sequence: 40, key: followed });
    (await hub.stream(1)).send('contract_update', four);
    await until(() => failures.length > 0, 'a refusal');
    expect(String(failures[0])).toContain('add the new key to `signing`');
  });
});

describe('a document that is older than one that was in use', () => {
  it('is refused, whatever its version, and a roll-back by people is taken', async () => {
    const { push, runs, refused } = await started();
    push(two());
    await runs('two');
    const { message, pinFile } = await refused(
      documentOf({ yaml: yamlFor('one'), sequence: 19, version: 9, key }),
    );
    expect(message).toContain('is older (sequence 19) than a version already in use (20)');
    expect(message).toContain(`delete ${pinFile}`);
    push(documentOf({ yaml: yamlFor('one'), sequence: 21, version: 1, key }));
    await runs('one');
  });

  it('is refused at start too, and the one on disk goes on', async () => {
    const { guard, push, runs } = await started();
    push(two());
    await runs('two');
    await guard.close();
    const again = await connect();
    expect(denies(again, 'two')).toBe(true);
    expect(String(failures.at(-1))).toContain('is older (sequence 10)');
    await again.close();
    await unlink(join(folder, 'cache.json'));
    await expect(connect()).rejects.toThrow('is older (sequence 10)');
  });

  it('is refused when it tells no sequence any more', async () => {
    const { refused } = await started();
    const { message } = await refused({ ...two(), sequence: null, attestation: null });
    expect(message).toContain('has no attestation, but earlier documents had one');
  });

  it('with the same sequence and other bytes is refused', async () => {
    const { refused } = await started();
    const { message } = await refused(two({ sequence: 10 }));
    expect(message).toContain('differs from the version already in use with the sequence 10');
  });

  it('is refused by its sequence also where nothing is attested', async () => {
    serve({ ...documentOf({ yaml: yamlFor('one'), sequence: 10, key }), attestation: null });
    const guard = await connect();
    const stream = await hub.stream();
    for (const told of [
      { ...two({ sequence: 9 }), attestation: null },
      { ...two({ sequence: 10 }), attestation: null },
      { ...two(), attestation: null, sequence: null },
    ]) {
      failures.length = 0;
      stream.send('contract_update', told);
      await until(() => failures.length > 0, 'a refusal');
      expect(failures[0]).toBeInstanceOf(BundleRejectedError);
    }
    stream.send('contract_update', { ...two(), attestation: null });
    await until(() => denies(guard, 'two'), 'the newer document');
  });

  it('on disk is started with when the hub is away, though another agent has seen a newer one', async () => {
    const { guard } = await started();
    await guard.close();
    serve(two());
    await (await connect({ cacheFile: join(folder, 'other.json') })).close();
    hub.on('GET /bundles/guardrails/current', { status: 503 });
    expect(denies(await connect(), 'one')).toBe(true);
    (await hub.stream(2)).send('contract_update', documentOf({ yaml: yamlFor('x'), sequence: 15, key }));
    await until(() => String(failures.at(-1)).includes('is older (sequence 15)'), 'a refusal');
  });
});

describe('an attestation', () => {
  it('once seen, cannot be taken away', async () => {
    const { refused } = await started();
    const { message, pinFile } = await refused({ ...two(), attestation: null });
    expect(message).toContain('has no attestation, but earlier documents had one');
    expect(message).toContain(`delete ${pinFile}`);
  });

  it('once seen, is missed under every other name, also under one that was not attested before', async () => {
    const before = {
      ...documentOf({ yaml: yamlFor('old'), sequence: 5, key, name: 'b1' }),
      attestation: null,
    };
    const guard = connect({ bundleName: undefined as unknown as string });
    const stream = await hub.stream();
    stream.send('contract_update', before);
    const running = await guard;
    stream.send('contract_update', documentOf({ yaml: yamlFor('one'), sequence: 10, key }));
    await until(() => denies(running, 'one'), 'the attested document');
    const stale = { yaml_bytes: before.yaml_bytes, signature: before.signature };
    for (const replayed of [
      { ...stale, bundle_name: 'b2' },
      { ...before, sequence: 99 },
    ]) {
      failures.length = 0;
      stream.send('contract_update', replayed);
      await until(() => failures.length > 0, 'a refusal');
      expect(String(failures[0])).toContain('has no attestation, but earlier documents had one');
      expect((failures[0] as BundleRejectedError).pinFile).toContain('guardrails');
      expect(denies(running, 'one')).toBe(true);
    }
    serve(two({ name: 'other' }));
    stream.send('assignment_changed', { agent_id: 'default', bundle_name: 'other', source: 'rule' });
    await until(() => denies(running, 'two'), 'the assigned document');
  });

  it('of a hub that has begun to attest is asked for from then on', async () => {
    serve({ ...documentOf({ yaml: yamlFor('one'), sequence: 10, key }), attestation: null });
    const guard = await connect();
    const stream = await hub.stream();
    stream.send('contract_update', two());
    await until(() => denies(guard, 'two'), 'the attested document');
    stream.send('contract_update', {
      ...documentOf({ yaml: yamlFor('three'), sequence: 30, key }),
      attestation: null,
    });
    await until(() => failures.length > 0, 'a refusal');
    expect(String(failures[0])).toContain('has no attestation, but earlier documents had one');
  });

  it.each([
    ['environment', () => ({ ...two(), attestation: two({ env: 'staging' }).attestation })],
    ['bundle', () => ({ ...two(), attestation: two({ name: 'other' }).attestation })],
    ['version', () => ({ ...two(), version: 3 })],
    ['sequence', () => ({ ...two(), sequence: 21 })],
    ['time', () => ({ ...two(), deployed_at: '2020-01-01T00:00:00.000Z' })],
    ['document', () => ({ ...two(), attestation: two({ yaml: yamlFor('three') }).attestation })],
    ['key', () => ({ ...two(), attestation: two({ key: aKey() }).attestation })],
    ['hub, without a version', () => ({ ...two(), version: undefined as unknown as number })],
  ])('of another %s is refused', async (_name, told) => {
    const { refused } = await started();
    const { message } = await refused(told());
    expect(message).toContain('attested for another');
  });
});

describe('who the document is for', () => {
  it('cannot be said anew: an API key stays with its tenant', async () => {
    const { guard, refused } = await started();
    const other = two({ tenant: 'tenant-2', key: aKey() });
    const { message, pinFile } = await refused(other);
    expect(message).toContain('belongs to tenant tenant-2, but this API key belongs to tenant tenant-1');
    expect(message).toContain(`delete ${pinFile}`);
    await guard.close();
    await unlink(join(folder, 'cache.json'));
    serve(other);
    await expect(connect()).rejects.toThrow('this API key belongs to tenant tenant-1');
    // Another key may be another tenant's.
    expect(denies(await connect({ apiKey: 'svk_production_y' }), 'two')).toBe(true);
  });

  it('is remembered from before the hub told its tenants', async () => {
    const old = { tenant_id: undefined as unknown as string, attestation: null };
    serve({ ...documentOf({ yaml: yamlFor('one'), sequence: 10, key }), ...old });
    const guard = await connect();
    const stream = await hub.stream();
    stream.send('contract_update', two({ key: aKey() }));
    await until(() => failures.length > 0, 'a refusal');
    stream.send('contract_update', two());
    await until(() => denies(guard, 'two'), 'the document with a tenant');
  });

  it('an assigned bundle of another name has to be signed by the key of the one in use', async () => {
    const guard = connect({ bundleName: undefined as unknown as string });
    const stream = await hub.stream();
    stream.send('contract_update', documentOf({ yaml: yamlFor('one'), sequence: 10, key }));
    const running = await guard;
    serve(two({ name: 'evil', key: aKey() }));
    stream.send('assignment_changed', { agent_id: 'default', bundle_name: 'evil', source: 'rule' });
    await until(() => failures.length > 0, 'a refusal');
    expect(String(failures[0])).toContain('bundle evil is not signed by a trusted key');
    const next = aKey();
    serve(two({ name: 'other', key: next, successions: [succession(key, next)] }));
    stream.send('assignment_changed', { agent_id: 'default', bundle_name: 'other', source: 'rule' });
    await until(() => denies(running, 'two'), 'the assigned document');
  });
});

describe('a pin file', () => {
  it.each([
    ['is cut', (text: string) => text.slice(0, 20)],
    ['has other fields', () => '{"keys": []}'],
    ['holds no key', (text: string) => text.replace(/"[0-9a-f]{64}"\s*\]/, '"short"]')],
    ['is a list', () => '[]'],
  ])('that %s lets nothing pass, and is named', async (_name, spoil) => {
    const { guard, refused } = await started();
    const { pinFile } = await refused(two({ key: aKey() }));
    await guard.close();
    const file = pinFile ?? '';
    await writeFile(file, spoil(await readFile(file, 'utf8')));
    await expect(connect()).rejects.toThrow(`the pin in ${file} cannot be read`);
  });

  it('is missed when something else stands where its folder should be', async () => {
    await writeFile(join(folder, 'reeve-pins'), 'a file');
    serve(documentOf({ yaml: yamlFor('one'), sequence: 10, key }));
    await expect(connect()).rejects.toThrow('cannot be read');
  });

  it('of one environment, name or hub says nothing of others', async () => {
    await (await started()).guard.close();
    const stagingKey = aKey();
    serve(documentOf({ yaml: yamlFor('two'), sequence: 5, key: stagingKey, env: 'staging' }));
    expect(denies(await connect({ env: 'staging', cacheFile: join(folder, 's.json') }), 'two')).toBe(true);
    serve(documentOf({ yaml: yamlFor('three'), sequence: 5, key: aKey(), name: 'more' }));
    const more = await connect({ bundleName: 'more', cacheFile: join(folder, 'm.json') });
    expect(denies(more, 'three')).toBe(true);
    expect((await readdir(join(folder, 'reeve-pins'))).length).toBe(4);
  });
});
