// Tool definitions in MongoDB: a document for each environment decides (tool-document.ts); rows have the texts and the
// agents. A row whose entry the document does not have means nothing.
import type { AnyBulkWriteOperation, Collection } from 'mongodb';
import type { KeyedMutex } from '../../src/shared/concurrency/keyed-mutex.ts';
import { type Env, environments } from '../../src/shared/ids.ts';
import type { ToolStore } from '../../src/tool/port.ts';
import type { DefinitionAgent, ToolDefinition, ToolEntry, ToolObservation } from '../../src/tool/record.ts';
import { planObservation } from '../../src/tool/rules/observation.ts';
import { agentsAfter, isStale } from '../../src/tool/rules/observers.ts';
import { firstSeenOf, firstSeenRuling, nextPinSequence } from '../../src/tool/rules/pinning.ts';
import { unlessTaken } from './failure.ts';
import { pageIn } from './page.ts';
import {
  byTool,
  documentId,
  entriesIn,
  entryPath,
  newToolDocument,
  observationState,
  ownModeIn,
  pinsIn,
  planFields,
  type StoredEntry,
  serverFields,
  serverPath,
  serversIn,
  type ToolDocument,
} from './tool-document.ts';
import { decide, readVersioned, type Step } from './versioned-document.ts';

/** Texts and agents of an entry, under its id. */
export interface DefinitionRow
  extends Pick<ToolDefinition, 'tenantId' | 'env' | 'server' | 'tool' | 'lastSeenAt' | 'definition'> {
  readonly _id: string;
  /** JSON of the agents. */
  readonly agents: string;
  /** Set when its entry has a ruling, so that `remove` does not read it again. */
  readonly isRuled?: boolean;
}

const agentsOf = (row: Pick<DefinitionRow, 'agents'> | undefined): readonly DefinitionAgent[] =>
  row === undefined ? [] : (JSON.parse(row.agents) as readonly DefinitionAgent[]);

/** A row may be missing after a crash: then the entry was last seen when it was first seen. */
const toEntry = (
  { isAnnounced: _isAnnounced, ...entry }: StoredEntry,
  row: Pick<DefinitionRow, 'lastSeenAt'> | undefined,
): ToolEntry => ({ ...entry, lastSeenAt: row?.lastSeenAt ?? entry.firstSeenAt });

const toDefinition = (entry: StoredEntry, row: DefinitionRow | undefined): ToolDefinition => ({
  ...toEntry(entry, row),
  definition: row?.definition ?? null,
  agents: agentsOf(row),
});

/** The write that a observation needs for one row: none or one. @param definition null: the row's text stays */
function writesOf(
  { agentId, at }: ToolObservation,
  { id, tenantId, env, server, tool }: StoredEntry,
  row: DefinitionRow | undefined,
  definition: string | null,
): readonly AnyBulkWriteOperation<DefinitionRow>[] {
  if (!row) {
    const agents = JSON.stringify([{ agentId, firstSeenAt: at, lastSeenAt: at }]);
    const $setOnInsert = { tenantId, env, server, tool, lastSeenAt: at, agents, definition };
    return [{ updateOne: { filter: { _id: id }, update: { $setOnInsert }, upsert: true } }];
  }
  const agents = agentsAfter(agentsOf(row), agentId, at);
  const lacksText = row.definition === null && definition !== null;
  if (agents === null && !lacksText && !isStale(row.lastSeenAt, at)) return [];
  const $set = {
    lastSeenAt: Math.max(row.lastSeenAt, at),
    ...(agents === null ? {} : { agents: JSON.stringify(agents) }),
    ...(lacksText ? { definition } : {}),
  };
  // Another writer's agents stay: this agent is noted with its next observation.
  const filter = { _id: id, ...(lacksText ? {} : { agents: row.agents }) };
  return [{ updateOne: { filter, update: { $set } } }];
}

class DefinitionRows {
  readonly #rows: Collection<DefinitionRow>;

  constructor(rows: Collection<DefinitionRow>) {
    this.#rows = rows;
  }

  async byIds(ids: readonly string[]): Promise<ReadonlyMap<string, DefinitionRow>> {
    const rows = await this.#rows.find({ _id: { $in: [...ids] } }).toArray();
    return new Map(rows.map((row) => [row._id, row]));
  }

