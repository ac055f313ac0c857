// The order of exports in MongoDB. A link is one document with a number of its tenant and kind. A unique index lets no
// number be used twice. So all writers continue one log, and no link appears before one that readers can see. A link
// takes the lines of whole batches. Numbering follows the acknowledgement: a batch is registered beside its insert, and
// its writer appends its lines later. Any node appends the lines of a dead writer. Keeps promise P68.
//
// A batch's item is written once, by the first of these: its writer, a node that meets its events as repeats, or the
// sweep. Lines that the item lacks are items of their own (`late/…`), each once.
import { Binary, type Collection, type Filter } from 'mongodb';
import { type ApprovalChange, approvalChanges, type OrderedKind } from '../../src/export/record.ts';
import { createBatcher } from '../../src/shared/concurrency/batcher.ts';
import { BoundedMap } from '../../src/shared/concurrency/bounded-map.ts';
import type { Clock, Timer } from '../../src/shared/ports/clock.ts';
import type { ApprovalRow } from './approval-rows.ts';
import type { EventRow } from './event-filter.ts';
import { isDuplicate, unavailable } from './failure.ts';
import { byTenant } from './form.ts';

/** Lines that were written together. */
export interface ExportItem {
  /** Of a batch, `late/` and an entry, or an approval's change. */
  readonly id: string;
  /** Ids of events, 16 bytes each. */
  readonly events?: Binary;
  /** Outcomes: the event's id and the place in its list. */
  readonly outcomes?: readonly string[];
  readonly approval?: { readonly id: string; readonly change: ApprovalChange };
}

export interface ExportLinkRow {
  readonly _id: string;
  readonly tenantId: string;
  readonly kind: OrderedKind;
  /** From 1, without a gap. The oldest links may be gone. */
  readonly seq: number;
  readonly items: readonly ExportItem[];
}

/** A batch whose lines may have no link yet. */
export interface EventBatchRow {
  /** The tenant, and the batch's token. */
  readonly _id: string;
  readonly tenantId: string;
  /** Its events' ids are from here to there. */
  readonly first: string;
  readonly last: string;
}

export interface ExportCollections {
  readonly links: Collection<ExportLinkRow>;
  readonly batches: Collection<EventBatchRow>;
  readonly events: Collection<EventRow>;
  readonly approvals: Collection<ApprovalRow>;
}

/** An approval, and the changes that had no line when it was read. */
export type LinedApproval = Pick<ApprovalRow, '_id' | 'tenantId' | 'unlined'>;

/** A change of an approval whose line is in the log. */
interface LinedChange {
  readonly tenantId: string;
  readonly id: string;
  readonly change: ApprovalChange;
}

/** An event's id, or `id#n` for the outcome at a place of its list. */
export type Entry = string;

export const outcomeEntry = (eventId: string, index: number): Entry => `${eventId}#${index}`;

const itemsPerLink = 50;
/** Appends that lose to other nodes' before one gives up: the sweep repeats it. */
const appendTries = 200;
/** Batches that the sweep looks at in one go. */
const sweptAtOnce = 500;
/** A batch that is still registered after this time has lost its writer. Much longer than `slowWriteMs`. */
const abandonedMs = 15_000;
const sweepEveryMs = 5_000;
/** A writer that took longer appends its lines before it acknowledges. */
const slowWriteMs = 8_000;
/** Tokens of batches whose lines are known to be in the log. */
const maxSettled = 20_000;

const bytesOf = (id: string): Buffer => Buffer.from(id.replaceAll('-', ''), 'hex');

const idOf = (bytes: Buffer): string => {
  const hex = bytes.toString('hex');
  return [0, 8, 12, 16, 20].map((from, i, all) => hex.slice(from, all[i + 1] ?? 32)).join('-');
};

