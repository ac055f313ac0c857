// The audit chain in SQLite. A note that goes with a write is added in that write's transaction.
import { hash } from 'node:crypto';
import type { AuditFilter, AuditStore, Noting, PlacedAuditEntry } from '../../src/audit/port.ts';
import type { AuditPlace } from '../../src/audit/record.ts';
import {
  type AuditLink,
  type AuditNote,
  type ChainHead,
  didChange,
  emptyChain,
  entriesOf,
  nextLink,
  type SignedHead,
  signedHeadRecord,
  subjectOf,
  withAnswer,
} from '../../src/audit/record.ts';
import { type Database, type Row, type SqlValue, storedText } from './database.ts';
import type { Steps, Sync } from './sync.ts';
import { number, table, tableOf, text } from './table.ts';

type LinkRow = AuditLink & { readonly tenantId: string; readonly at: number };

export const links = table<LinkRow>('audit_links', {
  tenantId: text('tenant_id'),
  seq: number('seq'),
  at: number('at'),
  prev: text('prev'),
  digest: text('digest'),
  body: text('body'),
});

export const heads = tableOf<SignedHead>(signedHeadRecord);

// Entries, or the ids of notes, come as one JSON list: one statement for all of them. Links may be gone, or found
// already, when their entries come later than they.
const insertEntries = `INSERT OR IGNORE INTO audit_entries
    (tenant_id, seq, position, at, actor_id, actor_display, action, subject_type)
  SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7 FROM json_each(?)
    WHERE EXISTS (SELECT 1 FROM audit_links l WHERE l.tenant_id = value->>0 AND l.seq = value->>1)`;

/** Search fields of an entry of the chain: a row of `audit_entries`. */
export type EntryRow = readonly [
  tenantId: string,
  seq: number,
  position: number,
  at: number,
  actorId: string,
  actorDisplay: string,
  action: string,
  subject: string,
];

/** Makes entries found that are in the chain. */
export function indexEntries(db: Database, rows: readonly EntryRow[]): void {
  if (rows.length > 0) db.run(insertEntries, [JSON.stringify(rows)]);
}

/** Links whose entries are read at once. */
const linksAtOnce = 100;

/** Makes all entries of a tenant found: those of its newest links may not be yet. */
function indexLinks(db: Database, tenantId: string): void {
  for (;;) {
    const rows = db.all(
      `SELECT seq, at, body FROM audit_links WHERE tenant_id = ?1
         AND seq > (SELECT ifnull(max(seq), 0) FROM audit_entries WHERE tenant_id = ?1) ORDER BY seq LIMIT ?2`,
      [tenantId, linksAtOnce],
    );
    const entries = rows.flatMap(([seq, at, body]) =>
      entriesOf(String(body)).map((entry, position): EntryRow => {
        const {
          actor,
          action_type: action,
          subject_type: subject,
        } = entry as {
          readonly actor: { readonly id: string; readonly display: string };
          readonly action_type: string;
          readonly subject_type: string;
        };
        return [tenantId, Number(seq), position, Number(at), ...actorTexts(actor), action, subject];
      }),
    );
    indexEntries(db, entries);
    if (rows.length < linksAtOnce) return;
  }
}

/** The same for all tenants. */
export function indexAllLinks(db: Database): void {
  const tenants = db.all(`WITH RECURSIVE of(id) AS (SELECT min(tenant_id) FROM audit_links UNION ALL
    SELECT (SELECT min(tenant_id) FROM audit_links WHERE tenant_id > id) FROM of WHERE id IS NOT NULL)
    SELECT id FROM of WHERE id IS NOT NULL`);
  for (const [tenantId] of tenants) indexLinks(db, String(tenantId));
}

const actorTexts = ({ id, display }: { readonly id: string; readonly display: string }) =>
  [storedText(id.toLowerCase()), storedText(display.toLowerCase())] as const;

