// The test whether the links of audit chains in a store are unbroken, and are those that signed heads cover.
import { hash } from 'node:crypto';
import { linkText } from '../../audit/record.ts';
import { HubError } from '../../shared/error.ts';
import type { MovedRecords } from '../../shared/ports/moved-records.ts';

type Link = MovedRecords['auditLinks'];
type Head = MovedRecords['auditHeads'];

const broken = ({ tenantId, seq }: Link, what: string): HubError =>
  new HubError('conflict', `Link ${seq} of the audit chain of tenant ${tenantId} ${what}.`);

/**
 * Follows chains, link by link.
 * @param heads signed heads of all tenants
 */
export class ChainCheck {
  readonly #digests: ReadonlyMap<string, string>;
  readonly #starts: ReadonlyMap<string, number>;
  #next: Link | null = null;

  constructor(heads: readonly Head[]) {
    this.#digests = new Map(heads.map(({ tenantId, seq, digest }) => [`${tenantId}/${seq}`, digest]));
    const starts = heads.filter(({ starts: isStart }) => isStart);
    this.#starts = new Map(starts.map(({ tenantId, seq }) => [tenantId, seq]));
  }

  /** Links by tenant, newest first. @throws HubError conflict for a link that does not fit */
  add(link: Link): void {
    const { tenantId, seq, digest } = link;
    if (digest !== hash('sha256', linkText(link), 'hex')) throw broken(link, 'is not the one of its digest');
    const signed = this.#digests.get(`${tenantId}/${seq}`);
    if (signed !== undefined && signed !== digest) throw broken(link, 'is not the one that was signed');
    const next = this.#next;
    if (next?.tenantId === tenantId) {
      if (next.seq !== seq + 1) throw broken(next, 'follows a link that is missing');
      if (next.prev !== digest) throw broken(next, 'does not follow the link before it');
    } else this.#endOfTenant();
    this.#next = link;
  }

  #endOfTenant(): void {
    const first = this.#next;
    if (!first) return;
    const start = this.#starts.get(first.tenantId) ?? 0;
    if (first.seq > start + 1) throw broken(first, 'follows a link that is missing');
  }

  end(): void {
    this.#endOfTenant();
    this.#next = null;
  }
}