export const itemOf = (id: string, entries: readonly Entry[]): ExportItem => {
  const outcomes = entries.filter((entry) => entry.includes('#'));
  const events = entries.filter((entry) => !entry.includes('#'));
  return {
    id,
    ...(events.length > 0 ? { events: new Binary(Buffer.concat(events.map(bytesOf))) } : {}),
    ...(outcomes.length > 0 ? { outcomes } : {}),
  };
};

/** The entries of an item, in their order. */
export function entriesOf({ events, outcomes = [] }: ExportItem): readonly Entry[] {
  const bytes = Buffer.from(events?.buffer ?? []);
  const ids = Array.from({ length: bytes.length / 16 }, (_, i) => idOf(bytes.subarray(i * 16, i * 16 + 16)));
  return [...ids, ...outcomes];
}

export class ExportLog {
  readonly #collections: ExportCollections;
  readonly #clock: Clock;
  /** The last number that this process saw, by tenant and kind. */
  readonly #heads = new BoundedMap<number>(10_000);
  readonly #settled = new BoundedMap<true>(maxSettled);
  /** Registered batches that this process writes. */
  readonly #live = new Set<string>();
  readonly #appenders = new Map<
    string,
    { use: number; readonly add: (item: ExportItem) => Promise<boolean> }
  >();
  /** Open batches that the sweep saw, and since when. */
  readonly #seenAt = new Map<string, number>();
  #isSweeping = false;
  readonly #unline = createBatcher((lined: readonly LinedChange[]) => this.#unlineNow(lined));
  readonly #timer: Timer;
  readonly #pending = new Set<Promise<void>>();