/** Ids of entries, in one of two tables (schema/audit.ts). */
function idTable(name: 'audit_ids' | 'audit_run_ids') {
  const insert = `INSERT OR IGNORE INTO ${name} SELECT ?1, value FROM json_each(?2)`;
  const selectRecorded = `SELECT i.id FROM json_each(?2) n CROSS JOIN ${name} i
    ON i.tenant_id = ?1 AND i.id = n.value`;
  // The body of a link is one entry, or a list of several.
  const removeOfLinks = `DELETE FROM ${name} WHERE tenant_id = ?1 AND id IN (
    SELECT e.value->>'id' FROM audit_links l,
      json_each(iif(l.body->'entries' IS NULL, json_array(json(l.body)), l.body->'entries')) e
    WHERE l.tenant_id = ?1 AND l.seq <= ?2)`;
  return {
    add: (db: Database, tenantId: string, ids: readonly string[]): void => {
      if (ids.length > 0) db.run(insert, [tenantId, JSON.stringify(ids)]);
    },
    recordedAmong: (db: Database, tenantId: string, ids: readonly string[]): ReadonlySet<string> =>
      new Set(
        ids.length === 0
          ? []
          : db.all(selectRecorded, [tenantId, JSON.stringify(ids)]).map(([id]) => String(id)),
      ),
    isEmpty: (db: Database, tenantId: string): boolean =>
      db.get(`SELECT 1 FROM ${name} WHERE tenant_id = ? LIMIT 1`, [tenantId]) === undefined,
    removeOfLinks: (db: Database, tenantId: string, upTo: number): void => {
      db.run(removeOfLinks, [tenantId, upTo]);
    },
  };
}

const ids = idTable('audit_ids');
/** Entries of runs follow from stored events, which are stored once: only those of removed events can come again. */
const runIds = idTable('audit_run_ids');

const sha256 = (value: string): string => hash('sha256', value, 'hex');

function headOf(db: Database, tenantId: string): ChainHead | null {
  const row = db.get(
    'SELECT seq, digest, at FROM audit_links WHERE tenant_id = ? ORDER BY seq DESC LIMIT 1',
    [tenantId],
  );
  return row ? { seq: Number(row[0]), digest: String(row[1]), at: Number(row[2]) } : null;
}

/** Adds a link to a tenant's chain, without notes that it has. To be called in the transaction of what it records. */
export function appendNotes(db: Database, notes: readonly AuditNote[]): void {
  const [first] = notes;
  if (!first) return;
  const noteById = new Map(notes.map((note) => [note.id, note]));
  for (const id of ids.recordedAmong(db, first.tenantId, [...noteById.keys()])) noteById.delete(id);
  ids.add(db, first.tenantId, [...noteById.keys()]);
  // Entries are found in the order of their links, so that a start knows which are not yet.
  indexLinks(db, first.tenantId);
  indexEntries(db, appendLink(db, [...noteById.values()]));
}

/**
 * The same for notes of events that are stored in this transaction, or of outcomes that it adds to events.
 * @returns the rows that find them, which may be written later
 */
export function appendRunNotes(db: Database, notes: readonly AuditNote[]): readonly EntryRow[] {
  const [first] = notes;
  if (!first) return [];
  const noteIds = runIds.isEmpty(db, first.tenantId) ? [] : notes.map(({ id }) => id);
  const recordedIds = runIds.recordedAmong(db, first.tenantId, noteIds);
  return appendLink(
    db,
    notes.filter(({ id }) => !recordedIds.has(id)),
  );
}

/** Keeps the ids of notes whose events are removed in this transaction: the events may be sent again. */
export const keepRunNoteIds = (db: Database, tenantId: string, noteIds: readonly string[]): void =>
  runIds.add(db, tenantId, noteIds);

/** Makes the entries of links that were copied here what they are of a chain that was written here. */
export function adoptLinks(db: Database, tenantId: string, copied: readonly AuditLink[]): void {
  for (const { body } of copied) {
    const entries = entriesOf(body);
    const of = (isRun: boolean): readonly string[] =>
      entries.filter((entry) => (entry.subject_type === 'run') === isRun).map(({ id }) => String(id));
    ids.add(db, tenantId, of(false));
    // The events come after the links.
    runIds.add(db, tenantId, of(true));
  }
  indexLinks(db, tenantId);
}

