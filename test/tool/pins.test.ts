// Tool pins through the API: observations, modes, decisions, the signed document, frames, audit and notifications.
import { createHash } from 'node:crypto';
import { fingerprintOf, readPinDocument, readToolList, signedPinText } from 'reeve-agent/rules';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { memberRoles } from '../../src/shared/env-roles.ts';
import { type KeyCaller, makeHub, type TestHub, type UserCaller } from '../harness.ts';
import { startReceiver } from '../receiver.ts';

let t: TestHub;
let user: UserCaller;
let key: KeyCaller;
beforeEach(async () => {
  t = await makeHub();
  user = await t.tenant();
  key = t.key(user, 'production', 'agent-1');
});
afterEach(() => t.close());

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const listed = (tools: { readonly [name: string]: string }) =>
  readToolList(Object.entries(tools).map(([name, description]) => ({ name, description }))).tools.map(
    ({ name, definition }) => ({ name, fingerprint: fingerprintOf(definition, sha256), definition }),
  );
const observe = async (tools: readonly object[], over: object = {}, caller = key) =>
  (
    await t.call(
      'observeTools',
      { body: { agent_id: caller.agentId ?? 'default', server: 'files', tools, ...over } },
      caller,
    )
  ).body;
const list = async (query: { readonly [name: string]: string } = {}) =>
  (await t.call('listToolPins', { query: { env: 'production', ...query } }, user)).body;
const mode = (value: string, server: string | null = null) =>
  t.call('setPinMode', { body: { env: 'production', server, mode: value } }, user);
const decide = (pin_id: string, decision: string, envs = ['production'], caller = user) =>
  t.call('decideToolPin', { params: { pin_id }, body: { decision, envs, reason: 'reviewed' } }, caller);
const audited = async (): Promise<readonly unknown[]> =>
  (
    await t.hub.store.audit.list(
      user.tenantId,
      { from: null, to: null, actor: null, actions: null, subjects: ['tool'] },
      null,
      50,
    )
  ).map(({ entry }) => [entry.action_type, (entry.actor as { readonly display: string }).display]);

