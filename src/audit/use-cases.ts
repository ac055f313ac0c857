// Reading the audit chain, and signing its heads. The holder of a signed head can prove that the links up to it are
// those of then.

import type { Query } from '../event/rules/query/parse.ts';
import { requireRole, seesEnv, visibleEnvs } from '../shared/access.ts';
import { dayMs } from '../shared/duration.ts';
import { HubError, notFound } from '../shared/error.ts';
import { isEnv } from '../shared/ids.ts';
import type { Principal } from '../shared/principal.ts';
import type { AppPorts } from '../shared/use-case-ports.ts';
import { activeSigner } from '../signing/rules/active-signer.ts';
import { envelopeBytes } from '../signing/rules/envelope.ts';
import type { AuditFilter, PlacedAuditEntry } from './port.ts';
import { auditSubjects } from './record/subjects.ts';
import type { AuditPlace } from './record.ts';
import {
  type AuditActorType,
  type AuditLink,
  type AuditSubject,
  feedSubjects,
  headText,
  headType,
  type SignedHead,
} from './record.ts';
import { auditQueryTest, narrowingOf } from './rules/query.ts';

export type AuditPeriod = Pick<AuditFilter, 'from' | 'to'>;

export interface AuditQuestion extends AuditPeriod {
  readonly actor: string | null;
  readonly actions: readonly string[] | null;
  readonly subjects: readonly AuditSubject[] | null;
  /** Types of actors; null for all. */
  readonly actorTypes: readonly AuditActorType[] | null;
  /** True: subjects of all types, where neither actions nor types are named. */
  readonly everything: boolean;
  readonly query?: Query;
}

export interface AuditFeed {
  /** Newest first. */
  readonly entries: readonly PlacedAuditEntry[];
  /** The last entry that was looked at, where the time for the page was over before its end; null otherwise. */
  readonly stop: AuditPlace | null;
}

export interface AuditExport {
  readonly links: readonly AuditLink[];
  /** The head in front of the first link, when older ones are not kept; null otherwise. */
  readonly start: SignedHead | null;
  /** Of the last of these links. */
  readonly head: SignedHead;
  /** Place to continue from; null when nothing is left. */
  readonly next: number | null;
}

/** Entries that are read at once for a list of some actors. */
const feedPortion = 500;
/** Milliseconds for a page of a list of some actors or of a query. */
const feedMs = 1_000;
/** Days that are listed when no time is named. */
const usualDays = 30;
const maxExportBytes = 8 * 1024 * 1024;
/** Links that go in one step: other writes wait as long. */
const retainedAtOnce = 500;
const utf8 = new TextEncoder();

const isOfActors = ({ entry }: PlacedAuditEntry, types: readonly AuditActorType[] | null): boolean => {
  const { type } = entry.actor as { readonly type?: AuditActorType };
  return types === null || types.some((one) => one === type);
};

/** Entries that fit, read in portions until they are enough, the chain ends, or the time is over. */
async function entriesOf(
  read: (before: AuditPlace | null) => Promise<readonly PlacedAuditEntry[]>,
  fits: (entry: PlacedAuditEntry) => boolean,
  before: AuditPlace | null,
  limit: number,
  clock: AppPorts['clock'],
): Promise<AuditFeed> {
  const entries: PlacedAuditEntry[] = [];
  const until = clock.monotonic() + feedMs;
  let place = before;
  while (true) {
    const portion = await read(place);
    entries.push(...portion.filter(fits));
    place = portion.at(-1) ?? null;
    if (entries.length >= limit || portion.length < feedPortion)
      return { entries: entries.slice(0, limit), stop: null };
    if (clock.monotonic() > until) return { entries, stop: place };
  }
}

type Ports = Pick<AppPorts, 'store' | 'secrets' | 'clock' | 'log'> & {
  readonly settings: Pick<AppPorts['settings'], 'auditRetentionDays'>;
};

export class AuditLog {
  readonly #ports: Ports;

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  /** A page may be short or empty and still have a next one. @throws HubError forbidden, search_timeout */
  async list(
    principal: Principal,
    question: AuditQuestion,
    before: AuditPlace | null,
    limit: number,
  ): Promise<AuditFeed> {
    const { clock, store } = this.#ports;
    requireRole(principal, 'viewer');
    const { everything, actorTypes, query = { terms: [] } } = question;
    const implied = narrowingOf(query);
    // A filter of the request stands in place of a term about the same field; the test looks at each term.
    const actions = question.actions ?? implied.actions;
    const subjects = question.subjects ?? implied.subjects;
    const usual = everything || actions !== null || subjects !== null ? null : feedSubjects;
    const listed = subjects ?? usual;
    const from = question.from ?? (question.to === null ? clock.now() : question.to) - usualDays * dayMs;
    const filter = { from, to: question.to, actor: question.actor, actions, subjects: listed };
    const isSeen = ({ entry }: PlacedAuditEntry): boolean => {
      const { env, envs = [env] } = (entry.details ?? {}) as {
        readonly env?: unknown;
        readonly envs?: unknown;
      };
      return !Array.isArray(envs) || envs.every((one) => !isEnv(one) || seesEnv(principal, one));
    };
    const seesAll = visibleEnvs(principal) === null;
    if (actorTypes === null && seesAll && query.terms.length === 0)
      return { entries: await store.audit.list(principal.tenantId, filter, before, limit), stop: null };
    const test = auditQueryTest(query);
    // Runs are reported by agents and their keys alone, and are most of a chain: no page of them is read in vain.
    const isOfRuns = actorTypes === null || actorTypes.some((type) => type === 'agent' || type === 'key');
    const withoutRuns = (listed ?? auditSubjects).filter((subject) => subject !== 'run');
    const narrowed = isOfRuns ? filter : { ...filter, subjects: withoutRuns };
    const read = (place: AuditPlace | null) =>
      store.audit.list(principal.tenantId, narrowed, place, feedPortion);
    const fits = (one: PlacedAuditEntry): boolean =>
      isSeen(one) && isOfActors(one, actorTypes) && test(one.entry);
    return entriesOf(read, fits, before, limit, clock);
  }