function appendLink(db: Database, fresh: readonly AuditNote[]): readonly EntryRow[] {
  const [first] = fresh;
  if (!first) return [];
  const { tenantId } = first;
  const { link, at } = nextLink(headOf(db, tenantId) ?? emptyChain, fresh, sha256);
  db.run(links.insert, links.values({ ...link, tenantId, at }));
  return fresh.map((note, position) => [
    tenantId,
    link.seq,
    position,
    at,
    ...actorTexts(note.actor),
    note.action,
    subjectOf(note),
  ]);
}

/** Returns the answer of a write, after adding its note if the write changed something. */
export function noted(db: Database, { note, fromAnswer }: Noting, answer: unknown): unknown {
  if (didChange(answer)) appendNotes(db, [withAnswer(note, fromAnswer, answer)]);
  return answer;
}

/** The conditions of a filter, with their values. */
function conditionsOf(filter: AuditFilter, before: AuditPlace | null): [sql: string[], params: SqlValue[]] {
  const sql: string[] = [];
  const params: SqlValue[] = [];
  const add = (condition: string, ...values: SqlValue[]): void => {
    sql.push(condition);
    params.push(...values);
  };
  const list = (column: string, values: readonly string[] | null): void => {
    if (values) add(`${column} IN (${values.map(() => '?').join(', ')})`, ...values);
  };
  if (before) add('(seq, position) < (?, ?)', before.seq, before.position);
  if (filter.from !== null) add('at >= ?', filter.from);
  if (filter.to !== null) add('at < ?', filter.to);
  if (filter.actor !== null) {
    const actor = filter.actor.toLowerCase();
    add('(actor_id = ? OR actor_display = ?)', actor, actor);
  }
  list('action', filter.actions);
  list('subject_type', filter.subjects);
  return [sql, params];
}

/** Entries that are looked at in one step of a list, and the rest of the last link: one may hold thousands. */
const entriesAtOnce = 4_000;

/** The signed head that the kept chain starts behind. */
const startOf = (db: Database, tenantId: string): SignedHead | null =>
  heads.maybe(
    db.get(
      `SELECT ${heads.columns} FROM audit_heads WHERE tenant_id = ? AND starts = 1 ORDER BY seq DESC LIMIT 1`,
      [tenantId],
    ),
  );

/** The entries at these places, which are in order: a link that holds several is read once. */
function placed(db: Database, rows: readonly Row[], tenantId: string): PlacedAuditEntry[] {
  let read: { readonly seq: number; readonly entries: ReturnType<typeof entriesOf> } | null = null;
  return rows.flatMap((row) => {
    const [seq, position] = row.map(Number) as [number, number];
    if (read?.seq !== seq) {
      const link = db.get('SELECT body FROM audit_links WHERE tenant_id = ? AND seq = ?', [tenantId, seq]);
      read = { seq, entries: link ? entriesOf(String(link[0])) : [] };
    }
    const entry = read.entries[position];
    return entry ? [{ seq, position, entry }] : [];
  });
}

function* readFeed(
  db: Database,
  tenantId: string,
  filter: AuditFilter,
  before: AuditPlace | null,
  limit: number,
): Steps<readonly PlacedAuditEntry[]> {
  const [sql, params] = conditionsOf(filter, before);
  const which = `SELECT seq, position FROM audit_entries
    WHERE ${['tenant_id = ?', ...sql].join(' AND ')} AND seq BETWEEN ? AND ?
    ORDER BY seq DESC, position DESC LIMIT ?`;
  const ends = db.get('SELECT min(seq), max(seq) FROM audit_links WHERE tenant_id = ?', [tenantId]);
  const first = Number(ends?.[0] ?? 0);
  const page: Row[] = [];
  // A filter may fit little of a long chain: it is looked at some entries at a time, and whole links.
  let from = first;
  for (let last = before?.seq ?? Number(ends?.[1] ?? -1); last >= first; last = from - 1) {
    const further = db.get(
      `SELECT seq FROM audit_entries WHERE tenant_id = ? AND seq <= ?
         ORDER BY seq DESC, position DESC LIMIT 1 OFFSET ?`,
      [tenantId, last, entriesAtOnce],
    );
    from = Number(further?.[0] ?? first);
    page.push(...db.all(which, [tenantId, ...params, from, last, limit - page.length]));
    if (page.length >= limit) break;
    yield;
  }
  return db.snapshot(() => placed(db, page, tenantId));
}