describe('an observation', () => {
  it('names the definitions that the hub lacks, takes them, and answers with the signed pins', async () => {
    const tools = listed({ read: 'reads', write: 'writes' });
    const bare = tools.map(({ name, fingerprint }) => ({ name, fingerprint }));
    const first = await observe(bare, { server_info: { name: 'Files', version: '1' } });
    expect(first.missing).toEqual(tools.map(({ fingerprint }) => fingerprint));
    expect((await observe(tools)).missing).toEqual([]);
    const { missing, pins } = await observe(bare);
    expect(missing).toEqual([]);
    expect(readPinDocument(pins.document)).toEqual({
      tenant: user.tenantId,
      env: 'production',
      server: 'files',
      mode: 'observe',
      sequence: 0,
      pins: [],
    });
    const text = new TextEncoder().encode(signedPinText(pins.document));
    expect(t.hub.secrets.verify(pins.public_key, text, pins.signature)).toBe(true);
    expect((await t.hub.store.signing.getActive(user.tenantId))?.publicKey).toBe(pins.public_key);
    const page = await list();
    expect(page.tools.map(({ tool, status }) => [tool, status])).toEqual([
      ['read', 'observed'],
      ['write', 'observed'],
    ]);
    expect(page.tools[0]).not.toHaveProperty('agent_count');
    const withAgents = await list({ include_agents: 'true' });
    expect(withAgents.tools.map((one) => one.agent_count)).toEqual([1, 1]);
    const id = page.tools[0]?.id ?? '';
    const { body } = await t.call('getToolPin', { params: { pin_id: id } }, user);
    expect(body).toMatchObject({
      definition: tools[0]?.definition,
      agents: [{ agent_id: 'agent-1' }],
      history: [{ id }],
    });
    await expect(t.call('getToolPin', { params: { pin_id: id } }, await t.tenant())).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  it('takes a definition as an object, too, and none that is another than its fingerprint says', async () => {
    const [tool] = listed({ read: 'reads' });
    const object = { ...tool, definition: { name: 'read', description: 'reads' } };
    expect((await observe([object])).missing).toEqual([]);
    for (const definition of ['{"name":"read","description":"other"}', 'no JSON', '{"name":"other"}']) {
      await expect(observe([{ ...tool, definition }])).rejects.toMatchObject({ code: 'validation_failed' });
    }
  });

  it('is of an agent that its key is bound to, and at most 60 a minute', async () => {
    const bound = { ...key, agentId: 'agent-1', agentPattern: 'agent-1' };
    await expect(observe([], { agent_id: 'agent-2' }, bound)).rejects.toMatchObject({ code: 'forbidden' });
    for (let i = 0; i < 60; i++) await observe([]);
    await expect(observe([])).rejects.toMatchObject({ code: 'rate_limited' });
    expect((await observe([], { agent_id: 'agent-3' })).missing).toEqual([]);
  });

  it('tells of tools that the agent refuses', async () => {
    await observe([], { refused: [{ name: 'Pay', problem: 'duplicate_name' }] });
    expect((await list()).servers).toMatchObject([
      { server: 'files', refused: [{ name: 'Pay', problem: 'duplicate_name' }], agent_id: 'agent-1' },
    ]);
  });
});

describe('modes', () => {
  it('of hold accept what is seen first; changed and new definitions wait until somebody decides', async () => {
    await mode('hold');
    t.newFrames();
    const first = await observe(listed({ read: 'v1' }));
    expect(readPinDocument(first.pins.document)?.pins).toMatchObject([
      { tool: 'read', decision: 'accepted' },
    ]);
    expect(t.newFrames().map(({ audience, data }) => [audience, data])).toEqual([
      [
        `agents:${user.tenantId}/production`,
        { type: 'tool_pins_changed', server: 'files', sequence: expect.any(Number) },
      ],
      [
        `dashboards:${user.tenantId}`,
        { type: 'tool_pins_changed', server: 'files', sequence: expect.any(Number), env: 'production' },
      ],
    ]);
    const changed = await observe(listed({ read: 'v2', list: 'new' }));
    expect(changed.pins.document).toBe(first.pins.document);
    // Dashboards alone hear of it: no agent's pins changed.
    expect(t.newFrames().map(({ audience }) => audience)).toEqual([`dashboards:${user.tenantId}`]);
    const waiting = (await list()).tools.filter(({ status }) => status === 'waiting');
    expect(waiting.map(({ tool, changed: isChange }) => [tool, isChange])).toEqual([
      ['list', false],
      ['read', true],
    ]);
    await decide(waiting[1]?.id ?? '', 'accepted');
    expect(t.newFrames()).toHaveLength(2);
    const after = await t.call('getPinDocument', { query: { server: 'files' } }, key);
    const document = readPinDocument(after.body.document);
    expect(document?.pins.map(({ tool, decision }) => [tool, decision])).toEqual([
      ['read', 'accepted'],
      ['read', 'accepted'],
    ]);
    expect(document?.sequence).toBeGreaterThan(readPinDocument(first.pins.document)?.sequence ?? 0);
    expect(await audited()).toEqual([
      ['tool.accepted', user.email],
      ['tool.changed', 'agent-1'],
      ['tool.first_seen', 'first_seen'],
      ['tool.mode_changed', user.email],
    ]);
  });

  it('are set by admins, and hold for a server of its own', async () => {
    const member = { ...user, roles: memberRoles };
    await expect(
      t.call('setPinMode', { body: { env: 'production', server: null, mode: 'deny' } }, member),
    ).rejects.toMatchObject({ code: 'forbidden' });
    await mode('deny', 'files');
    expect(readPinDocument((await observe([])).pins.document)?.mode).toBe('deny');
    expect(readPinDocument((await observe([], { server: 'mail' })).pins.document)?.mode).toBe('observe');
    await expect(
      t.call('setPinMode', { body: { env: 'production', server: null, mode: null } }, user),
    ).rejects.toMatchObject({ code: 'validation_failed' });
  });
});

describe('a decision', () => {
  it('holds in the chosen environments, once each, and a repeat changes nothing', async () => {
    await observe(listed({ read: 'v1' }));
    const [pin] = (await list()).tools;
    const { body } = await decide(pin?.id ?? '', 'rejected', ['production', 'staging']);
    expect(body).toMatchObject({ status: 'rejected', reason: 'reviewed', decided_by: user.email });
    const before = await audited();
    await decide(pin?.id ?? '', 'rejected', ['production', 'staging']);
    expect(await audited()).toEqual(before);
    expect(before).toHaveLength(2);
    const staging = await t.call('listToolPins', { query: { env: 'staging' } }, user);
    expect(staging.body.tools).toMatchObject([{ tool: 'read', status: 'rejected', env: 'staging' }]);
    const pins = await t.call('getPinDocument', { query: { server: 'files' } }, t.key(user, 'staging'));
    expect(readPinDocument(pins.body.document)).toMatchObject({
      env: 'staging',
      pins: [{ tool: 'read', decision: 'rejected' }],
    });
  });

  it('accepts nothing that nobody can read', async () => {
    const [tool] = listed({ read: 'v1' });
    await observe([{ name: 'read', fingerprint: tool?.fingerprint }]);
    const [pin] = (await list()).tools;
    await expect(decide(pin?.id ?? '', 'accepted')).rejects.toMatchObject({ code: 'conflict' });
    expect((await decide(pin?.id ?? '', 'rejected')).body.status).toBe('rejected');
  });
});

describe('a notification', () => {
  it('reaches the channels of the environment once for each observation that changed something', async () => {
    const receiver = await startReceiver();
    try {
      const channel = (name: string, filters: object | null) =>
        t.call(
          'createChannel',
          { body: { name, channel_type: 'webhook', config: { url: `${receiver.url}/${name}` }, filters } },
          user,
        );
      await channel('all', null);
      await channel('staging', { environments: ['staging'] });
      await observe(listed({ read: 'v1', write: 'v1' }));
      await observe(listed({ read: 'v2', write: 'v2' }));
      await observe(listed({ read: 'v2', write: 'v2' }));
      const [request] = await receiver.atLeast(1);
      const [pin] = (await list()).tools.filter(({ changed }) => changed);
      expect(request?.path).toBe('/all');
      expect(request?.body).toMatchObject({
        event: 'tool_definition_changed',
        tool_pin_id: pin?.id,
        server: 'files',
        tool: 'read',
        env: 'production',
        changed: true,
        waiting: false,
        undecided: 4,
        link: expect.stringContaining(`/dashboard/tools/${pin?.id}`),
      });
      await observe(listed({ read: 'v3' }));
      await receiver.atLeast(2);
      expect(receiver.received.map(({ path }) => path)).toEqual(['/all', '/all']);
    } finally {
      await receiver.close();
    }
  });
});
