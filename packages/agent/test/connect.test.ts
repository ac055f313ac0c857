// A guard over a hub: contracts, approvals, counters and events through one loopback hub, and what survives a crash.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { compiled } from '../../../test/compiled.ts';
import { itAtNight } from '../../../test/runs.ts';
import { sha256 } from '../src/bundle/signature.ts';
import { connectGuard } from '../src/guard/connect.ts';
import {
  BufferFullError,
  type ConnectOptions,
  DeniedError,
  Guard,
  HubClient,
  MemorySessionStore,
} from '../src/index.ts';
import { FakeHub } from './fake-hub.ts';
import { until } from './manual-clock.ts';

const yamlFor = (word: string, extra = ''): string => `apiVersion: service/v1
kind: ContractBundle
metadata: { name: guardrails }
defaults: { mode: enforce }
contracts:
  - id: no-${word}
    type: pre
    tool: "*"
    when: { args.text: { contains: ${word} } }
    then: { effect: deny, message: "no ${word}" }
  - id: ask
    type: pre
    tool: deploy
    when: { args.target: { exists: true } }
    then: { effect: approve, message: "deploy?", timeout: 60 }
${extra}`;

const served = (yaml: string, extra: object = {}) => ({
  version: 1,
  revision_hash: sha256(Buffer.from(yaml)),
  signature: null,
  public_key: null,
  yaml_bytes: Buffer.from(yaml).toString('base64'),
  ...extra,
});

let hub: FakeHub;
let folder: string;
let guards: Guard[];
const ok = (): string => 'ok';

beforeEach(async () => {
  guards = [];
  folder = await mkdtemp(join(tmpdir(), 'connect-'));
  hub = await new FakeHub().start();
  hub.on('GET /stream', () => 'stream');
  hub.on('POST /agents/report', { body: {} });
  hub.on('POST /events', { body: { accepted: 1, duplicates: 0 } });
  hub.on('GET /bundles/guardrails/current', { body: { name: 'guardrails', ...served(yamlFor('one')) } });
});
afterEach(async () => {
  await Promise.all(guards.map((guard) => guard.close().catch(() => {})));
  await hub.stop();
  await rm(folder, { recursive: true });
});

async function connect(extra: Partial<ConnectOptions> = {}): Promise<Guard> {
  const guard = await Guard.connect({
    url: hub.url,
    apiKey: 'svk_production_x',
    agentId: 'agent-1',
    bundleName: 'guardrails',
    openTelemetry: null,
    ...extra,
  });
  guards.push(guard);
  return guard;
}

const verdicts = (): string[] =>
  hub
    .seen('POST /events')
    .flatMap((request) => request.body.events.map((event: { verdict: string }) => event.verdict));

describe('events that the hub cannot take', () => {
  it('stop a call in strict mode once they fill the buffer, and are counted for people', async () => {
    hub.on('POST /events', { status: 503, body: {} });
    const codes: unknown[] = [];
    const errors: unknown[] = [];
    const take = (warning: Error & { readonly code?: unknown }) => codes.push(warning.code);
    process.on('warning', take);
    const client = new HubClient({ url: hub.url, apiKey: 'svk_production_x' });
    const sessions = new MemorySessionStore();
    const options = { hub: client, sessions, sessionId: 'run', openTelemetry: null };
    const guardOf = (strictAudit: boolean) =>
      Guard.fromYaml(yamlFor('one'), { ...options, strictAudit, onError: (failure) => errors.push(failure) });
    const guard = guardOf(true);
    guards.push(guard);
    for (let call = 0; call < 5000; call++) await guard.run('say', {}, ok);
    expect(guard.eventCounts).toEqual({ waiting: 10_000, dropped: 0, refused: 0 });
    const executions = () => sessions.get('s:run:execs');
    const before = await executions();
    let hasRun = false;
    const failure = await guard
      .run('say', {}, () => {
        hasRun = true;
      })
      .catch((reason: unknown) => reason);
    expect(failure).toMatchObject({ errors: [expect.any(BufferFullError)] });
    expect([hasRun, guard.eventCounts?.dropped]).toEqual([false, 1]);
    // A call that did not run is no execution.
    expect(await executions()).toBe(before);
    await guard.close().catch(() => {});
    await guard.close();
    await until(() => codes.includes('REEVE_EVENTS_LOST'), 'the warning');
    expect(codes.filter((code) => code === 'REEVE_EVENTS_LOST')).toHaveLength(1);
    process.off('warning', take);
  });
});