function readLinks(
  db: Database,
  tenantId: string,
  from: number,
  to: number,
  maxBytes: number,
): readonly AuditLink[] {
  const result: AuditLink[] = [];
  let bytes = 0;
  const first = Math.max(from, (startOf(db, tenantId)?.seq ?? 0) + 1);
  for (let seq = first; seq <= to && bytes < maxBytes; seq++) {
    const row = db.get(`SELECT ${links.columns} FROM audit_links WHERE tenant_id = ? AND seq = ?`, [
      tenantId,
      seq,
    ]);
    if (!row) break;
    const { tenantId: _, at: __, ...link } = links.read(row);
    bytes += Buffer.byteLength(link.body);
    result.push(link);
  }
  return result;
}

/** Times of links never decrease: a search by halves. Links may be removed from the start alone. */
const getLastBefore = (db: Database, tenantId: string, time: number): number =>
  db.snapshot(() => {
    const end = (order: 'ASC' | 'DESC'): number =>
      Number(
        db.get(`SELECT seq FROM audit_links WHERE tenant_id = ? ORDER BY seq ${order} LIMIT 1`, [
          tenantId,
        ])?.[0] ?? 0,
      );
    const first = end('ASC');
    if (first === 0) return 0;
    let [low, high] = [first, end('DESC') + 1];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const row = db.get('SELECT at FROM audit_links WHERE tenant_id = ? AND seq = ?', [tenantId, middle]);
      if (!row || Number(row[0]) < time) low = middle + 1;
      else high = middle;
    }
    return low > first ? low - 1 : 0;
  });

function retainLinks(db: Database, tenantId: string, before: number, limit: number): number {
  // A head counts for links that match its fields: its own link's digest is the proof.
  db.run(
    `UPDATE audit_heads SET starts = 1 WHERE tenant_id = ?1 AND seq = (
       SELECT h.seq FROM audit_heads h JOIN audit_links l ON l.tenant_id = h.tenant_id AND l.seq = h.seq
         WHERE h.tenant_id = ?1 AND l.digest = h.digest AND l.at < ?2
           AND h.seq < (SELECT max(seq) FROM audit_links WHERE tenant_id = ?1)
         ORDER BY h.seq DESC LIMIT 1)`,
    [tenantId, before],
  );
  const start = startOf(db, tenantId);
  if (!start) return 0;
  db.run('DELETE FROM audit_heads WHERE tenant_id = ? AND seq < ?', [tenantId, start.seq]);
  const first = db.get('SELECT min(seq) FROM audit_links WHERE tenant_id = ?', [tenantId])?.[0];
  const upTo = Math.min(start.seq, Number(first) + limit - 1);
  for (const table of [ids, runIds]) table.removeOfLinks(db, tenantId, upTo);
  db.run('DELETE FROM audit_entries WHERE tenant_id = ? AND seq <= ?', [tenantId, upTo]);
  return db.run('DELETE FROM audit_links WHERE tenant_id = ? AND seq <= ?', [tenantId, upTo]);
}

export const auditStore = (db: Database): Sync<AuditStore> => ({
  append: (notes) => appendNotes(db, notes),
  list: (tenantId, filter, before, limit) => readFeed(db, tenantId, filter, before, limit),
  getHead: (tenantId) => headOf(db, tenantId),
  listLinks: (tenantId, from, to, maxBytes) => readLinks(db, tenantId, from, to, maxBytes),
  getLastBefore: (tenantId, time) => getLastBefore(db, tenantId, time),
  createHead(head) {
    db.run(
      `${heads.insert} ON CONFLICT DO UPDATE SET signed_at = excluded.signed_at, key_id = excluded.key_id,
        public_key = excluded.public_key, signature = excluded.signature`,
      heads.values(head),
    );
  },
  getSignedHead: (tenantId) =>
    heads.maybe(
      db.get(`SELECT ${heads.columns} FROM audit_heads WHERE tenant_id = ? ORDER BY seq DESC LIMIT 1`, [
        tenantId,
      ]),
    ),
  start: (tenantId) => startOf(db, tenantId),
  retain: (tenantId, before, limit) => retainLinks(db, tenantId, before, limit),
  // Notes stand in the transactions of their writes: a process that dies leaves nothing behind.
  recover: () => 0,
});
