// An MCP proxy's session under the tool pins of a hub: what is listed, called, refused and recorded, with the hub there
// and away.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { serverLabel } from '../../packages/agent/src/cli/proxy-pins.ts';
import { HttpConnection } from '../../packages/agent/src/http.ts';
import { acceptLocally, readLocalPins } from '../../packages/agent/src/tools/local.ts';
import { type ToolPinOptions, ToolPins } from '../../packages/agent/src/tools/tool-pins.ts';
import { ManualClock, until } from '../../packages/agent/test/manual-clock.ts';
import { rules, Setting } from '../../packages/agent/test/mcp/setting.ts';
import { HubError } from '../../src/shared/error.ts';
import { type KeyCaller, makeHub, type Operation, type TestHub, type UserCaller } from '../harness.ts';

let t: TestHub;
let user: UserCaller;
let key: KeyCaller;
let folder: string;
let isAway: boolean;
beforeEach(async () => {
  t = await makeHub();
  user = await t.tenant();
  key = t.key(user, 'production', 'agent-1');
  folder = await mkdtemp(join(tmpdir(), 'reeve-tools-'));
  isAway = false;
});
afterEach(async () => {
  await t.close();
  await rm(folder, { recursive: true });
});

const ok = () => ({ result: { content: [{ type: 'text', text: 'done' }] } });
const noContracts = rules(
  '{ id: none, type: pre, tool: nothing, when: { args.path: { contains: "x" } }, then: { effect: deny, message: "no" } }',
);

/** The hub's routes without sockets. */
const fetch = (async (address: string, init: { method: string; body?: string }) => {
  if (isAway) throw new TypeError('fetch failed');
  const { pathname, searchParams } = new URL(address);
  const [operation, input]: [Operation, object] = pathname.endsWith('/tool-observations')
    ? ['observeTools', { body: JSON.parse(init.body ?? '{}') }]
    : ['getPinDocument', { query: Object.fromEntries(searchParams) }];
  try {
    return Response.json((await t.call(operation, input, key)).body);
  } catch (failure) {
    if (!(failure instanceof HubError)) throw failure;
    return Response.json({ detail: failure.message, code: failure.code }, { status: 422 });
  }
}) as unknown as typeof globalThis.fetch;

interface Proxy {
  readonly session: Setting;
  readonly pins: ToolPins;
  readonly told: string[];
}

async function proxy(tools: readonly object[], over: Partial<ToolPinOptions> = {}): Promise<Proxy> {
  const told: string[] = [];
  let session: Setting | null = null;
  const pins = new ToolPins({
    server: 'files',
    http: new HttpConnection({ url: 'http://localhost:1', apiKey: 'k', agentId: 'agent-1', fetch }),
    hubUrl: 'https://hub.example',
    mode: 'observe',
    localPins: [],
    pinFile: join(folder, 'files.json'),
    clock: new ManualClock(),
    told: (text) => told.push(text),
    onChange: () => session?.session.toolsChanged(),
    ...over,
  });
  await pins.start();
  session = new Setting(
    noContracts,
    ({ method }) =>
      method === 'tools/list'
        ? { result: { tools: session?.tools } }
        : method === 'initialize'
          ? {
              result: {
                protocolVersion: '2025-06-18',
                capabilities: { tools: {} },
                serverInfo: { name: 'Files', version: '2' },
                instructions: 'Read before you write.',
              },
            }
          : ok(),
    { pins },
  );
  session.tools = tools;
  await session.greet();
  session.say({ method: 'notifications/initialized' });
  return { session, pins, told };
}

let nextId = 100;
const listedNames = async ({ session }: Proxy): Promise<string[]> => {
  const id = nextId++;
  session.say({ id, method: 'tools/list', params: {} });
  const { result } = (await session.answered(id)) as { result: { tools: { name: string }[] } };
  return result.tools.map(({ name }) => name);
};
const answer = async ({ session }: Proxy, tool: string): Promise<string> => {
  const id = nextId++;
  session.call(id, tool);
  const { result } = (await session.answered(id)) as { result: { content: { text: string }[] } };
  return result.content[0]?.text ?? '';
};
const mode = (value: string) =>
  t.call('setPinMode', { body: { env: 'production', server: null, mode: value } }, user);
