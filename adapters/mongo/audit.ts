// The audit chain in MongoDB. A link is one document with its entries; its unique number makes forks impossible and its
// entries' unique ids make repeats harmless, whichever nodes append. A note that goes with a write is kept as an intent
// before the write, and leaves it once it is in the chain: a process that dies in between leaves the intent, which any
// node records once that one is gone. No lease is needed to append. A node that does not know of its replacement reads
// an old head, and the number after that head is taken. Keeps promise P30.
import { hash } from 'node:crypto';
import type { Collection, Filter } from 'mongodb';
import type { AuditFilter, AuditStore, GoneNodes, Noting, PlacedAuditEntry } from '../../src/audit/port.ts';
import type { AuditPlace } from '../../src/audit/record.ts';
import {
  type AuditLink,
  type AuditNote,
  didChange,
  emptyChain,
  entriesOf,
  nextLink,
  type SignedHead,
  subjectOf,
  withAnswer,
} from '../../src/audit/record.ts';
import { maxSearchMs } from '../../src/event/record.ts';
import { createBatcher } from '../../src/shared/concurrency/batcher.ts';
import { HubError } from '../../src/shared/error.ts';
import { ChainHeads, type EntryKeys, type LinkRow } from './audit-links.ts';
import { isDuplicate, unavailable, unlessTaken } from './failure.ts';
import { deleteSome } from './removal.ts';

export interface HeadRow extends SignedHead {
  readonly _id: string;
  /** The kept chain starts behind it. */
  readonly starts?: true;
}

export interface IntentRow {
  readonly _id: string;
  /** By the clock of the node that writes, epoch milliseconds. */
  readonly at: number;
  /** The node that writes; absent where it has no name. */
  readonly node?: string;
  /** The note as JSON. */
  readonly note: string;
}

export interface AuditCollections {
  readonly links: Collection<LinkRow>;
  readonly heads: Collection<HeadRow>;
  readonly intents: Collection<IntentRow>;
}

/** Notes that one link takes at most, of those that wait while another link is written. */
const notesAtOnce = 500;
const callsAtOnce = 50;
/** Appends that lose to others' at one chain before one gives up. */
const tries = 200;

const sha256 = (value: string): string => hash('sha256', value, 'hex');
const intentId = ({ tenantId, id }: AuditNote): string => `${tenantId}/${id}`;

const keysOf = (note: AuditNote): EntryKeys => ({
  id: note.id,
  actors: [note.actor.id.toLowerCase(), note.actor.display.toLowerCase()],
  action: note.action,
  subjectType: subjectOf(note),
});

function filterOf(tenantId: string, filter: AuditFilter, before: AuditPlace | null): Filter<LinkRow> {
  const entry: { [field: string]: unknown } = {};
  if (filter.actor !== null) entry.actors = filter.actor.toLowerCase();
  if (filter.actions) entry.action = { $in: filter.actions };
  if (filter.subjects) entry.subjectType = { $in: filter.subjects };
  const at = {
    ...(filter.from === null ? {} : { $gte: filter.from }),
    ...(filter.to === null ? {} : { $lt: filter.to }),
  };
  return {
    tenantId,
    ...(Object.keys(at).length > 0 ? { at } : {}),
    ...(before ? { seq: { $lte: before.seq } } : {}),
    ...(Object.keys(entry).length > 0 ? { entries: { $elemMatch: entry } } : {}),
  } as Filter<LinkRow>;
}

const fits = (entry: EntryKeys, { actor, actions, subjects }: AuditFilter): boolean =>
  (actor === null || entry.actors.includes(actor.toLowerCase())) &&
  (actions === null || actions.includes(entry.action)) &&
  (subjects === null || (subjects as readonly string[]).includes(entry.subjectType));

const headIn = ({ _id, starts: _starts, ...signed }: HeadRow): SignedHead => signed;

async function startOf(heads: Collection<HeadRow>, tenantId: string): Promise<SignedHead | null> {
  const row = await heads.findOne({ tenantId, starts: true }, { sort: { seq: -1 } });
  return row && headIn(row);
}

/** The newest signed head whose link occurred before `before` and is not the newest. */
async function coveringHead(
  { links, heads }: Pick<AuditCollections, 'links' | 'heads'>,
  chainHeads: ChainHeads,
  tenantId: string,
  before: number,
): Promise<HeadRow | null> {
  const newest = await chainHeads.get(tenantId);
  if (!newest) return null;
  const last = await links.findOne(
    { tenantId, at: { $lt: before }, seq: { $lt: newest.seq } },
    { sort: { seq: -1 }, projection: { seq: 1 } },
  );
  if (!last) return null;
  for await (const row of heads.find({ tenantId, seq: { $lte: last.seq } }, { sort: { seq: -1 } })) {
    // A head counts for links that match its fields: its own link's digest is the proof.
    const link = await links.findOne({ tenantId, seq: row.seq }, { projection: { digest: 1 } });
    if (!link) return null;
    if (link.digest === row.digest) return row;
  }
  return null;
}

