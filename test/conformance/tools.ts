// Every store's promises about tool definitions, decisions and modes (tool/port, ToolStore).
import { describe, expect, it } from 'vitest';
import type { ToolStore } from '../../src/tool/port.ts';
import {
  environmentRoom,
  keyRoom,
  type PinRuling,
  type Rooms,
  type ToolDefinition,
  type ToolObservation,
} from '../../src/tool/record.ts';
import { entryIdOf } from '../../src/tool/rules/identity.ts';
import { rowsFor } from '../runs.ts';
import { firstPage, hostileTexts, type Open, parallel, sha256, sharedStore, t0, uuid } from './fixtures.ts';

const rooms: Rooms = { environment: environmentRoom, key: keyRoom };
const definitionOf = (tool: string, description: string): string =>
  `{"description":${JSON.stringify(description)},"name":${JSON.stringify(tool)}}`;
const fingerprintOf = (tool: string, description: string): string =>
  `sha256:${sha256(definitionOf(tool, description))}`;

type Shown = { readonly [tool: string]: string };

/** A observation of tools, name → description. @param over `texts: false`: fingerprints alone */
function observationOf(
  tenantId: string,
  tools: Shown,
  { texts = true, ...over }: Partial<ToolObservation> & { readonly texts?: boolean } = {},
): ToolObservation {
  const { env = 'production', server = 'files' } = over;
  return {
    tenantId,
    env,
    server,
    info: { name: 'Files', version: '1.0' },
    refused: [],
    agentId: 'agent-1',
    keyId: 'key-1',
    at: t0,
    ...over,
    tools: Object.entries(tools).map(([tool, description]) => {
      const fingerprint = fingerprintOf(tool, description);
      const definition = definitionOf(tool, description);
      return {
        id: entryIdOf({ tenantId, env, server, tool, fingerprint }, sha256),
        tool,
        fingerprint,
        definition: texts ? definition : null,
        bytes: texts ? definition.length : 0,
      };
    }),
  };
}

const ruling = (decision: PinRuling['decision'], at = t0): PinRuling => ({
  decision,
  decidedBy: 'ann@example.com',
  decidedAt: at,
  reason: 'reviewed',
});

const observe = (tools: ToolStore, observation: ToolObservation, room = rooms) =>
  tools.observe(observation, 0, room);
const setMode = (tools: ToolStore, tenantId: string, mode: 'observe' | 'hold' | 'deny', at = t0) =>
  tools.updateMode({ tenantId, env: 'production', server: null, mode, at });

