// Links of the tenants' audit chains in MongoDB, and the newest one of each chain.
import type { Collection } from 'mongodb';
import type { AuditLink, ChainHead } from '../../src/audit/record.ts';
import { BoundedMap } from '../../src/shared/concurrency/bounded-map.ts';

export interface EntryKeys {
  readonly id: string;
  /** The actor's id and display name, lower-cased. */
  readonly actors: readonly string[];
  readonly action: string;
  readonly subjectType: string;
}

export interface LinkRow extends Omit<AuditLink, 'seq'> {
  readonly _id: string;
  readonly tenantId: string;
  readonly seq: number;
  readonly at: number;
  readonly entries: readonly EntryKeys[];
}

const maxTenants = 10_000;

/** The newest links. A number that was the newest bounds the next search, for stores that sort without an index. */
export class ChainHeads {
  readonly #links: Collection<LinkRow>;
  readonly #seqs = new BoundedMap<number>(maxTenants);

  constructor(links: Collection<LinkRow>) {
    this.#links = links;
  }

  /** Null for a tenant without links. */
  async get(tenantId: string): Promise<ChainHead | null> {
    const least = this.#seqs.get(tenantId, 0);
    const newer = least === undefined ? null : await this.#newestFrom(tenantId, least);
    // A chain that was removed, and perhaps imported again, may end earlier.
    const head = newer ?? (await this.#newestFrom(tenantId, 1));
    if (head) this.#seqs.set(tenantId, head.seq, Number.POSITIVE_INFINITY);
    else this.#seqs.delete(tenantId);
    return head;
  }

  async #newestFrom(tenantId: string, least: number): Promise<ChainHead | null> {
    const row = await this.#links.findOne(
      { tenantId, seq: { $gte: least } },
      { sort: { seq: -1 }, projection: { seq: 1, digest: 1, at: 1 } },
    );
    return row && { seq: row.seq, digest: row.digest, at: row.at };
  }
}
