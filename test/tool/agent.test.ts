// An MCP proxy's session under the tool pins of a hub: what is listed, called, refused and recorded, with the hub there
// and away.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import type { ApprovalBackend } from '../../packages/agent/src/approvals.ts';
import { pinsCommand } from '../../packages/agent/src/cli/pins.ts';
import { listingFile, serverLabel } from '../../packages/agent/src/cli/proxy-pins.ts';
import { writeWhole } from '../../packages/agent/src/files.ts';
import { HttpConnection } from '../../packages/agent/src/http.ts';
import { HubClient } from '../../packages/agent/src/hub.ts';
import { Guard, guardServer } from '../../packages/agent/src/index.ts';
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

/** Contracts that ask a person. */
interface Questions {
  readonly contracts?: string;
  readonly request?: ApprovalBackend['request'];
}

interface Proxy {
  readonly session: Setting;
  readonly pins: ToolPins;
  readonly told: string[];
}

async function proxy(
  tools: readonly object[],
  over: Partial<ToolPinOptions> = {},
  { contracts = noContracts, request }: Questions = {},
): Promise<Proxy> {
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
    writeLog: (text) => told.push(text),
    onChange: () => session?.session.toolsChanged(),
    ...over,
  });
  await pins.start();
  session = new Setting(
    contracts,
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
    { pins, ...(request ? { approvals: { request } } : {}) },
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

  it('a call that waits for a person is refused when its tool changes before the approval', async () => {
    await mode('hold');
    let approve: () => void = () => {};
    const decision = new Promise<void>((resolve) => {
      approve = resolve;
    });
    const first = await proxy(
      [read, write],
      {},
      {
        contracts: rules(
          '{ id: ask, type: pre, tool: read, when: { tool.name: { exists: true } }, then: { effect: approve, message: "read?" } }',
        ),
        request: async () => ({
          id: '1',
          outcome: async () => {
            await decision;
            return { status: 'approved', proceed: true, decidedBy: 'ann', reason: null };
          },
        }),
      },
    );
    first.session.call(1, 'read');
    await until(
      () => first.session.guard.events.events.at(-1)?.action === 'call_approval_requested',
      'the question',
    );
    changeTools(first, [changedRead, write]);
    await until(() => first.session.listings === 2, 'the second list');
    approve();
    const { result } = (await first.session.answered(1)) as { result: { content: { text: string }[] } };
    expect(result.content[0]?.text).toContain('tool_definition_changed');
    expect(first.session.atServer.filter(({ method }) => method === 'tools/call')).toEqual([]);
    expect(first.session.guard.events.last()).toMatchObject({
      action: 'call_denied',
      decision_name: 'tool_definition_changed',
    });
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
    const older = vi
      .spyOn(store.tools, 'getPins')
      .mockResolvedValue({ mode: 'observe', sequence: 1, pins: [] });
    third.pins.changed('files');
    await expect.poll(() => third.told.join()).toContain('older than those in use');
    expect(third.pins.mode).toBe('hold');
    older.mockRestore();
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

describe('a guarded server', () => {
  const guardOf = (): Guard =>
    Guard.fromYaml(noContracts, {
      hub: new HubClient({ url: 'http://localhost:1', apiKey: 'k', agentId: 'agent-1', fetch }),
      openTelemetry: null,
    });
  const clientOf = async (server: {
    connect(transport: InMemoryTransport): Promise<void>;
  }): Promise<Client> => {
    const [one, other] = InMemoryTransport.createLinkedPair();
    const client = new Client({ name: 'test', version: '1.0.0' });
    await Promise.all([server.connect(one), client.connect(other)]);
    return client;
  };
  const shown = async () => (await entries()).map(({ server, tool }) => [server, tool]);

  it('reports its tools and each change, and refuses nothing', async () => {
    await mode('deny');
    const guard = guardOf();
    const server = guardServer(
      guard,
      new McpServer({ name: 'Shop', version: '3' }, { instructions: 'Be kind.' }),
    );
    const tool = server.registerTool('pay', { inputSchema: { amount: z.number() } }, () => ({ content: [] }));
    const client = await clientOf(server);
    await client.listTools();
    await expect.poll(shown).toEqual([
      ['Shop', '(instructions)'],
      ['Shop', 'pay'],
    ]);
    tool.update({ description: 'pays at once' });
    await client.listTools();
    await expect.poll(async () => (await entries()).length).toBe(3);
    expect(await client.callTool({ name: 'pay', arguments: { amount: 1 } })).toEqual({ content: [] });
    await client.close();
    await guard.close();
  });

  it('reports all pages of its list together, under the label that it is given', async () => {
    const guard = guardOf();
    const low = new Server({ name: 'Shop', version: '3' }, { capabilities: { tools: {} } });
    const server = guardServer(guard, low, { server: 'shop' });
    server.setRequestHandler(ListToolsRequestSchema, async ({ params }) =>
      params?.cursor === 'more' ? { tools: [pages[1]] } : { tools: [pages[0]], nextCursor: 'more' },
    );
    const pages = [read, write].map((one) => ({ ...one, inputSchema: { type: 'object' as const } }));
    const client = await clientOf(server);
    await client.listTools();
    await client.listTools({ cursor: 'more' });
    await expect.poll(shown).toEqual([
      ['shop', 'read'],
      ['shop', 'write'],
    ]);
    expect(() => guardServer(guard, new McpServer({ name: 'a', version: '1' }), { server: '' })).toThrow(
      TypeError,
    );
    await client.close();
    await guard.close();
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

  it('a tool with a rejected definition is refused where the server cannot be listed, in observe too', async () => {
    const localPins = [{ tool: 'read', fingerprint: 'a'.repeat(64), decision: 'rejected' }] as const;
    const tooMany = Array.from({ length: 10_001 }, (_, n) => ({ ...read, name: `tool_${n}` }));
    const local = { http: null, hubUrl: null, pinFile: null, localPins };
    const unlisted = await proxy(tooMany, local);
    expect(await answer(unlisted, 'read')).toContain('was rejected');
    expect(await answer(unlisted, 'write')).toBe('done');
    expect(await answer(await proxy([read], local), 'read')).toBe('done');
  });

  it('a person accepts what the server listed last, tool by tool or all of it', async () => {
    const file = join(folder, 'pins.json');
    const named = ['--pins', file, '--server', 'files', '--state', folder];
    const run = (...args: string[]) => pinsCommand.run([...args, ...named]);
    await expect(run('list')).rejects.toThrow('no proxy has listed the tools of files');
    const written: Promise<void>[] = [];
    const local = { http: null, hubUrl: null, pinFile: null, mode: 'deny' } as const;
    const keep = (tools: readonly object[]): void => {
      written.push(writeWhole(listingFile(folder, 'files'), JSON.stringify({ server: 'files', tools })));
    };
    await proxy([read, write], { ...local, onListing: keep });
    await until(() => written.length > 0, 'a listing');
    await Promise.all(written);
    expect(await run('list')).toBe(1);
    expect(await run('accept', 'none')).toBe(1);
    expect(await run('accept', 'read')).toBe(0);
    const localPins = (await readLocalPins(file)).files ?? [];
    expect(await listedNames(await proxy([read, write], { ...local, localPins }))).toEqual(['read']);
    expect(await run('list')).toBe(1);
    expect(await run('accept')).toBe(0);
    expect(await run('list')).toBe(0);
    await expect(pinsCommand.run(['list', '--server', 'files'])).rejects.toThrow('--pins');
    await expect(run('forget')).rejects.toThrow('list or accept');
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