  async unseenIds(tenantId: string, env: Env, before: number): Promise<ReadonlySet<string>> {
    const filter = { tenantId, env, lastSeenAt: { $lt: before } };
    const rows = await this.#rows.find(filter, { projection: { _id: 1 } }).toArray();
    return new Set(rows.map(({ _id }) => _id));
  }

  /**
   * Writes texts that are missing and the agent; another writer's agents are never lost.
   * @param entries of the observation's definitions
   * @returns ids of entries with room for their text, whose text nobody sent
   */
  async touch(
    observation: ToolObservation,
    entries: ReadonlyMap<string, StoredEntry>,
  ): Promise<readonly string[]> {
    const stored = await this.byIds([...entries.keys()]);
    const writes: AnyBulkWriteOperation<DefinitionRow>[] = [];
    const lacking: string[] = [];
    for (const tool of observation.tools) {
      const entry = entries.get(tool.id);
      if (!entry) continue;
      const row = stored.get(tool.id);
      const definition = entry.bytes > 0 ? tool.definition : null;
      if (entry.bytes > 0 && definition === null && !row?.definition) lacking.push(tool.id);
      writes.push(...writesOf(observation, entry, row, definition));
    }
    if (writes.length > 0) await this.#rows.bulkWrite(writes, { ordered: false });
    return lacking;
  }