export function toolsContract(name: string, open: Open): void {
  describe(`${name}: tool definitions`, () => {
    const shared = sharedStore(open);
    const entryOf = async (id: string, tenantId: string): Promise<ToolDefinition> => {
      const entry = await shared.get().tools.get(tenantId, id);
      if (!entry) throw new Error(`no entry ${id}`);
      return entry;
    };

    it('are stored once, with their text as soon as an agent sends it, and who saw them', async () => {
      const { tools } = shared.get();
      const tenantId = uuid();
      const bare = observationOf(tenantId, { read: 'a', write: 'b' }, { texts: false });
      const first = await observe(tools, bare);
      expect(first).toMatchObject({
        mode: 'observe',
        sequence: 0,
        pins: [],
        withoutRoom: [],
        unannounced: [],
      });
      expect(first.lacking).toEqual(bare.tools.map(({ id }) => id));
      const whole = observationOf(tenantId, { read: 'a', write: 'b' }, { agentId: 'agent-2', at: t0 + 5 });
      expect((await observe(tools, whole)).lacking).toEqual([]);
      expect((await observe(tools, bare)).lacking).toEqual([]);
      const [id = ''] = bare.tools.map((tool) => tool.id);
      expect(await entryOf(id, tenantId)).toEqual({
        id,
        tenantId,
        env: 'production',
        server: 'files',
        tool: 'read',
        fingerprint: fingerprintOf('read', 'a'),
        bytes: definitionOf('read', 'a').length,
        keyId: 'key-1',
        firstSeenAt: t0,
        lastSeenAt: t0 + 5,
        isChange: false,
        ruling: null,
        definition: definitionOf('read', 'a'),
        agents: [
          { agentId: 'agent-1', firstSeenAt: t0, lastSeenAt: t0 },
          { agentId: 'agent-2', firstSeenAt: t0 + 5, lastSeenAt: t0 + 5 },
        ],
      });
      const { items } = await tools.listEntries(tenantId, { env: 'production', server: null }, firstPage);
      expect(items.map(({ tool, agentCount }) => [tool, agentCount])).toEqual([
        ['read', 2],
        ['write', 2],
      ]);
      expect(await tools.get(uuid(), id)).toBeNull();
    });

    it('note an agent again after an hour, and a server when its listing differs', async () => {
      const { tools } = shared.get();
      const tenantId = uuid();
      await observe(tools, observationOf(tenantId, { read: 'a' }));
      const refused = [{ name: 'Read', problem: 'duplicate_name' as const }];
      await observe(tools, observationOf(tenantId, { read: 'a' }, { at: t0 + 3_599_999, refused }));
      const { servers } = await tools.listServers(tenantId, 'production');
      expect(servers).toEqual([
        {
          server: 'files',
          ownMode: null,
          info: { name: 'Files', version: '1.0' },
          refused,
          agentId: 'agent-1',
          lastSeenAt: t0 + 3_599_999,
        },
      ]);
      const { items } = await tools.listEntries(tenantId, { env: 'production', server: 'files' }, firstPage);
      expect(items[0]?.lastSeenAt).toBe(t0);
      await observe(tools, observationOf(tenantId, { read: 'a' }, { at: t0 + 3_600_000 }));
      const [entry] = (await tools.listEntries(tenantId, { env: 'production', server: 'files' }, firstPage))
        .items;
      expect(entry).toMatchObject({ firstSeenAt: t0, lastSeenAt: t0 + 3_600_000 });
      expect((await entryOf(entry?.id ?? '', tenantId)).agents).toEqual([
        { agentId: 'agent-1', firstSeenAt: t0, lastSeenAt: t0 + 3_600_000 },
      ]);
    });

    it('are accepted as first seen in hold, once, and later ones wait', async () => {
      const { tools } = shared.get();
      const tenantId = uuid();
      expect(await setMode(tools, tenantId, 'hold')).toEqual({ sequence: t0, accepted: 0 });
      // Two definitions of each tool arrive at once, from several nodes.
      const answers = await parallel(10, (i) =>
        observe(tools, observationOf(tenantId, { read: `v${i % 2}`, write: `v${i % 2}` }, { at: t0 + i })),
      );
      const { mode, pins, sequence } = await tools.getPins(tenantId, 'production', 'files');
      expect(mode).toBe('hold');
      expect(pins.map(({ tool, decision }) => [tool, decision])).toEqual([
        ['read', 'accepted'],
        ['write', 'accepted'],
      ]);
      const accepted = pins.map(({ fingerprint }) => fingerprint);
      const winner = accepted.includes(fingerprintOf('read', 'v0')) ? 'v0' : 'v1';
      expect(accepted).toEqual([fingerprintOf('read', winner), fingerprintOf('write', winner)]);
      for (const answer of answers) expect(answer.pins).toEqual(pins);
      expect(sequence).toBeGreaterThan(t0);

      const later = await observe(
        tools,
        observationOf(tenantId, { read: winner, list: 'new' }, { at: t0 + 20 }),
      );
      expect(later).toMatchObject({ pins, sequence });
      const waiting = later.unannounced.filter((entry) => entry.ruling === null);
      expect(waiting.map(({ tool, isChange }) => [tool, isChange])).toEqual([
        ['list', false],
        ['read', true],
        ['write', true],
      ]);
      expect(
        later.unannounced.filter((entry) => entry.ruling !== null).map((e) => e.ruling?.decidedBy),
      ).toEqual(['first_seen', 'first_seen']);
      await tools.announced(
        tenantId,
        'production',
        later.unannounced.map(({ id }) => id),
      );
      const again = await observe(tools, observationOf(tenantId, { read: winner }, { at: t0 + 21 }));
      expect(again.unannounced).toEqual([]);
    });

    it('wait in deny, and changes alone are noteworthy in observe', async () => {
      const { tools } = shared.get();
      const tenantId = uuid();
      expect((await observe(tools, observationOf(tenantId, { read: 'a' }))).unannounced).toEqual([]);
      const changed = await observe(tools, observationOf(tenantId, { read: 'b', list: 'a' }));
      expect(changed.unannounced.map(({ tool, isChange }) => [tool, isChange])).toEqual([['read', true]]);
      await tools.announced(
        tenantId,
        'production',
        changed.unannounced.map(({ id }) => id),
      );
      await setMode(tools, tenantId, 'deny');
      const denied = await observe(tools, observationOf(tenantId, { other: 'a' }, { server: 'mail' }));
      expect(denied).toMatchObject({ mode: 'deny', pins: [] });
      expect(denied.unannounced.map(({ tool }) => tool)).toEqual(['other']);
    });

    it('are decided, again and otherwise, and every change has a higher sequence', async () => {
      const { tools } = shared.get();
      const tenantId = uuid();
      const observation = observationOf(tenantId, { read: 'a' });
      await observe(tools, observation);
      const id = observation.tools[0]?.id ?? '';
      const from = await entryOf(id, tenantId);
      const change = { tenantId, env: 'production' as const, from, id };
      const accepted = await tools.decide({ ...change, ruling: ruling('accepted') });
      expect(accepted).toEqual({ sequence: t0, previous: null });
      expect(await tools.decide({ ...change, ruling: ruling('accepted', t0 + 9) })).toBeNull();
      const rejected = await tools.decide({ ...change, ruling: ruling('rejected') });
      expect(rejected).toEqual({ sequence: t0 + 1, previous: 'accepted' });
      expect(await tools.getPins(tenantId, 'production', 'files')).toEqual({
        mode: 'observe',
        sequence: t0 + 1,
        pins: [{ tool: 'read', fingerprint: fingerprintOf('read', 'a'), decision: 'rejected' }],
      });
      expect((await entryOf(id, tenantId)).ruling).toEqual(ruling('rejected'));
    });

    it('are decided for an environment that has not seen them', async () => {
      const { tools } = shared.get();
      const tenantId = uuid();
      const observation = observationOf(tenantId, { read: 'a' });
      await observe(tools, observation);
      const from = await entryOf(observation.tools[0]?.id ?? '', tenantId);
      const id = entryIdOf({ ...from, env: 'staging' }, sha256);
      await tools.decide({ tenantId, env: 'staging', from, id, ruling: ruling('accepted', t0 + 3) });
      expect(await entryOf(id, tenantId)).toEqual({
        ...from,
        id,
        env: 'staging',
        keyId: null,
        firstSeenAt: t0 + 3,
        lastSeenAt: t0 + 3,
        agents: [],
        ruling: ruling('accepted', t0 + 3),
      });
      expect((await tools.listServers(tenantId, 'staging')).servers.map(({ server }) => server)).toEqual([
        'files',
      ]);
      expect((await tools.getPins(tenantId, 'production', 'files')).pins).toEqual([]);
      const both = await tools.listHistory(tenantId, 'files', 'read', 10);
      expect(both.map(({ env }) => env)).toEqual(['production', 'staging']);
    });

    it('of parallel decisions have the last one, which the pins show', async () => {
      const { tools } = shared.get();
      const tenantId = uuid();
      const observation = observationOf(tenantId, { read: 'a' });
      await observe(tools, observation);
      const id = observation.tools[0]?.id ?? '';
      const from = await entryOf(id, tenantId);
      const results = await parallel(12, (i) =>
        tools.decide({
          tenantId,
          env: 'production',
          from,
          id,
          ruling: ruling(i % 2 === 0 ? 'accepted' : 'rejected'),
        }),
      );
      const changes = results.flatMap((result, i) =>
        result ? [{ ...result, to: i % 2 === 0 ? 'accepted' : 'rejected' }] : [],
      );
      changes.sort((a, b) => a.sequence - b.sequence);
      expect(new Set(changes.map(({ sequence }) => sequence)).size).toBe(changes.length);
      // Each change begins where the one before it ended.
      expect(changes.map(({ previous }) => previous)).toEqual([
        null,
        ...changes.slice(0, -1).map(({ to }) => to),
      ]);
      const { pins, sequence } = await tools.getPins(tenantId, 'production', 'files');
      expect([pins[0]?.decision, sequence]).toEqual([changes.at(-1)?.to, changes.at(-1)?.sequence]);
      expect((await entryOf(id, tenantId)).ruling?.decision).toBe(changes.at(-1)?.to);
    });

    it('of a server with a mode of its own follow that one', async () => {
      const { tools } = shared.get();
      const tenantId = uuid();
      const own = (mode: 'hold' | 'deny' | null, at: number) =>
        tools.updateMode({ tenantId, env: 'production', server: 'mail', mode, at });
      await observe(tools, observationOf(tenantId, { read: 'a' }));
      await observe(tools, observationOf(tenantId, { send: 'a' }, { server: 'mail' }));
      await observe(tools, observationOf(tenantId, { send: 'b' }, { server: 'mail', at: t0 + 1 }));
      expect(await own('deny', t0 + 2)).toEqual({ sequence: t0 + 2, accepted: 0 });
      expect(await own('deny', t0 + 3)).toBeNull();
      expect(await setMode(tools, tenantId, 'hold', t0 + 4)).toEqual({ sequence: t0 + 4, accepted: 1 });
      expect(await tools.getPins(tenantId, 'production', 'mail')).toMatchObject({ mode: 'deny', pins: [] });
      expect(await own(null, t0 + 5)).toEqual({ sequence: t0 + 5, accepted: 1 });
      expect(await tools.getPins(tenantId, 'production', 'mail')).toEqual({
        mode: 'hold',
        sequence: t0 + 5,
        pins: [{ tool: 'send', fingerprint: fingerprintOf('send', 'a'), decision: 'accepted' }],
      });
      expect(await setMode(tools, tenantId, 'observe', t0)).toEqual({ sequence: t0 + 6, accepted: 0 });
      expect(await tools.listServers(uuid(), 'production')).toEqual({
        mode: 'observe',
        sequence: 0,
        servers: [],
      });
    });

    it('have room: of the environment and of each key, and the unseen undecided ones go first', async () => {
      const { tools } = shared.get();
      const tenantId = uuid();
      const room = {
        environment: { definitions: 3, bytes: 1000 },
        key: { definitions: 2, bytes: 1000 },
      };
      const first = observationOf(tenantId, { a: '1', b: '1', c: '1' });
      const full = await observe(tools, first, room);
      expect(full.withoutRoom).toEqual([first.tools[2]?.id]);
      const other = observationOf(tenantId, { c: '1', d: '1' }, { keyId: 'key-2', at: t0 + 10 });
      expect((await observe(tools, other, room)).withoutRoom).toEqual([other.tools[1]?.id]);
      // A decision keeps an entry; the other one of the first key makes room.
      const kept = await entryOf(first.tools[0]?.id ?? '', tenantId);
      await tools.decide({
        tenantId,
        env: 'production',
        from: kept,
        id: kept.id,
        ruling: ruling('rejected'),
      });
      expect((await tools.observe(other, t0 + 5, room)).withoutRoom).toEqual([]);
      const { items } = await tools.listEntries(tenantId, { env: 'production', server: null }, firstPage);
      expect(items.map(({ tool }) => tool)).toEqual(['c', 'd', 'a']);
      const large = observationOf(tenantId, { e: 'x'.repeat(2000) }, { keyId: 'key-3' });
      const wide = { ...room, environment: { definitions: 9, bytes: 1000 } };
      expect((await observe(tools, large, wide)).withoutRoom).toEqual(large.tools.map(({ id }) => id));
    });

    it('are forgotten behind those with a decision, and listed from the oldest, whatever the limit', async () => {
      const { tools } = shared.get();
      const tenantId = uuid();
      const times = [5, 0, 3].map((ms) => t0 - 1e9 + ms);
      const observations = times.map((at) => observationOf(tenantId, { a: String(at) }, { at }));
      for (const one of observations) await observe(tools, one);
      const [newest, oldest, middle] = observations.map((one) => one.tools[0]?.id ?? '');
      const server = observations[0]?.server ?? '';
      const history = (limit: number) => tools.listHistory(tenantId, server, 'a', limit);
      expect((await history(2)).map(({ id }) => id)).toEqual([oldest, middle]);
      const from = await entryOf(newest ?? '', tenantId);
      await tools.decide({ tenantId, env: 'production', from, id: from.id, ruling: ruling('accepted') });
      for (const left of [2, 1]) {
        expect(await tools.removeBefore(t0 - 1e8, 1)).toBe(1);
        expect(await history(9)).toHaveLength(left);
      }
      expect(await tools.removeBefore(t0 - 1e8, 1)).toBe(0);
    });

    it('without a decision are forgotten when nobody reports them, and no others', async () => {
      const { tools } = shared.get();
      const tenantId = uuid();
      const old = observationOf(tenantId, { a: '1', b: '1', c: '1' }, { at: t0 - 1e9 });
      await observe(tools, old);
      await observe(tools, observationOf(tenantId, { b: '1' }, { at: t0 }));
      const decided = await entryOf(old.tools[2]?.id ?? '', tenantId);
      await tools.decide({
        tenantId,
        env: 'production',
        from: decided,
        id: decided.id,
        ruling: ruling('accepted'),
      });
      expect(await tools.removeBefore(t0 - 1e8, 1000)).toBe(1);
      expect(await tools.removeBefore(t0 - 1e8, 1000)).toBe(0);
      const { items } = await tools.listEntries(tenantId, { env: 'production', server: null }, firstPage);
      expect(items.map(({ tool }) => tool)).toEqual(['b', 'c']);
      expect(await tools.get(tenantId, old.tools[0]?.id ?? '')).toBeNull();
    });

    it('keep hostile names apart', async () => {
      const { tools } = shared.get();
      const tenantId = uuid();
      const texts = hostileTexts.filter((text) => text !== '');
      const names = rowsFor(name, texts, 10);
      for (const server of names) {
        await observe(tools, observationOf(tenantId, { [server]: 'a', tool: 'b' }, { server }));
      }
      const { servers } = await tools.listServers(tenantId, 'production');
      expect(servers.map(({ server }) => server).sort()).toEqual([...names].sort());
      for (const server of names) {
        const page = await tools.listEntries(tenantId, { env: 'production', server }, firstPage);
        expect(page.items.map(({ tool }) => tool).sort()).toEqual([server, 'tool'].sort());
      }
    });
  });
}