describe('events of a guard', () => {
  const connected = (extra: object) =>
    Guard.fromYaml(yamlFor('one'), {
      hub: new HubClient({ url: hub.url, apiKey: 'svk_production_x' }),
      openTelemetry: null,
      ...extra,
    });

  itAtNight('that the full buffer refuses are told to onError once, and counted', async () => {
    hub.on('POST /events', { status: 503, body: {} });
    const errors: unknown[] = [];
    const onError = (failure: unknown, what: string) => {
      if (what === 'writing an audit record') errors.push(failure);
    };
    const guard = connected({ onError });
    guards.push(guard);
    for (let call = 0; call < 5003; call++) await guard.run('say', {}, ok);
    expect(errors).toEqual([expect.any(BufferFullError)]);
    expect(guard.eventCounts?.dropped).toBe(6);
  });

  it('are delivered by a close that passes an unreadable spool to onError', async () => {
    const errors: unknown[] = [];
    const onError = (failure: unknown, what: string) => {
      if (what !== 'writing an audit record') errors.push(failure);
    };
    const guard = connected({ spoolFile: join(folder, 'missing', 'spool'), onError });
    await guard.run('say', {}, ok);
    await guard.close();
    expect(verdicts()).toEqual(['call_allowed', 'call_executed']);
    expect(errors).toEqual([expect.objectContaining({ code: 'ENOENT' })]);
  });
});

