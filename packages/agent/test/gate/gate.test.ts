// The hook command as a coding assistant runs it: a process for each call, a folder of state between them, and a hub
// that may be away.
import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { itAtNight, rowsOfRun } from '../../../../test/runs.ts';
import { sha256 } from '../../src/bundle/signature.ts';
import { connectGuard } from '../../src/guard/connect.ts';
import { FakeHub } from '../fake-hub.ts';
import { until } from '../manual-clock.ts';
import { rules } from '../mcp/setting.ts';
import { callProgram, programArgs } from '../program.ts';

let folder = '';
let hub: FakeHub;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reeve-gate-'));
});
afterAll(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
let state = '';
let runs = 0;
beforeEach(async () => {
  state = join(folder, `state-${runs++}`);
  hub = await new FakeHub().start();
});
afterEach(() => hub.stop());

const noRm =
  '{ id: no-rm, type: pre, tool: Bash, when: { args.command: { contains: "rm -rf" } }, then: { effect: deny, message: "not here" } }';
const askPush = (metadata = '') =>
  `{ id: ask-push, type: pre, tool: Bash, when: { args.command: { starts_with: "git push" } }, then: { effect: approve, message: "push?", timeout: 20${metadata} } }`;

interface Run {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

async function gate(
  call: object | string,
  args: readonly string[],
  env: { [name: string]: string } = {},
): Promise<Run> {
  const child = spawn(process.execPath, [...programArgs(), 'gate', '--state', state, ...args], {
    env: { PATH: process.env.PATH ?? '', HOME: folder, ...env },
  });
  const read = async (stream: AsyncIterable<Buffer>) => {
    let text = '';
    for await (const part of stream) text += part.toString();
    return text;
  };
  child.stdin.end(typeof call === 'string' ? call : JSON.stringify(call));
  const code = new Promise<number | null>((done) => child.once('close', done));
  const [out, err] = await Promise.all([read(child.stdout), read(child.stderr)]);
  return { code: await code, out, err };
}
const bash = (command: string, session = 's1') => ({
  hook_event_name: 'PreToolUse',
  session_id: session,
  cwd: folder,
  tool_name: 'Bash',
  tool_input: { command },
});

async function contractsFile(...contracts: string[]): Promise<string> {
  const file = join(folder, `contracts-${runs}.yaml`);
  await writeFile(file, rules(...contracts));
  return file;
}

describe('with contracts from a file', () => {
  it('allows without a word, and denies by exit code, JSON and reason', async () => {
    const args = ['--format', 'claude-code', '--contracts', await contractsFile(noRm)];
    expect(await gate(bash('ls'), args)).toEqual({ code: 0, out: '', err: '' });
    const denied = await gate(bash('rm -rf /'), args);
    expect(denied).toMatchObject({ code: 2, err: 'not here\n' });
    expect(JSON.parse(denied.out).hookSpecificOutput.permissionDecision).toBe('deny');
    expect(await gate({ ...bash('rm -rf /'), hook_event_name: 'PostToolUse' }, args)).toMatchObject({
      code: 0,
    });
  });

  it('reads them again when they change', async () => {
    const file = await contractsFile(noRm);
    const args = ['--contracts', file];
    const call = { tool: 'Bash', args: { command: 'git push' } };
    expect(await gate(call, args)).toMatchObject({ code: 0 });
    await writeFile(file, rules(noRm, askPush()));
    expect(await gate(call, args)).toMatchObject({
      code: 2,
      err: expect.stringContaining('no hub is configured that could ask a person'),
    });
  });

  itAtNight('takes declarations of arguments', async () => {
    const inside = '{ id: inside, type: sandbox, tool: search, within: [/srv], message: "outside" }';
    const args = ['--contracts', await contractsFile(inside)];
    const call = { tool: 'search', args: { query: '/etc/passwd' } };
    expect(await gate(call, args)).toMatchObject({ code: 0 });
    const tools = join(folder, 'tools.yaml');
    await writeFile(tools, 'search: { query: path }');
    expect(await gate(call, [...args, '--tools', tools])).toMatchObject({ code: 2, err: 'outside\n' });
  });

  it('leaves a question to the user of an assistant that can ask, where the contract says so', async () => {
    const args = ['--contracts', await contractsFile(askPush(', metadata: { elicit: true }'))];
    const asked = await gate(bash('git push'), ['--format', 'claude-code', ...args]);
    expect(asked.code).toBe(0);
    expect(JSON.parse(asked.out).hookSpecificOutput).toMatchObject({
      permissionDecision: 'ask',
      permissionDecisionReason: 'push?',
    });
    expect(await gate(bash('git push'), ['--format', 'codex', ...args])).toMatchObject({ code: 2 });
  });

  it('counts a call that the assistant’s own user is asked about', async () => {
    const limit =
      '{ id: once, type: session, limits: { max_tool_calls: 1 }, then: { effect: deny, message: "enough" } }';
    const contracts = await contractsFile(askPush(', metadata: { elicit: true }'), limit);
    const args = ['--format', 'claude-code', '--contracts', contracts];
    expect(JSON.parse((await gate(bash('git push'), args)).out).hookSpecificOutput).toMatchObject({
      permissionDecision: 'ask',
    });
    expect(await gate(bash('ls'), args)).toMatchObject({ code: 2, err: 'enough\n' });
  });

  it('counts the calls of a session, also side by side, and those of another apart', async () => {
    const limit =
      '{ id: few, type: session, limits: { max_tool_calls: 3 }, then: { effect: deny, message: "enough" } }';
    const args = ['--format', 'claude-code', '--contracts', await contractsFile(limit)];
    await gate(bash('ls'), args);
    const codes = (await Promise.all(Array.from({ length: 4 }, () => gate(bash('ls'), args)))).map(
      ({ code }) => code,
    );
    expect(codes.filter((code) => code === 0).length).toBeLessThanOrEqual(2);
    expect(await gate(bash('ls'), args)).toMatchObject({ code: 2 });
    expect(await gate(bash('ls', 's2'), args)).toMatchObject({ code: 0 });
  });

  itAtNight(
    'takes the project from the option, the payload or the environment, never from the call’s folder',
    async () => {
      const inside = '{ id: inside, type: sandbox, tools: [Bash], within: ["."], message: "outside" }';
      const args = ['--format', 'claude-code', '--contracts', await contractsFile(inside)];
      const call = { ...bash('cat /etc/passwd'), cwd: '/' };
      expect(await gate(call, args, { CLAUDE_PROJECT_DIR: folder })).toMatchObject({
        code: 2,
        err: 'outside\n',
      });
      expect(await gate(call, [...args, '--project', folder])).toMatchObject({ code: 2, err: 'outside\n' });
      expect(await gate(call, args)).toMatchObject({ code: 2 });
      const inProject = { ...bash(`cat ${folder}/x`), cwd: folder };
      expect(await gate(inProject, [...args, '--project', folder])).toMatchObject({ code: 0 });
      expect(await gate(inProject, args, { CLAUDE_PROJECT_DIR: folder })).toMatchObject({ code: 0 });
      expect(await gate(inProject, args)).toMatchObject({ code: 2 });
    },
  );

  it('refuses tools that it does not know where it is told to, and warns of them else', async () => {
    const args = ['--format', 'claude-code', '--contracts', await contractsFile(noRm)];
    const call = { ...bash('ls'), tool_name: 'Teleport' };
    expect(await gate(call, args)).toMatchObject({
      code: 0,
      out: '',
      err: expect.stringContaining('the tool Teleport is unknown to this format'),
    });
    expect(await gate(call, [...args, '--unknown', 'deny'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('--unknown deny refuses unknown tools'),
    });
  });

  itAtNight('answers an assistant that needs to be told', async () => {
    const args = ['--format', 'cursor', '--contracts', await contractsFile(noRm)];
    const call = (command: string) => ({
      hook_event_name: 'preToolUse',
      conversation_id: 's1',
      workspace_roots: [folder],
      tool_name: 'Shell',
      tool_input: { command },
    });
    expect(await gate(call('ls'), args)).toEqual({ code: 0, out: '{"permission":"allow"}\n', err: '' });
    expect(await gate(call('rm -rf /'), args)).toMatchObject({ code: 2, err: 'not here\n' });
  });

  const faulty: readonly (readonly [name: string, call: string])[] = [
    ['a doubled member', '{"tool":"a","args":{"command":"ls","command":"rm -rf /"}}'],
    ['a number that would change', '{"tool":"a","args":{"n":1e400}}'],
    ['half a character', '{"tool":"a","args":{"n":"\\ud800"}}'],
  ];
  it.each(rowsOfRun(faulty, 1))('denies an input with %s', async (_name, call) => {
    const args = ['--contracts', await contractsFile(noRm)];
    expect(await gate(call, args)).toMatchObject({
      code: 2,
      err: expect.stringContaining('not valid JSON'),
    });
  });

  const unusable: readonly (readonly [name: string, call: string, args: readonly string[]])[] = [
    ['input that is not JSON', '{', []],
    ['arguments that are no object', '{"tool":"a","args":[]}', []],
    ['contracts that cannot be used', '{"tool":"a"}', ['--contracts', '/no/such/file']],
    ['a name that no tool can have', '{"tool":"a/b"}', []],
  ];
  it.each(rowsOfRun(unusable, 2))('denies %s, unless it is told otherwise', async (_name, call, more) => {
    const args = more.length > 0 ? more : ['--contracts', await contractsFile(noRm)];
    expect(await gate(call, args)).toMatchObject({ code: 2 });
    if (!call.includes('a/b'))
      expect(await gate(call, [...args, '--on-error', 'allow'])).toMatchObject({ code: 0 });
  });

  it('denies when its folder of state cannot be used, and when it fails in a way that nobody foresaw', async () => {
    const file = await contractsFile(noRm);
    const args = ['--contracts', file, '--state', join(file, 'below-a-file')];
    expect(await gate({ tool: 'Bash', args: {} }, args)).toMatchObject({ code: 2 });
    expect(await gate({ tool: 'Bash', args: {} }, ['--contracts', file, '--tools', folder])).toMatchObject({
      code: 2,
    });
  });

  it.each([
    [['--format', 'nobody'], '--format must be'],
    [['--max-age', 'x'], '--max-age must be'],
    [['--on-error', 'x'], '--on-error must be'],
    [['--unknown', 'x'], '--unknown must be'],
    [['--project', ''], '--project must be'],
    [[], 'name a hub'],
  ])('says what is wrong with %j, and denies', async (args, why) => {
    expect(await callProgram(['gate', '--state', state, ...args])).toMatchObject({
      code: 2,
      err: expect.stringContaining(why),
    });
  });
});

describe('with a hub', () => {
  const key = { REEVE_KEY: 'svk_production_gate' };
  const args = () => [
    '--hub',
    hub.url,
    '--bundle',
    'guardrails',
    '--agent',
    'laptop',
    '--format',
    'claude-code',
  ];
  const serve = (...contracts: string[]) => {
    const yaml = Buffer.from(rules(...contracts));
    hub.on('GET /bundles/guardrails/current', {
      body: {
        name: 'guardrails',
        version: 1,
        revision_hash: sha256(yaml),
        yaml_bytes: yaml.toString('base64'),
      },
    });
    hub.on('GET /stream', () => 'stream');
    hub.on('POST /agents/report', { body: {} });
    hub.on('POST /events', { body: { accepted: 1, duplicates: 0 } });
  };
  const delivered = () =>
    hub
      .seen('POST /events')
      .flatMap(({ body }) => body.events as { verdict: string; agent_id: string; call_id: string }[]);
  const files = async (end: string) => (await readdir(state)).filter((name) => name.endsWith(end));

  it('fetches once, judges without it afterwards, and delivers events behind the assistant’s back', async () => {
    serve(noRm);
    expect(await gate(bash('rm -rf /'), args(), key)).toMatchObject({ code: 2 });
    await until(() => delivered().length === 1, 'the event', 15_000);
    expect(delivered()[0]).toMatchObject({ verdict: 'call_denied', agent_id: 'laptop' });
    expect((await stat(state)).mode & 0o077).toBe(0);
  });

  it('goes on with the last good document while the hub is away, and keeps the events for later', async () => {
    serve(noRm);
    await gate(bash('ls'), args(), key);
    await until(() => delivered().length === 1, 'the event', 15_000);
    const port = Number(new URL(hub.url).port);
    const away = args();
    await hub.stop();
    expect(await gate(bash('rm -rf /'), away, key)).toMatchObject({ code: 2, err: 'not here\n' });
    expect(await gate(bash('ls'), away, key)).toMatchObject({ code: 0 });
    // Also when it would like to ask first.
    await longAgo();
    expect(await gate(bash('rm -rf /'), away, key)).toMatchObject({ code: 2, err: 'not here\n' });
    hub = await new FakeHub().start(port);
    serve(noRm);
    const lock = async () => (await files('.lock')).length > 0;
    for (let round = 0; round < 100 && (await lock()); round++) await gate('{', away, key);
    await gate(bash('ls'), away, key);
    await until(() => new Set(delivered().map(({ call_id }) => call_id)).size >= 4, 'all events', 20_000);
    expect(delivered().filter(({ verdict }) => verdict === 'call_denied').length).toBeGreaterThanOrEqual(2);
  });

  /** As if the hub had last been asked long ago. The background process asks before it delivers, and not again. */
  const longAgo = async () => {
    await until(() => delivered().length > 0, 'the event', 15_000);
    for (const name of [...(await files('.tried')), ...(await files('.checked'))])
      await utimes(join(state, name), 1, 1);
  };

  it('takes up new contracts, at once when the old ones were not checked for long', async () => {
    serve(noRm);
    expect(await gate(bash('git push'), args(), key)).toMatchObject({ code: 0, out: '' });
    serve(noRm, askPush(', metadata: { elicit: true }'));
    // It waits a moment for the hub; on a busy machine the old ones may still count, once.
    await expect
      .poll(async () => {
        await longAgo();
        return (await gate(bash('git push'), args(), key)).out;
      })
      .toContain('"ask"');
  });

  it('ends soon behind a silent hub, with the last good document', async () => {
    serve(noRm);
    await gate(bash('ls'), args(), key);
    await longAgo();
    const lock = async () => (await files('.lock')).length > 0;
    await expect.poll(lock, { timeout: 20_000 }).toBe(false);
    const library = { url: hub.url, apiKey: 'svk_production_x', bundleName: 'guardrails' };
    const cacheFile = join(folder, 'peer.json');
    const connectLibrary = async (signal?: AbortSignal) => {
      let close = async (): Promise<void> => {};
      const guardOf = () => ({
        ...{ guard: null, swap() {} },
        onClose: (task: () => Promise<void>) => {
          close = task;
        },
      });
      await connectGuard({ ...library, cacheFile }, guardOf, signal);
      await close();
    };
    await connectLibrary();
    for (const route of ['GET /stream', 'GET /bundles/guardrails/current'])
      hub.on(route, () => new Promise(() => {}));
    // The library alone waits longer, without the start of a program.
    const stop = new AbortController();
    let isLibraryReady = false;
    const peer = connectLibrary(stop.signal).then(() => {
      isLibraryReady = true;
    });
    expect(await gate(bash('rm -rf /'), args(), key)).toMatchObject({ code: 2, err: 'not here\n' });
    expect(isLibraryReady).toBe(false);
    stop.abort();
    await peer;
    expect((await files('.contracts')).length).toBe(1);
  });

  itAtNight('asks again soon when the hub’s last document could not be used', async () => {
    serve(noRm);
    const assigned = args().filter((word) => word !== '--bundle' && word !== 'guardrails');
    const pushTo = async (n: number, yaml: string) =>
      (await hub.stream(n)).send('contract_update', {
        bundle_name: 'guardrails',
        revision_hash: sha256(Buffer.from(yaml)),
        yaml_bytes: Buffer.from(yaml).toString('base64'),
      });
    const first = gate(bash('ls'), assigned, key);
    await pushTo(0, rules(noRm));
    expect(await first).toMatchObject({ code: 0 });
    await expect.poll(() => files('.checked')).toHaveLength(1);
    await longAgo();
    const [checked = ''] = await files('.checked');
    const streams = hub.streams.length;
    const second = gate(bash('rm -rf /'), assigned, key);
    await pushTo(streams, 'contracts: broken');
    expect(await second).toMatchObject({ code: 2, err: 'not here\n' });
    expect((await stat(join(state, checked))).mtimeMs).toBe(1000);
  });

  it('asks there for approvals, and denies what nobody can approve', async () => {
    serve(askPush());
    let decided = 'pending';
    hub.on('POST /approvals', () => {
      decided = 'approved';
      return { status: 201, body: { id: 'a1', status: 'pending' } };
    });
    hub.on('GET /approvals/a1', () => ({ body: { id: 'a1', status: decided, decided_by: 'ann' } }));
    expect(await gate(bash('git push'), args(), key)).toEqual({ code: 0, out: '', err: '' });
    expect(hub.seen('POST /approvals')[0]?.body).toMatchObject({
      tool_name: 'Bash',
      contract_name: 'ask-push',
    });
    hub.on('POST /approvals', { status: 403, body: { detail: 'no' } });
    expect(await gate(bash('git push'), args(), key)).toMatchObject({
      code: 2,
      err: expect.stringContaining('The approval request failed'),
    });
  });

  it('denies when the hub has no contracts for it, also where it had some before', async () => {
    serve(noRm);
    expect(await gate(bash('ls'), args(), key)).toMatchObject({ code: 0 });
    await longAgo();
    hub.on('GET /bundles/guardrails/current', { status: 404, body: { detail: 'no such bundle' } });
    // It waits a moment for the hub; on a busy machine the old ones may still count, once.
    await expect
      .poll(async () => {
        await longAgo();
        return gate(bash('ls'), args(), key);
      })
      .toMatchObject({ code: 2, err: expect.stringContaining('could not be judged') });
    expect(await files('.contracts')).toEqual([]);
  });

  it('never writes the key, nor what is secret in the arguments', async () => {
    serve(noRm);
    await gate({ ...bash('ls'), tool_input: { command: 'ls', password: 'hunter2' } }, args(), key);
    await until(() => delivered().length === 1, 'the event', 15_000);
    const texts = await Promise.all(
      (await readdir(state)).map((name) => readFile(join(state, name), 'latin1').catch(() => '')),
    );
    expect(texts.join()).not.toContain(key.REEVE_KEY);
    expect(JSON.stringify(hub.seen('POST /events'))).not.toContain('hunter2');
  });
});