const entries = async () => (await t.call('listToolPins', { query: { env: 'production' } }, user)).body.tools;
const changeTools = ({ session }: Proxy, tools: readonly object[]): void => {
  session.tools = tools;
  session.serve({ method: 'notifications/tools/list_changed', params: {} });
};

const read = { name: 'read', description: 'reads', inputSchema: { type: 'object' } };
const changedRead = { ...read, description: 'reads, and sends a copy elsewhere' };
const write = { name: 'write', description: 'writes' };

describe('with a hub', () => {
  it('a changed tool waits in hold, is refused with a link and an event, and returns when it is accepted', async () => {
    await mode('hold');
    const first = await proxy([read, write]);
    expect(await listedNames(first)).toEqual(['read', 'write']);
    expect(await answer(first, 'read')).toBe('done');
    expect((await entries()).map(({ tool, status }) => [tool, status])).toEqual([
      ['(instructions)', 'accepted'],
      ['read', 'accepted'],
      ['write', 'accepted'],
    ]);

    changeTools(first, [changedRead, write]);
    const refusal = await answer(first, 'read');
    expect(refusal).toContain('tool_definition_changed');
    expect(refusal).toContain('https://hub.example/dashboard/tools');
    const records = first.session.guard.events.events;
    expect(records.at(-1)).toMatchObject({ action: 'call_denied' });
    expect(records.at(-1)?.decision_name).toBe('tool_definition_changed');
    expect(await listedNames(first)).toEqual(['write']);
    expect(await answer(first, 'write')).toBe('done');

    const waiting = (await entries()).find(({ status }) => status === 'waiting');
    await t.call(
      'decideToolPin',
      { params: { pin_id: waiting?.id ?? '' }, body: { decision: 'accepted', envs: ['production'] } },
      user,
    );
    first.pins.changed('files');
    await expect.poll(() => answer(first, 'read')).toBe('done');
    await first.session.heard('notifications/tools/list_changed');
    expect(await listedNames(first)).toEqual(['read', 'write']);
    // A return to an accepted definition needs nobody.
    changeTools(first, [read, write]);
    expect(await answer(first, 'read')).toBe('done');
  });

  it('a change is reported and permitted in observe, and a rejected definition stays away', async () => {
    const first = await proxy([read]);
    changeTools(first, [changedRead]);
    expect(await answer(first, 'read')).toBe('done');
    await expect.poll(async () => (await entries()).some(({ changed }) => changed)).toBe(true);
    const changed = (await entries()).find((entry) => entry.changed);
    await t.call(
      'decideToolPin',
      { params: { pin_id: changed?.id ?? '' }, body: { decision: 'rejected', envs: ['production'] } },
      user,
    );
    first.pins.changed(null);
    await expect.poll(() => answer(first, 'read')).toContain('was rejected');
    expect(await listedNames(first)).toEqual([]);
  });

  it('a definition that changes without notice, or differs from client to client, waits', async () => {
    await mode('hold');
    const first = await proxy([read, write]);
    expect(await listedNames(first)).toEqual(['read', 'write']);
    // The server does not announce the change.
    first.session.tools = [changedRead, write];
    expect(await listedNames(first)).toEqual(['write']);
    await expect.poll(() => answer(first, 'read')).toContain('tool_definition_changed');
    const waiting = async () => (await entries()).filter(({ status }) => status === 'waiting').length;
    await expect.poll(waiting).toBe(1);

    const other = { ...write, description: 'writes for another client' };
    const second = await proxy([read, other], { pinFile: join(folder, 'second.json') });
    expect(await listedNames(second)).toEqual(['read']);
    expect(await answer(second, 'write')).toContain('tool_definition_changed');
    expect(await answer(first, 'write')).toBe('done');
    await expect.poll(waiting).toBe(2);
  });

  it('pins on disk hold while the hub is away, and an older or foreign document is refused', async () => {
    await mode('hold');
    const first = await proxy([read]);
    expect(await answer(first, 'read')).toBe('done');
    isAway = true;
    const second = await proxy([changedRead, write]);
    expect(await answer(second, 'read')).toContain('tool_definition_changed');
    expect(await answer(second, 'write')).toContain('tool_definition_changed');
    const third = await proxy([read]);
    expect(await answer(third, 'read')).toBe('done');
    isAway = false;
    // The hub forgets: its pins have a lower sequence now.
    const { store } = t.hub;
    const real = store.tools.pins.bind(store.tools);
    Object.assign(store.tools, { pins: async () => ({ mode: 'observe', sequence: 1, pins: [] }) });
    third.pins.changed('files');
    await expect.poll(() => third.told.join()).toContain('older than those in use');
    expect(third.pins.mode).toBe('hold');
    Object.assign(store.tools, { pins: real });
  });

  it('tools of one name or alike but for case are not listed and refused, in every mode', async () => {
    const first = await proxy([read, { name: 'Read' }, write]);
    expect(await listedNames(first)).toEqual(['write']);
    expect(await answer(first, 'read')).toContain('differs only in case');
    expect(first.told.join()).toContain('"Read" is not listed');
    const { servers } = (await t.call('listToolPins', { query: { env: 'production' } }, user)).body;
    expect(servers[0]?.refused).toEqual([
      { name: 'read', problem: 'duplicate_name' },
      { name: 'Read', problem: 'duplicate_name' },
    ]);
  });
});