describe('a connected guard', () => {
  it('leaves no stream open when it cannot be made', async () => {
    const failing = connectGuard(
      { url: hub.url, apiKey: 'svk_production_x', bundleName: 'guardrails' },
      () => {
        throw new Error('no guard');
      },
    );
    await expect(failing).rejects.toThrow('no guard');
    await until(() => hub.streams.every(({ closed }) => closed), 'the end of the stream');
  });

  it.each([null, 'guardrails'])('ends a wait for a silent hub by a signal (bundle %s)', async (name) => {
    const options = {
      ...{ url: hub.url, apiKey: 'svk_production_x', cacheFile: join(folder, 'bundle.json') },
      ...(name === null ? {} : { bundleName: name }),
    };
    const policyOf = (signal?: AbortSignal) => {
      let close = async (): Promise<void> => {};
      const made = (guard: string) => ({
        ...{ guard, swap: () => {} },
        onClose: (task: () => Promise<void>) => {
          close = task;
        },
      });
      const guard = connectGuard(options, (policy) => made(policy.name), signal);
      return guard.finally(() => close());
    };
    const first = policyOf();
    if (name === null)
      (await hub.stream()).send('contract_update', { bundle_name: 'guardrails', ...served(yamlFor('one')) });
    await first;
    for (const route of ['GET /stream', 'GET /bundles/guardrails/current'])
      hub.on(route, () => new Promise(() => {}));
    const [stop, stopPatient] = [new AbortController(), new AbortController()];
    const begun = async (signal: AbortSignal) => {
      const before = hub.requests.length;
      const policy = policyOf(signal);
      await until(() => hub.requests.length > before);
      return { policy };
    };
    // The other one waits as long as the library does by itself.
    const patient = (await begun(stopPatient.signal)).policy.then(() => 'patient');
    const second = (await begun(stop.signal)).policy;
    stop.abort(new Error('too late'));
    expect(await Promise.race([second, patient])).toBe('guardrails');
    stopPatient.abort(new Error('too late'));
    await patient;
  });

  it('judges by the deployed bundle, and by the next one as soon as it is pushed', async () => {
    const seen: (number | null)[] = [];
    const guard = await connect({ onBundle: (bundle) => seen.push(bundle.version) });
    await expect(guard.run('say', { text: 'one' }, ok)).rejects.toThrow('no one');
    (await hub.stream()).send('contract_update', {
      bundle_name: 'guardrails',
      ...served(yamlFor('two'), { version: 2 }),
    });
    await until(() => seen.includes(2));
    expect(await guard.run('say', { text: 'one' }, ok)).toBe('ok');
    await expect(guard.run('say', { text: 'two' }, ok)).rejects.toThrow(DeniedError);
    expect(guard.policyVersion).toBe(sha256(Buffer.from(yamlFor('two'))));
  });

  it('keeps its contracts when a pushed bundle has problems, and says so', async () => {
    const errors: string[] = [];
    const guard = await connect({ onError: (failure, what) => errors.push(`${what}: ${failure}`) });
    const stream = await hub.stream();
    const broken = yamlFor('two').replace('contains', 'resembles');
    stream.send('contract_update', { bundle_name: 'guardrails', ...served(broken) });
    await until(() => errors.length === 1);
    expect(errors[0]).toContain('resembles');
    await expect(guard.run('say', { text: 'one' }, ok)).rejects.toThrow(DeniedError);
  });

  it('says what would never match in each document that it takes, once', async () => {
    const told: string[] = [];
    const seen: (number | null)[] = [];
    await connect({
      onFindings: ([finding], { bundleName }) => void told.push(`${bundleName}: ${finding?.message}`),
      onBundle: (bundle) => seen.push(bundle.version),
    });
    const stream = await hub.stream();
    const dead = yamlFor('two').replace('args.text', 'arg.text');
    for (const version of [2, 3]) {
      stream.send('contract_update', { bundle_name: 'guardrails', ...served(dead, { version }) });
    }
    await until(() => seen.includes(3));
    expect(told).toEqual([
      'guardrails: arg does not exist, so this selector is always missing. Did you mean args?',
    ]);
  });

  it('delivers its events on close, named for the bundle the hub deployed', async () => {
    const guard = await connect();
    await guard.run('say', { text: 'x', password: 'p' }, ok);
    await guard.run('say', { text: 'one' }, ok).catch(() => {});
    await guard.close();
    expect(verdicts()).toEqual(['call_allowed', 'call_executed', 'call_denied']);
    const body = hub.seen('POST /events')[0]?.body;
    expect(body.agent_manifest).toBeUndefined();
    expect(body.events[0]).toMatchObject({
      agent_id: 'agent-1',
      tool_name: 'say',
      mode: 'enforce',
      payload: {
        bundle_name: 'guardrails',
        policy_version: guard.policyVersion,
        environment: 'production',
        tool_args: { text: 'x', password: '[REDACTED]' },
      },
    });
  });

  it('keeps keys of the hub out of its records, whatever they begin with', async () => {
    const apiKey = `acme_production_${'aB3_'.repeat(10)}`;
    const guard = await connect({ apiKey });
    await guard.run('say', { text: `the key is ${apiKey}` }, ok);
    expect(guard.events.last().tool_args).toEqual({ text: 'the key is [REDACTED]' });
  });

  it('asks the hub for approval and goes on when the decision is pushed', async () => {
    hub.on('POST /approvals', { status: 201, body: { id: 'a1', status: 'pending' } });
    const guard = await connect();
    const stream = await hub.stream();
    const principal = { user_id: 'ada', claims: { password: 'hunter2' } };
    const call = guard.run('deploy', { target: 'x' }, ok, { principal, sessionId: 's1' });
    await until(() => hub.seen('POST /approvals').length === 1);
    stream.send('approval_decided', { approval_id: 'a1', status: 'approved', decided_by: 'ann' });
    expect(await call).toBe('ok');
    expect(hub.seen('POST /approvals')[0]?.body).toMatchObject({
      agent_id: 'agent-1',
      tool_name: 'deploy',
      timeout: 60,
      timeout_effect: 'deny',
      contract_name: 'ask',
      principal: { user_id: 'ada', claims: { password: '[REDACTED]' } },
      session_id: 's1',
      call_id: guard.events.last().call_id,
    });
    expect(hub.seen('GET /approvals/a1')).toEqual([]);
  });

  it('denies when the hub takes no approval request', async () => {
    hub.on('POST /approvals', { status: 429, body: { detail: 'Too many approval requests.' } });
    const guard = await connect();
    await expect(guard.run('deploy', { target: 'x' }, ok)).rejects.toThrow('Too many approval requests');
    expect(guard.events.last().action).toBe('call_denied');
  });

  it('counts in the hub when told to', async () => {
    const values = new Map<string, number>();
    for (const key of ['s:job:attempts', 's:job:execs', 's:job:tool:say']) {
      hub.on(`POST /sessions/${encodeURIComponent(key)}/increment`, (request) => {
        const value = (values.get(key) ?? 0) + request.body.amount;
        values.set(key, value);
        return { body: { value } };
      });
    }
    hub.on('POST /sessions/batch', (request) => ({
      body: {
        values: Object.fromEntries(
          request.body.keys.map((k: string) => [k, values.get(k)?.toString() ?? null]),
        ),
      },
    }));
    hub.on(`DELETE /sessions/${encodeURIComponent('s:job:consec_fail')}`, { status: 404, body: {} });
    const limited = `  - { id: few, type: session, limits: { max_tool_calls: 2 }, then: { effect: deny, message: enough } }\n`;
    hub.on('GET /bundles/guardrails/current', {
      body: { name: 'guardrails', ...served(yamlFor('one', limited)) },
    });
    const one = await connect({ hubSessions: true, sessionId: 'job' });
    const other = await connect({ hubSessions: true, sessionId: 'job', agentId: 'agent-2' });
    await one.run('say', {}, ok);
    await other.run('say', {}, ok);
    await expect(one.run('say', {}, ok)).rejects.toThrow('enough');
    expect(Object.fromEntries(values)).toEqual({
      's:job:attempts': 3,
      's:job:execs': 2,
      's:job:tool:say': 2,
    });
  });

  it('starts from disk when the hub is gone, and still keeps its events', async () => {
    const cacheFile = join(folder, 'cache.json');
    const spoolFile = join(folder, 'spool.jsonl');
    const first = await connect({ cacheFile, spoolFile });
    await first.close();
    const { url } = hub;
    await hub.stop();
    const second = await connect({ url, cacheFile, spoolFile });
    await second.run('say', { text: 'x' }, ok);
    await expect(second.run('say', { text: 'one' }, ok)).rejects.toThrow(DeniedError);
    const lines = (await readFile(spoolFile, 'utf8')).trim().split('\n');
    expect(lines.map((line) => JSON.parse(line).verdict)).toEqual([
      'call_allowed',
      'call_executed',
      'call_denied',
    ]);
  });

  it.each([
    [{ bundleName: 'no/name' }],
    [{ signing: ['short'] }],
    [{ signing: [] }],
    [{ tags: { a: 'x'.repeat(257) } }],
    [{ url: 'http://example.com' }],
    [{ transport: 'pigeon' } as object],
  ])('does not start with %j', async (extra) => {
    const started = connect(extra);
    await expect(started).rejects.toThrow(TypeError);
    await expect(started).rejects.toThrow(new RegExp(`option ${Object.keys(extra)[0]}\\b`));
  });

  it('does not start when nothing is deployed', async () => {
    hub.on('GET /bundles/guardrails/current', {
      status: 404,
      body: { detail: "No deployed bundle 'guardrails'" },
    });
    await expect(connect()).rejects.toThrow('No deployed bundle');
  });

  it('does not write where a hub’s bundle says', async () => {
    const file = join(folder, 'planted');
    const yaml = yamlFor('one', `observability: { file: ${JSON.stringify(file)} }\n`);
    hub.on('GET /bundles/guardrails/current', { body: { name: 'guardrails', ...served(yaml) } });
    const guard = await connect();
    await guard.run('say', {}, ok);
    await guard.close();
    await expect(readFile(file)).rejects.toThrow('ENOENT');
  });
});