/** Appends what several calls bring. One that brings the same note twice brings it once. */
async function appendNow(
  links: Collection<LinkRow>,
  chainHeads: ChainHeads,
  tenantId: string,
  calls: readonly (readonly AuditNote[])[],
): Promise<true[]> {
  const notes = [...new Map(calls.flat().map((note) => [note.id, note])).values()];
  for (let from = 0; from < notes.length; from += notesAtOnce) {
    await appendLink(links, chainHeads, tenantId, notes.slice(from, from + notesAtOnce));
  }
  return calls.map(() => true as const);
}

async function unrecorded(
  links: Collection<LinkRow>,
  tenantId: string,
  notes: readonly AuditNote[],
): Promise<readonly AuditNote[]> {
  const recorded = await links
    .find({ tenantId, 'entries.id': { $in: notes.map(({ id }) => id) } }, { projection: { 'entries.id': 1 } })
    .toArray();
  const ids = new Set(recorded.flatMap(({ entries }) => entries.map(({ id }) => id)));
  return notes.filter(({ id }) => !ids.has(id));
}

async function appendLink(
  links: Collection<LinkRow>,
  chainHeads: ChainHeads,
  tenantId: string,
  notes: readonly AuditNote[],
): Promise<void> {
  let missing = notes;
  for (let i = 0; i < tries; i++) {
    const { link, at } = nextLink((await chainHeads.get(tenantId)) ?? emptyChain, missing, sha256);
    const row = { _id: `${tenantId}/${link.seq}`, tenantId, at, ...link, entries: missing.map(keysOf) };
    try {
      await links.insertOne(row);
      return;
    } catch (error) {
      // Another one was faster, with the number or with one of the entries.
      if (!isDuplicate(error)) throw error;
      missing = await unrecorded(links, tenantId, missing);
      if (missing.length === 0) return;
    }
  }
  throw unavailable();
}

async function readFeed(
  links: Collection<LinkRow>,
  tenantId: string,
  filter: AuditFilter,
  before: AuditPlace | null,
  limit: number,
): Promise<readonly PlacedAuditEntry[]> {
  const placed: PlacedAuditEntry[] = [];
  const rows = links.find(filterOf(tenantId, filter, before), {
    sort: { seq: -1 },
    limit: limit + 1,
    maxTimeMS: maxSearchMs,
  });
  for await (const { seq, body, entries } of rows) {
    const texts = entriesOf(body);
    for (let position = entries.length - 1; position >= 0 && placed.length < limit; position--) {
      const keys = entries[position];
      const entry = texts[position];
      const isBefore = before === null || seq < before.seq || position < before.position;
      if (keys && entry && isBefore && fits(keys, filter)) placed.push({ seq, position, entry });
    }
    if (placed.length >= limit) break;
  }
  return placed;
}

async function readLinks(
  links: Collection<LinkRow>,
  heads: Collection<HeadRow>,
  tenantId: string,
  from: number,
  to: number,
  maxBytes: number,
): Promise<readonly AuditLink[]> {
  const chain: AuditLink[] = [];
  let bytes = 0;
  const first = Math.max(from, ((await startOf(heads, tenantId))?.seq ?? 0) + 1);
  const rows = links.find({ tenantId, seq: { $gte: first, $lte: to } }, { sort: { seq: 1 } });
  for await (const { seq, prev, digest, body } of rows) {
    chain.push({ seq, prev, digest, body });
    bytes += Buffer.byteLength(body);
    if (bytes >= maxBytes) break;
  }
  return chain;
}

/** Times of links never decrease: a search by halves. Links that retention takes away count as earlier. */
async function lastBefore(links: Collection<LinkRow>, tenantId: string, time: number): Promise<number> {
  const end = async (seq: 1 | -1): Promise<number> =>
    (await links.findOne({ tenantId }, { sort: { seq }, projection: { seq: 1 } }))?.seq ?? 0;
  const first = await end(1);
  if (first === 0) return 0;
  let [low, high] = [first, (await end(-1)) + 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const row = await links.findOne({ tenantId, seq: middle }, { projection: { at: 1 } });
    if (!row || row.at < time) low = middle + 1;
    else high = middle;
  }
  return low > first ? low - 1 : 0;
}