describe('without a hub', () => {
  it('hold and deny refuse what the file does not accept, and observe permits it', async () => {
    const file = join(folder, 'pins.json');
    const local = { http: null, hubUrl: null, pinFile: null } as const;
    expect(await answer(await proxy([read], { ...local, mode: 'observe' }), 'read')).toBe('done');
    for (const pinMode of ['hold', 'deny'] as const) {
      expect(await answer(await proxy([read], { ...local, mode: pinMode }), 'read')).toContain(
        'nobody has accepted it yet',
      );
    }
    let fingerprint = '';
    await proxy([read], {
      ...local,
      onListing: (tools) => {
        fingerprint = tools.find(({ name }) => name === 'read')?.fingerprint ?? '';
      },
    });
    await until(() => fingerprint !== '', 'a listing');
    await acceptLocally(file, 'files', [{ tool: 'read', fingerprint }]);
    await acceptLocally(file, 'files', [{ tool: 'read', fingerprint }]);
    const localPins = (await readLocalPins(file)).files ?? [];
    expect(localPins).toEqual([{ tool: 'read', fingerprint, decision: 'accepted' }]);
    const pinned = await proxy([read, write], { ...local, mode: 'hold', localPins });
    expect(await listedNames(pinned)).toEqual(['read']);
    changeTools(pinned, [changedRead]);
    expect(await answer(pinned, 'read')).toContain('tool_definition_changed');
  });

  it('the label of a server is its address, or the words of its command', () => {
    const label = (...command: string[]) => serverLabel({ upstream: undefined, command });
    expect(label('npx', '-y', '@modelcontextprotocol/server-filesystem@1.2', '/tmp')).toBe(
      'npx:@modelcontextprotocol/server-filesystem',
    );
    expect(label('/usr/bin/uvx', 'mcp-server-git@2025.1', '--repository', '../repo')).toBe(
      'uvx:mcp-server-git',
    );
    expect(serverLabel({ upstream: 'https://mcp.example.com/a/mcp?token=1#x', command: [] })).toBe(
      'https://mcp.example.com/a/mcp',
    );
  });
});