describe('a guard with contracts of its own and a hub', () => {
  it('tells the hub its events and its manifest', async () => {
    const client = new HubClient({ url: hub.url, apiKey: 'k', agentId: 'agent-9' });
    const guard = Guard.fromYaml(yamlFor('one'), { hub: client, openTelemetry: null });
    await guard.run('say', {}, ok);
    await guard.close();
    const body = hub.seen('POST /events')[0]?.body;
    expect(body.agent_manifest).toEqual({
      agent_id: 'agent-9',
      policy_version: guard.policyVersion,
      contracts: [
        { id: 'no-one', type: 'pre', tool: '*', mode: 'enforce' },
        { id: 'ask', type: 'pre', tool: 'deploy', mode: 'enforce' },
      ],
    });
  });

  it('says on close how many events wait in which file while the hub is away, and does not throw', async () => {
    hub.on('POST /events', { status: 503, body: {} });
    const spoolFile = join(folder, 'waiting.jsonl');
    const guard = Guard.fromYaml(yamlFor('one'), {
      hub: new HubClient({ url: hub.url, apiKey: 'k' }),
      openTelemetry: null,
      spoolFile,
    });
    await guard.run('say', {}, ok);
    const warned = once(process, 'warning');
    await guard.close();
    expect((await warned)[0].message).toContain(`2 audit events wait in ${spoolFile}`);
    expect((await readFile(spoolFile, 'utf8')).trim().split('\n')).toHaveLength(2);
  });

  it('says on close, in time, how many events wait for a silent hub', async () => {
    hub.on('POST /events', () => new Promise(() => {}));
    const spoolFile = join(folder, 'silent.jsonl');
    const guard = Guard.fromYaml(yamlFor('one'), {
      hub: new HubClient({ url: hub.url, apiKey: 'k' }),
      openTelemetry: null,
      spoolFile,
      closeTimeout: 100,
    });
    await guard.run('say', {}, ok);
    const warned = once(process, 'warning');
    await guard.close();
    expect((await warned)[0].message).toContain(`2 audit events wait in ${spoolFile}`);
    expect((await readFile(spoolFile, 'utf8')).trim().split('\n')).toHaveLength(2);
  });

  it('says on close what it could not deliver', async () => {
    hub.on('POST /events', { status: 401, body: { detail: 'revoked' } });
    const guard = Guard.fromYaml(yamlFor('one'), {
      hub: new HubClient({ url: hub.url, apiKey: 'k' }),
      openTelemetry: null,
    });
    await guard.run('say', {}, ok);
    const failure = await guard.close().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(AggregateError);
    expect(
      JSON.stringify(failure, (_k, v) =>
        v instanceof Error ? { m: v.message, e: (v as AggregateError).errors } : v,
      ),
    ).toContain('revoked');
  });
});