async function retainLinks(
  collections: Pick<AuditCollections, 'links' | 'heads'>,
  chainHeads: ChainHeads,
  tenantId: string,
  before: number,
  limit: number,
): Promise<number> {
  const { links, heads } = collections;
  // The start is written first: a process that dies in between leaves links that nobody reads, and the next call
  // takes them away.
  const covering = await coveringHead(collections, chainHeads, tenantId, before);
  if (covering) await heads.updateOne({ _id: covering._id }, { $set: { starts: true } });
  const begin = await startOf(heads, tenantId);
  if (!begin) return 0;
  await heads.deleteMany({ tenantId, seq: { $lt: begin.seq } });
  return deleteSome(links, { tenantId, seq: { $lte: begin.seq } }, { sort: { seq: 1 }, limit });
}

async function recoverIntents(
  intents: Collection<IntentRow>,
  append: AuditStore['append'],
  before: number,
  limit: number,
  gone: GoneNodes = { isGone: () => false, before: 0 },
): Promise<number> {
  const nodes = (await intents.distinct('node')).filter((node) => node !== undefined && gone.isGone(node));
  const left = { $or: [{ at: { $lt: before } }, { node: { $in: nodes }, at: { $lt: gone.before } }] };
  const rows = await intents.find(left, { sort: { at: 1 }, limit }).toArray();
  for (const { _id, note: text } of rows) {
    const note = JSON.parse(text) as AuditNote;
    await append([{ ...note, details: { ...note.details, unconfirmed: true } }]);
    await intents.deleteOne({ _id });
  }
  return rows.length;
}

export function mongoAudit({ links, heads, intents }: AuditCollections): AuditStore {
  const chainHeads = new ChainHeads(links);
  /**
   * By tenant: entries from this process go in turn, many calls as one link. Only other processes can be in the way
   * then.
   */
  const appenders = new Map<
    string,
    { use: number; readonly add: (notes: readonly AuditNote[]) => Promise<true> }
  >();
  async function append(notes: readonly AuditNote[]): Promise<void> {
    const [first] = notes;
    if (!first) return;
    const { tenantId } = first;
    const newAppender = {
      use: 0,
      add: createBatcher(
        (calls: readonly (readonly AuditNote[])[]) => appendNow(links, chainHeads, tenantId, calls),
        callsAtOnce,
      ),
    };
    const appender = appenders.get(tenantId) ?? newAppender;
    appenders.set(tenantId, appender);
    appender.use++;
    try {
      await appender.add(notes);
    } finally {
      appender.use--;
      if (appender.use === 0) appenders.delete(tenantId);
    }
  }

  return {
    append,
    list: (tenantId, filter, before, limit) => readFeed(links, tenantId, filter, before, limit),
    getHead: (tenantId) => chainHeads.get(tenantId),
    listLinks: (tenantId, from, to, maxBytes) => readLinks(links, heads, tenantId, from, to, maxBytes),
    getLastBefore: (tenantId, time) => lastBefore(links, tenantId, time),
    async createHead(signed) {
      await heads.updateOne({ _id: `${signed.tenantId}/${signed.seq}` }, { $set: signed }, { upsert: true });
    },
    async getSignedHead(tenantId) {
      const row = await heads.findOne({ tenantId }, { sort: { seq: -1 } });
      return row && headIn(row);
    },
    start: (tenantId) => startOf(heads, tenantId),
    retain: (tenantId, before, limit) => retainLinks({ links, heads }, chainHeads, tenantId, before, limit),
    recover: (before, limit, gone) => recoverIntents(intents, append, before, limit, gone),
  };
}

/** True when it is unknown whether the write was carried out. */
const isUncertain = (error: unknown): boolean =>
  !(error instanceof HubError) ||
  error.detail.mayBeStored === true ||
  ['unavailable', 'internal', 'shutting_down'].includes(error.code);

/**
 * A write with its note: the intent, the write, the link.
 * @param by the time in epoch milliseconds, and the name of the node that writes
 */
export async function noteWrite<T>(
  audit: Pick<AuditStore, 'append'>,
  intents: Collection<IntentRow>,
  { note, fromAnswer }: Noting,
  { now, node }: { readonly now: number; readonly node: string | undefined },
  write: () => Promise<T>,
): Promise<T> {
  const _id = intentId(note);
  const by = node === undefined ? {} : { node };
  await unlessTaken(intents.insertOne({ _id, at: now, ...by, note: JSON.stringify(note) }));
  let answer: T;
  try {
    answer = await write();
  } catch (error) {
    if (!isUncertain(error)) await intents.deleteOne({ _id });
    throw error;
  }
  if (didChange(answer)) await audit.append([withAnswer(note, fromAnswer, answer)]);
  await intents.deleteOne({ _id });
  return answer;
}