  /**
   * Links as they are, about 8 MiB at most.
   * @param period of the links, in epoch milliseconds, without its end; null: no bound
   * @throws HubError forbidden, not_found without any, unavailable (signing_unavailable)
   */
  async export(
    principal: Principal,
    from: number,
    to: number | null,
    period: AuditPeriod,
  ): Promise<AuditExport> {
    const { store } = this.#ports;
    requireRole(principal, 'admin');
    const { tenantId } = principal;
    const head = await store.audit.getHead(tenantId);
    const first =
      period.from === null
        ? from
        : Math.max(from, (await store.audit.getLastBefore(tenantId, period.from)) + 1);
    const end = period.to === null ? (head?.seq ?? 0) : await store.audit.getLastBefore(tenantId, period.to);
    const last = Math.min(to ?? Number.POSITIVE_INFINITY, end);
    const start = await store.audit.start(tenantId);
    const links = last < first ? [] : await store.audit.listLinks(tenantId, first, last, maxExportBytes);
    const newest = links.at(-1);
    if (!newest) throw notFound('This part of the chain has no entries. Choose another range.');
    return {
      links,
      start: start && links[0]?.seq === start.seq + 1 ? start : null,
      head: await this.#sign(tenantId, newest),
      next: newest.seq < last ? newest.seq + 1 : null,
    };
  }

  /** The newest signed head. @throws HubError forbidden, not_found before the first was signed */
  async getHead(principal: Principal): Promise<SignedHead> {
    requireRole(principal, 'viewer');
    const signed = await this.#ports.store.audit.getSignedHead(principal.tenantId);
    if (!signed)
      throw notFound('No head is signed yet. The hub signs the first one an hour after the first entry.');
    return signed;
  }

  /** Signs the newest link of a chain, unless it is signed or there is none. @throws HubError signing_unavailable */
  async signHead(tenantId: string): Promise<boolean> {
    const head = await this.#ports.store.audit.getHead(tenantId);
    if (!head || (await this.#ports.store.audit.getSignedHead(tenantId))?.seq === head.seq) return false;
    await this.#sign(tenantId, head);
    return true;
  }

  /** Signs the head of every chain that grew since its last signature. @returns how many */
  async signHeads(): Promise<number> {
    const { store, log } = this.#ports;
    let signed = 0;
    for (const tenantId of await store.tenants.listIds()) {
      try {
        if (await this.signHead(tenantId)) signed++;
      } catch (err) {
        // A tenant without a key must not keep the others from theirs.
        if (!(err instanceof HubError) || err.detail.reason !== 'signing_unavailable') throw err;
        log.warn({ tenantId }, 'cannot sign the head of the audit chain: no signing key is active');
      }
    }
    return signed;
  }

  /**
   * Removes a slice of links from the chain of every tenant: those older than the retention and covered by a signed
   * head.
   * @returns how many links
   */
  async retain(): Promise<number> {
    const { settings, clock, store } = this.#ports;
    const { auditRetentionDays } = settings;
    if (auditRetentionDays === 0) return 0;
    const before = clock.now() - auditRetentionDays * dayMs;
    let removed = 0;
    for (const tenantId of await store.tenants.listIds()) {
      removed += await store.audit.retain(tenantId, before, retainedAtOnce);
    }
    return removed;
  }

  async #sign(tenantId: string, { seq, digest }: Pick<AuditLink, 'seq' | 'digest'>): Promise<SignedHead> {
    const { store, secrets, clock } = this.#ports;
    const signer = activeSigner(await store.signing.getActive(tenantId), secrets);
    const unsigned = { tenantId, seq, digest, signedAt: clock.now(), keyId: signer.keyId };
    const hex = signer.sign(envelopeBytes(headType, utf8.encode(headText(unsigned))));
    const signature = Buffer.from(hex, 'hex').toString('base64');
    const head = { ...unsigned, publicKey: signer.publicKey, signature };
    await store.audit.createHead(head);
    return head;
  }
}