describe('an agent that is killed', () => {
  it('loses no event: the next one delivers what it left', async () => {
    hub.on('POST /events', { status: 503, body: {} });
    const spoolFile = join(folder, 'spool.jsonl');
    const library = compiled('packages/agent/src/index.ts');
    const source = pathToFileURL(join(import.meta.dirname, '../src/index.ts'));
    const file = join(folder, 'agent.mjs');
    await writeFile(
      file,
      `import { Guard } from '${library ?? source}';
const guard = await Guard.connect({ url: '${hub.url}', apiKey: 'k', bundleName: 'guardrails', spoolFile: '${spoolFile}' });
await guard.run('say', { text: 'first' }, () => 'done');
await guard.run('say', { text: 'last' }, () => { process.stdout.write('inside'); return new Promise(() => {}); });`,
    );
    const loader = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
    const agent = spawn(process.execPath, library ? [file] : ['--import', loader, file], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(agent.stdout, 'data');
    agent.kill('SIGKILL');
    await once(agent, 'exit');
    hub.on('POST /events', { body: { accepted: 3, duplicates: 0 } });
    hub.requests.length = 0;
    const next = await connect({ spoolFile });
    await next.close();
    expect(verdicts()).toEqual(['call_allowed', 'call_executed', 'call_allowed']);
    expect(await readFile(spoolFile, 'utf8')).toBe('');
  });
});
