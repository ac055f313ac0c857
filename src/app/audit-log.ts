// Reading the audit chain, and signing its heads: who has a signed head can tell that the links up to it are those of
// then.
import {
  type AuditLink,
  type AuditSubject,
  feedSubjects,
  headText,
  headType,
  type SignedHead,
} from '../domain/audit.ts';
import { dayMs } from '../domain/duration.ts';
import { envelopeBytes } from '../domain/envelope.ts';
import { HubError, notFound, refused } from '../domain/error.ts';
import type { Principal } from '../domain/principal.ts';
import type { AuditPlace, PlacedAuditEntry } from '../ports/audit.ts';
import { requireRole } from './access.ts';
import type { AppPorts } from './ports.ts';

export interface AuditQuestion {
  readonly from: number | null;
  readonly to: number | null;
  readonly actor: string | null;
  readonly actions: readonly string[] | null;
  readonly subjects: readonly AuditSubject[] | null;
  /** True: subjects of all types, where neither actions nor types are named. */
  readonly everything: boolean;
}

export interface AuditExport {
  readonly links: readonly AuditLink[];
  /** The head in front of the first link, when older ones are not kept; null otherwise. */
  readonly start: SignedHead | null;
  /** Of the last of these links. */
  readonly head: SignedHead;
  /** Where to go on; null when nothing is left. */
  readonly next: number | null;
}

export interface AuditLog {
  /** Newest first. @throws HubError forbidden */
  feed(
    principal: Principal,
    question: AuditQuestion,
    before: AuditPlace | null,
    limit: number,
  ): Promise<readonly PlacedAuditEntry[]>;
  /**
   * Links as they are, about 8 MiB at most.
   * @throws HubError forbidden, not_found without any, unavailable (signing_unavailable)
   */
  export(principal: Principal, from: number, to: number | null): Promise<AuditExport>;
  /** The newest signed head. @throws HubError forbidden, not_found before the first was signed */
  head(principal: Principal): Promise<SignedHead>;
  /** Signs the head of every chain that grew since it was signed last. @returns how many */
  signHeads(): Promise<number>;
  /**
   * Takes away a slice of what is older than is kept and covered by a signed head, of every tenant.
   * @returns how many links
   */
  retain(): Promise<number>;
}

/** Days that are listed when no time is named. */
const usualDays = 30;
const maxExportBytes = 8 * 1024 * 1024;
/** Links that go in one step: other writes wait as long. */
const retainedAtOnce = 500;
const utf8 = new TextEncoder();

export function createAuditLog({
  store,
  secrets,
  clock,
  log,
  settings,
}: Pick<AppPorts, 'store' | 'secrets' | 'clock' | 'log'> & {
  readonly settings: Pick<AppPorts['settings'], 'auditRetentionDays'>;
}): AuditLog {
  async function sign(
    tenantId: string,
    { seq, digest }: Pick<AuditLink, 'seq' | 'digest'>,
  ): Promise<SignedHead> {
    const key = await store.signing.active(tenantId);
    if (!key) {
      throw refused(
        'signing_unavailable',
        'There is no active signing key, so nothing can be signed. Rotate the signing key to make one.',
      );
    }
    const { publicKey } = key;
    const keyId = secrets.sha256(Buffer.from(publicKey, 'hex')).slice(0, 16);
    const unsigned = { tenantId, seq, digest, signedAt: clock.now(), keyId };
    const bytes = envelopeBytes(headType, utf8.encode(headText(unsigned)));
    const hex = secrets.sign(secrets.unseal('signing-key', key.sealedSeed), bytes);
    const head = { ...unsigned, publicKey, signature: Buffer.from(hex, 'hex').toString('base64') };
    await store.audit.keepHead(head);
    return head;
  }

  return {
    async feed(principal, question, before, limit) {
      requireRole(principal, 'viewer');
      const { actions, subjects, everything } = question;
      const usual = everything || actions !== null || subjects !== null ? null : feedSubjects;
      const from = question.from ?? (question.to === null ? clock.now() : question.to) - usualDays * dayMs;
      return store.audit.feed(
        principal.tenantId,
        { from, to: question.to, actor: question.actor, actions, subjects: subjects ?? usual },
        before,
        limit,
      );
    },

    async export(principal, from, to) {
      requireRole(principal, 'admin');
      const { tenantId } = principal;
      const head = await store.audit.head(tenantId);
      const last = Math.min(to ?? Number.POSITIVE_INFINITY, head?.seq ?? 0);
      const start = await store.audit.start(tenantId);
      const links = last < from ? [] : await store.audit.links(tenantId, from, last, maxExportBytes);
      const end = links.at(-1);
      if (!end) throw notFound('Nothing is recorded in this part of the chain.');
      return {
        links,
        start: start && links[0]?.seq === start.seq + 1 ? start : null,
        head: await sign(tenantId, end),
        next: end.seq < last ? end.seq + 1 : null,
      };
    },

    async head(principal) {
      requireRole(principal, 'viewer');
      const signed = await store.audit.signedHead(principal.tenantId);
      if (!signed) throw notFound('No head was signed yet: the first is an hour after the first entry.');
      return signed;
    },

    async signHeads() {
      let signed = 0;
      for (const tenantId of await store.tenants.tenantIds()) {
        const head = await store.audit.head(tenantId);
        if (!head || (await store.audit.signedHead(tenantId))?.seq === head.seq) continue;
        try {
          await sign(tenantId, head);
          signed++;
        } catch (err) {
          // A tenant without a key must not keep the others from theirs.
          if (!(err instanceof HubError) || err.detail.reason !== 'signing_unavailable') throw err;
          log.warn(
            { tenant: tenantId },
            'the head of the audit chain was not signed: there is no signing key',
          );
        }
      }
      return signed;
    },

    async retain() {
      const { auditRetentionDays } = settings;
      if (auditRetentionDays === 0) return 0;
      const before = clock.now() - auditRetentionDays * dayMs;
      let removed = 0;
      for (const tenantId of await store.tenants.tenantIds()) {
        removed += await store.audit.retain(tenantId, before, retainedAtOnce);
      }
      return removed;
    },
  };
}