  /** The row of an entry that a person decided about before an agent saw it. */
  async copy(entry: StoredEntry, at: number, definition: string | null): Promise<void> {
    const { id, tenantId, env, server, tool } = entry;
    const row = { tenantId, env, server, tool, lastSeenAt: at, agents: '[]', definition, isRuled: true };
    await unlessTaken(this.#rows.updateOne({ _id: id }, { $setOnInsert: row }, { upsert: true }));
  }

  unruled(before: number, limit: number): Promise<DefinitionRow[]> {
    const filter = { lastSeenAt: { $lt: before }, isRuled: { $ne: true } };
    return this.#rows.find(filter).limit(limit).toArray();
  }

  async remove(ids: readonly string[], before: number): Promise<void> {
    if (ids.length > 0) await this.#rows.deleteMany({ _id: { $in: [...ids] }, lastSeenAt: { $lt: before } });
  }

  async markRuled(ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.#rows.updateMany({ _id: { $in: [...ids] } }, { $set: { isRuled: true } });
  }

  one(tenantId: string, id: string): Promise<DefinitionRow | null> {
    return this.#rows.findOne({ _id: id, tenantId });
  }
}

export interface ToolCollections {
  readonly documents: Collection<ToolDocument>;
  readonly rows: Collection<DefinitionRow>;
}

export function mongoTools({ documents, rows: collection }: ToolCollections, turn: KeyedMutex): ToolStore {
  const rows = new DefinitionRows(collection);
  const read = (tenantId: string, env: Env, fields?: readonly string[]) =>
    readVersioned(documents, documentId(tenantId, env), fields);
  async function change<A>(
    tenantId: string,
    env: Env,
    step: (document: ToolDocument) => Promise<Step<A>> | Step<A>,
  ): Promise<A> {
    const id = documentId(tenantId, env);
    if ((await read(tenantId, env, ['mode'])) === null) {
      await unlessTaken(documents.insertOne(newToolDocument(tenantId, env)));
    }
    return decide<ToolDocument, A>(turn, documents, id, (document) =>
      step(document ?? newToolDocument(tenantId, env)),
    );
  }
  const parts = { documents, rows, read, change };
  return {
    ...readsOf(parts),
    ...decisionsOf(parts),
    observe: (observation, unseenBefore, rooms) => observe(parts, observation, unseenBefore, rooms),
    async removeBefore(before, limit) {
      for (;;) {
        const unseen = await rows.unruled(before, limit);
        const removed = await removeRows(parts, unseen, before);
        // Rows of entries with a ruling, and rows without an entry, are done with: others may follow them.
        if (removed > 0 || unseen.length === 0) return removed;
      }
    },
  };
}

/** Removes the entries of these rows that have no ruling; returns how many. None of the rows is unruled afterwards. */
async function removeRows(
  { rows, read, change }: Parts,
  unseen: readonly DefinitionRow[],
  before: number,
): Promise<number> {
  const places = new Map(unseen.map(({ tenantId, env }) => [documentId(tenantId, env), { tenantId, env }]));
  let removed = 0;
  for (const { tenantId, env } of places.values()) {
    const ids = new Set(
      unseen.filter((row) => row.tenantId === tenantId && row.env === env).map(({ _id }) => _id),
    );
    const gone = await change(tenantId, env, (document) => {
      const entries = entriesIn(document, null).filter(({ id, ruling }) => ids.has(id) && ruling === null);
      const unset = entries.map(entryPath);
      return { answer: entries.length, ...(unset.length > 0 ? { unset } : {}) };
    });
    const left = entriesIn(await read(tenantId, env), null).flatMap(({ id }) => (ids.has(id) ? [id] : []));
    await rows.markRuled(left);
    await rows.remove(
      [...ids].filter((id) => !left.includes(id)),
      before,
    );
    removed += gone;
  }
  return removed;
}

interface Parts {
  readonly documents: Collection<ToolDocument>;
  readonly rows: DefinitionRows;
  readonly read: (tenantId: string, env: Env, fields?: readonly string[]) => Promise<ToolDocument | null>;
  readonly change: <A>(
    tenantId: string,
    env: Env,
    step: (document: ToolDocument) => Promise<Step<A>> | Step<A>,
  ) => Promise<A>;
}

async function observe(
  { documents, rows, read, change }: Parts,
  observation: ToolObservation,
  unseenBefore: number,
  rooms: Parameters<ToolStore['observe']>[2],
): ReturnType<ToolStore['observe']> {
  const { tenantId, env, server, keyId, tools } = observation;
  const before = await read(tenantId, env, serverFields(server));
  const complete = new Set(entriesIn(before, server).flatMap(({ id, bytes }) => (bytes > 0 ? [id] : [])));
  const isPlain = before !== null && tools.every(({ id }) => complete.has(id));
  const plan = isPlain
    ? { lacking: [], withoutRoom: [] }
    : await change(tenantId, env, async (document) => {
        let removed: readonly StoredEntry[] = [];
        let answer = planObservation(
          observationState(document, server, keyId, new Set()),
          observation,
          rooms,
        );
        if (answer.withoutRoom.length > 0) {
          const unseen = await rows.unseenIds(tenantId, env, unseenBefore);
          removed = entriesIn(document, null).filter(({ id, ruling }) => ruling === null && unseen.has(id));
          const without = new Set(removed.map(({ id }) => id));
          answer = planObservation(observationState(document, server, keyId, without), observation, rooms);
        }
        const set = planFields(document, server, answer);
        // An entry that this observation contains again is written, not removed.
        const unset = removed.map(entryPath).filter((path) => !(path in set));
        const isChange = Object.keys(set).length > 0 || unset.length > 0;
        return { answer, ...(isChange ? { set, ...(unset.length > 0 ? { unset } : {}) } : {}) };
      });
  const after = await read(tenantId, env, serverFields(server));
  const entries = [...entriesIn(after, server)].sort(byTool);
  const lacking = await rows.touch(observation, new Map(entries.map((entry) => [entry.id, entry])));
  await noteServer(documents, after, observation);
  return {
    ...pinsIn(after, server),
    lacking: [...new Set([...plan.lacking, ...lacking])],
    withoutRoom: plan.withoutRoom,
    unannounced: entries.filter(({ isAnnounced }) => !isAnnounced).map((entry) => toEntry(entry, undefined)),
  };
}

/** Fields of a server that no decision depends on: they change without the document's revision. */
async function noteServer(
  documents: Collection<ToolDocument>,
  document: ToolDocument | null,
  { tenantId, env, server, info, refused, agentId, at }: ToolObservation,
): Promise<void> {
  const stored = serversIn(document).find((one) => one.server === server);
  const isSame = JSON.stringify([stored?.info, stored?.refused]) === JSON.stringify([info, refused]);
  if (stored && isSame && !isStale(stored.lastSeenAt, at)) return;
  const lastSeenAt = Math.max(stored?.lastSeenAt ?? 0, at);
  const fields = Object.entries({ server, info, refused, agentId, lastSeenAt });
  const $set = Object.fromEntries(fields.map(([name, value]) => [`${serverPath(server)}.${name}`, value]));
  await documents.updateOne({ _id: documentId(tenantId, env) }, { $set });
}

function readsOf({
  rows,
  read,
}: Parts): Pick<ToolStore, 'getPins' | 'listServers' | 'listEntries' | 'get' | 'listHistory'> {
  return {
    getPins: async (tenantId, env, server) => pinsIn(await read(tenantId, env, serverFields(server)), server),
    async listServers(tenantId, env) {
      const document = await read(tenantId, env, ['mode', 'sequence', 'servers']);
      const { mode, sequence } = document ?? newToolDocument(tenantId, env);
      return { mode, sequence, servers: serversIn(document) };
    },
    async listEntries(tenantId, { env, server }, page) {
      const document = await read(tenantId, env, server === null ? undefined : serverFields(server));
      const sorted = [...entriesIn(document, server)].sort(
        (a, b) => Number(a.ruling !== null) - Number(b.ruling !== null) || byTool(a, b),
      );
      const { items, more } = pageIn(sorted, page, (entry) => entry);
      const definitions = await rows.byIds(items.map(({ id }) => id));
      return {
        items: items.map((entry) => {
          const row = definitions.get(entry.id);
          return { ...toEntry(entry, row), agentCount: agentsOf(row).length };
        }),
        more,
      };
    },
    async get(tenantId, id) {
      const row = await rows.one(tenantId, id);
      if (row === null) return null;
      const document = await read(tenantId, row.env, serverFields(row.server));
      const entry = entriesIn(document, row.server).find((one) => one.id === id);
      return entry ? toDefinition(entry, row) : null;
    },
    async listHistory(tenantId, server, tool, limit) {
      const documents = await Promise.all(
        environments.map((env) => read(tenantId, env, serverFields(server))),
      );
      const entries = documents
        .flatMap((document) => entriesIn(document, server))
        .filter((entry) => entry.tool === tool)
        .sort(byTool)
        .slice(0, limit);
      const definitions = await rows.byIds(entries.map(({ id }) => id));
      return entries.flatMap((entry) =>
        definitions.has(entry.id) ? [toDefinition(entry, definitions.get(entry.id))] : [],
      );
    },
  };
}

function decisionsOf({ rows, change }: Parts): Pick<ToolStore, 'announced' | 'decide' | 'updateMode'> {
  return {
    announced: (tenantId, env, ids) =>
      change(tenantId, env, (document) => {
        const entries = entriesIn(document, null).filter(
          ({ id, isAnnounced }) => !isAnnounced && ids.includes(id),
        );
        const set = Object.fromEntries(entries.map((entry) => [`${entryPath(entry)}.isAnnounced`, true]));
        return { answer: undefined, ...(entries.length > 0 ? { set } : {}) };
      }),
    async decide({ tenantId, env, from, id, ruling }) {
      const { server, tool, fingerprint, bytes, definition } = from;
      const at = ruling.decidedAt;
      const copy = { id, tenantId, env, server, tool, fingerprint, bytes, keyId: null, firstSeenAt: at };
      const result = await change(tenantId, env, (document) => {
        const entries = entriesIn(document, server);
        const entry = entries.find((one) => one.id === id);
        const previous = entry?.ruling?.decision ?? null;
        if (previous === ruling.decision) return { answer: null };
        const isChange = entries.some((one) => one.tool === tool);
        const sequence = nextPinSequence(document.sequence, at);
        const path = entryPath({ server, id });
        const set = entry
          ? { [`${path}.ruling`]: ruling, sequence }
          : {
              [path]: { ...copy, isChange, ruling, isAnnounced: true },
              [`${serverPath(server)}.server`]: server,
              sequence,
            };
        return { answer: { sequence, previous }, set };
      });
      const stored = { ...copy, isChange: false, ruling, isAnnounced: true };
      await rows.copy(stored, at, definition);
      await rows.markRuled([id]);
      return result;
    },
    updateMode: ({ tenantId, env, server, mode, at }) =>
      change(tenantId, env, (document) => {
        if (mode === (server === null ? document.mode : ownModeIn(document, server))) return { answer: null };
        const environmentMode = server === null ? (mode ?? document.mode) : document.mode;
        const followers = entriesIn(document, server).filter(
          (entry) => server !== null || ownModeIn(document, entry.server) === null,
        );
        const isHold = (server === null ? environmentMode : (mode ?? environmentMode)) === 'hold';
        const accepted = isHold ? firstSeenOf(followers) : [];
        const sequence = nextPinSequence(document.sequence, at);
        const set: { [path: string]: unknown } = { sequence, mode: environmentMode };
        if (server !== null) {
          set[`${serverPath(server)}.server`] = server;
          set[`${serverPath(server)}.ownMode`] = mode;
        }
        for (const entry of accepted) set[`${entryPath(entry)}.ruling`] = firstSeenRuling(at);
        return { answer: { sequence, accepted: accepted.length }, set };
      }),
  };
}