  constructor(collections: ExportCollections, clock: Clock) {
    this.#collections = collections;
    this.#clock = clock;
    this.#timer = clock.every(sweepEveryMs, () => {
      if (this.#isSweeping) return;
      this.#isSweeping = true;
      // A store that is away is asked again by the next sweep.
      this.sweep()
        .catch(() => {})
        .finally(() => {
          this.#isSweeping = false;
        });
    });
  }

  /** Appends what dead writers left, if an earlier sweep saw it too. */
  async sweep(): Promise<void> {
    const rows = await this.#collections.batches.find({}, { limit: sweptAtOnce }).toArray();
    const waiting = await this.#collections.approvals
      .find(
        { unlined: { $gte: '' as ApprovalChange } },
        { projection: { tenantId: 1, unlined: 1 }, limit: sweptAtOnce },
      )
      .toArray();
    const names = new Set([
      ...rows.map(({ _id }) => _id),
      ...waiting.flatMap(({ _id, unlined = [] }) => unlined.map((change) => `${_id}/${change}`)),
    ]);
    for (const name of this.#seenAt.keys()) if (!names.has(name)) this.#seenAt.delete(name);
    for (const row of rows) {
      if (!this.#isAbandoned(row._id)) continue;
      const token = row._id.slice(row.tenantId.length + 1);
      await this.#finish(row.tenantId, token, await this.#storedEntries(row, token));
    }
    for (const { _id, tenantId, unlined = [] } of waiting) {
      const isAbandoned = unlined.some((change) => this.#isAbandoned(`${_id}/${change}`));
      if (isAbandoned) await this.#recordChanges(tenantId, _id, unlined);
    }
  }

  /** Begins to write a batch. To be durable before the batch is acknowledged. */
  async register(tenantId: string, token: string, rows: readonly { readonly _id: string }[]): Promise<void> {
    const ids = rows.map(({ _id }) => _id);
    const [first = '', last = ''] = [ids[0], ids.at(-1)];
    await this.#collections.batches.insertOne({ _id: this.#batchId(tenantId, token), tenantId, first, last });
    this.#live.add(token);
  }

  /** @param beganAt monotonic milliseconds before it was registered */
  async written(tenantId: string, token: string, entries: readonly Entry[], beganAt: number): Promise<void> {
    const task = this.#finish(tenantId, token, entries).finally(() => this.#live.delete(token));
    if (this.#clock.monotonic() - beganAt >= slowWriteMs) await task;
    else this.#inBackground(task);
  }

  /** The batch is not acknowledged: its repeat, or the sweep, continues. */
  abandoned(token: string): unknown {
    return this.#live.delete(token);
  }

  /**
   * Makes sure that stored events and outcomes are in the log, or will be: before a repeat of them is acknowledged,
   * because nobody else may send them again.
   */
  async settle(tenantId: string, entriesByToken: ReadonlyMap<string, readonly Entry[]>): Promise<void> {
    for (const [token, entries] of entriesByToken) {
      if (this.#settled.get(token, 0) || this.#live.has(token)) continue;
      const item = await this.#itemWith(tenantId, token);
      const row = item
        ? null
        : await this.#collections.batches.findOne({ _id: this.#batchId(tenantId, token) });
      const written = item ? new Set(entriesOf(item)) : null;
      const isWhole = written !== null && entries.every((entry) => written.has(entry));
      if (!isWhole) await this.#put(tenantId, token, row ? await this.#storedEntries(row, token) : entries);
    }
  }

  /** Appends a change of an approval, and its request where that may have no line yet; nobody waits for it. */
  noteChange({ _id, tenantId, unlined }: LinedApproval, change: ApprovalChange): void {
    const isRequestLined = unlined !== undefined && !unlined.includes('requested');
    const changes: ApprovalChange[] = isRequestLined ? [change] : ['requested', change];
    this.#inBackground(this.#recordChanges(tenantId, _id, changes));
  }

  /** Ends what runs in the background. */
  async close(): Promise<void> {
    this.#timer.cancel();
    await Promise.all(this.#pending);
  }

  async #headOf(tenantId: string, kind: OrderedKind): Promise<number> {
    const row = await this.#collections.links.findOne(
      { tenantId, kind },
      { sort: { seq: -1 }, projection: { seq: 1 } },
    );
    return row?.seq ?? 0;
  }

  /** Appends items as one link. @returns for each whether it was new */
  async #appendLink(tenantId: string, kind: OrderedKind, items: readonly ExportItem[]): Promise<boolean[]> {
    const name = `${tenantId}/${kind}`;
    let missing = [...new Map(items.map((item) => [item.id, item])).values()];
    let head = this.#heads.get(name, 0) ?? (await this.#headOf(tenantId, kind));
    for (let i = 0; missing.length > 0; i++) {
      if (i === appendTries) throw unavailable();
      const seq = head + 1;
      try {
        await this.#collections.links.insertOne({
          _id: `${name}/${seq}`,
          tenantId,
          kind,
          seq,
          items: missing,
        });
        this.#heads.set(name, seq, 1);
        break;
      } catch (error) {
        // Another node was faster, with the number or with one of the items.
        if (!isDuplicate(error)) throw error;
        const filter = { tenantId, kind, 'items.id': { $in: missing.map(({ id }) => id) } };
        const rows = await this.#collections.links
          .find(filter as Filter<ExportLinkRow>, { projection: { 'items.id': 1 } })
          .toArray();
        const ids = new Set(rows.flatMap((row) => row.items.map(({ id }) => id)));
        missing = missing.filter(({ id }) => !ids.has(id));
        head = await this.#headOf(tenantId, kind);
        this.#heads.set(name, head, 1);
      }
    }
    const added = new Set(missing.map(({ id }) => id));
    return items.map(({ id }) => added.has(id));
  }

  /** Resolves when the item is in the log. True: it was not before. */
  async #append(tenantId: string, kind: OrderedKind, item: ExportItem): Promise<boolean> {
    const name = `${tenantId}/${kind}`;
    const appender = this.#appenders.get(name) ?? {
      use: 0,
      add: createBatcher(
        (items: readonly ExportItem[]) => this.#appendLink(tenantId, kind, items),
        itemsPerLink,
      ),
    };
    this.#appenders.set(name, appender);
    appender.use++;
    try {
      return await appender.add(item);
    } finally {
      appender.use--;
      if (appender.use === 0) this.#appenders.delete(name);
    }
  }

  async #itemWith(tenantId: string, id: string): Promise<ExportItem | null> {
    const filter = { tenantId, kind: 'events', 'items.id': id } as Filter<ExportLinkRow>;
    const row = await this.#collections.links.findOne(filter);
    return row?.items.find((item) => item.id === id) ?? null;
  }

  /** Puts entries of a batch into the log: as its item, or beside the item that others wrote. */
  async #put(tenantId: string, token: string, entries: readonly Entry[]): Promise<void> {
    if (entries.length === 0 || (await this.#append(tenantId, 'events', itemOf(token, entries)))) return;
    const item = await this.#itemWith(tenantId, token);
    const written = new Set(item ? entriesOf(item) : []);
    const late = entries.filter((entry) => !written.has(entry));
    await Promise.all(
      late.map((entry) => this.#append(tenantId, 'events', itemOf(`late/${entry}`, [entry]))),
    );
  }

  /** Stored entries of a registered batch. */
  async #storedEntries({ tenantId, first, last }: EventBatchRow, token: string): Promise<Entry[]> {
    const inserted = await this.#collections.events
      .find({ tenantId, _id: { $gte: first, $lte: last }, batch: token }, { projection: { _id: 1 } })
      .sort({ _id: 1 })
      .toArray();
    const changed = await this.#collections.events
      .find({ tenantId, 'outcomes.by': token, sample: { $ne: true } }, { projection: { 'outcomes.by': 1 } })
      .sort({ _id: 1 })
      .toArray();
    const outcomes = changed.flatMap(({ _id, outcomes: list }) =>
      list.flatMap(({ by }, i) => (by === token ? [outcomeEntry(_id, i)] : [])),
    );
    return [...inserted.map(({ _id }) => _id), ...outcomes];
  }

  #batchId(tenantId: string, token: string): string {
    return `${tenantId}/${token}`;
  }

  async #finish(tenantId: string, token: string, entries: readonly Entry[]): Promise<void> {
    await this.#put(tenantId, token, entries);
    this.#settled.set(token, true, 1);
    this.#live.delete(token);
    await this.#collections.batches.deleteOne({ _id: this.#batchId(tenantId, token) });
  }

  async #recordChanges(tenantId: string, id: string, changes: readonly ApprovalChange[]): Promise<void> {
    // A request comes before what becomes of it, whichever node appends first.
    for (const change of approvalChanges) {
      if (!changes.includes(change)) continue;
      await this.#append(tenantId, 'approvals', { id: `${id}/${change}`, approval: { id, change } });
      await this.#unline({ tenantId, id, change });
    }
  }

  /** A lost one is made good by the sweep, so it does not wait for the journal. */
  async #unlineNow(lined: readonly LinedChange[]): Promise<true[]> {
    const writes = approvalChanges.flatMap((change) =>
      byTenant(
        lined.filter((one) => one.change === change),
        ({ id }) => id,
      ).map(([tenantId, ids]) => ({
        updateMany: { filter: { _id: { $in: ids }, tenantId }, update: { $pull: { unlined: change } } },
      })),
    );
    await this.#collections.approvals.bulkWrite(writes, {
      ordered: false,
      writeConcern: { w: 1, journal: false },
    });
    return lined.map(() => true);
  }

  #isAbandoned(name: string): boolean {
    const now = this.#clock.monotonic();
    const since = this.#seenAt.get(name) ?? now;
    this.#seenAt.set(name, since);
    return now - since >= abandonedMs;
  }

  /** The sweep repeats a task that fails. */
  #inBackground(task: Promise<void>): void {
    const done = task.catch(() => {}).finally(() => this.#pending.delete(done));
    this.#pending.add(done);
  }
}
