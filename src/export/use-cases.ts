// Exports by cursor: each line of a kind once, in the order of commits, to whoever reads on from any line.
import type { Admission } from '../admission/admission.ts';
import { noteOf } from '../audit/note.ts';
import { auditActor, entriesOf } from '../audit/record.ts';
import type { SampleRuns } from '../run/use-cases/samples.ts';
import { requireRole, visibleEnvs } from '../shared/access.ts';
import { pause } from '../shared/ports/clock.ts';
import { actorName, type Principal } from '../shared/principal.ts';
import type { AppPorts } from '../shared/use-case-ports.ts';
import type { ExportPage } from './port.ts';
import { type ExportKind, type ExportLine, envOfRecord, exportKinds } from './record.ts';

/** Position of a reader. */
export interface ExportCursor {
  readonly place: string;
  /** Lines that removal had taken when the cursor was made: their loss is no news. */
  readonly removed: number;
}

export interface ExportRequest {
  readonly kind: ExportKind;
  readonly format: string;
  /** Null: the beginning. */
  readonly after: ExportCursor | null;
  readonly limit: number;
  /** Milliseconds to wait for the first line. */
  readonly waitMs: number;
  /**
   * Called during the wait: lines of that time are for the reader as it is then. False if its rights are others now.
   * @throws HubError when it may read no more
   */
  readonly recheckReader: () => Promise<boolean>;
}

export type ExportAnswer =
  | {
      readonly isExpired: false;
      readonly lines: readonly (ExportLine & { readonly cursor: ExportCursor })[];
      /** Behind the last line; null while nothing was ever stored. The cursor of the request if its reader changed. */
      readonly next: ExportCursor | null;
      /** False if lines behind `next` were stored when the answer was read, or if the reader changed. */
      readonly isComplete: boolean;
    }
  | {
      readonly isExpired: true;
      /** The oldest cursor that is good: it continues at the same place with the lines that are left. */
      readonly oldest: ExportCursor;
      /** Upper bound of the lines that are gone between the cursor and the newest line; null: unknown. */
      readonly removed: number | null;
    };

export interface Exports {
  /** @throws HubError forbidden; rate_limited while as many of the tenant's exports run as a node allows */
  list(principal: Principal, request: ExportRequest): Promise<ExportAnswer>;
  /** Lines that this process sent since its start, by kind and format. */
  readonly sent: ReadonlyMap<string, number>;
}

/** Between two looks for new lines, or at the reader. */
const lookEveryMs = 500;
/** A read that finds nothing that its reader may see looks on for so long. */
const maxScanMs = 5_000;
const auditBytes = 1024 * 1024;

type Page = Omit<ExportPage, 'end'> & { readonly end: string | null };

type Ports = Pick<AppPorts, 'admission' | 'store' | 'clock' | 'secrets' | 'health'> & {
  readonly sampleRuns: Pick<SampleRuns, 'approvalIdOf'>;
};

class StreamedExports implements Exports {
  readonly #ports: Ports;
  readonly #admission: Admission;
  readonly sent = new Map<string, number>(exportKinds.map((kind) => [`${kind} native`, 0]));
  /** By tenant and kind, where the last search through lines of others began and ended. */
  readonly #passed = new Map<string, { readonly from: string | null; readonly to: string | null }>();

  constructor(ports: Ports) {
    this.#ports = ports;
    this.#admission = ports.admission;
  }

  async list(principal: Principal, request: ExportRequest): Promise<ExportAnswer> {
    const { clock, secrets, store } = this.#ports;
    requireRole(principal, request.kind === 'audit' ? 'admin' : 'viewer');
    const { tenantId, actor } = principal;
    const { kind, format } = request;
    const permit = this.#admission.take({ tenantId }, 'exports');
    try {
      const answer = await this.#readOn(principal, request);
      if (answer.isExpired) return answer;
      // An export is recorded where it begins, before its first line or the cursor to later ones is sent.
      if (request.after === null && (answer.lines.length > 0 || answer.next !== null)) {
        const by = auditActor(principal);
        const note = noteOf({ clock, secrets }, tenantId, by, {
          action: 'user.exported_events',
          subject: { id: by.id, name: actorName(actor) },
          summary: `${actorName(actor)} began an export.`,
          details: { kind, format },
        });
        await store.audit.append([note]);
      }
      const series = `${kind} ${format}`;
      this.sent.set(series, (this.sent.get(series) ?? 0) + answer.lines.length);
      return answer;
    } finally {
      permit.release();
    }
  }

  /** The audit chain has numbers of its own. A place is the entry that comes next. */
  async #auditPage(tenantId: string, after: string | null, limit: number): Promise<Page> {
    const [seq = 1, index = 0] = (after ?? '1.0').split('.').map(Number);
    const links = await this.#ports.store.audit.listLinks(tenantId, seq, Number.MAX_SAFE_INTEGER, auditBytes);
    const lines: ExportLine[] = [];
    let end = after;
    for (const link of links) {
      const entries = entriesOf(link.body);
      for (let i = link.seq === seq ? index : 0; i < entries.length && lines.length < limit; i++) {
        const entry = entries[i];
        end = i + 1 < entries.length ? `${link.seq}.${i + 1}` : `${link.seq + 1}.0`;
        if (entry) lines.push({ type: 'audit_entry', entry, place: end });
      }
    }
    const start = await this.#ports.store.audit.start(tenantId);
    const removed = start?.seq ?? 0;
    return { lines, end, hasMore: links.length > 0, removed, isTrimmed: after !== null && seq <= removed };
  }

  #pageOf(tenantId: string, kind: ExportKind, after: string | null, limit: number): Promise<Page> {
    return kind === 'audit'
      ? this.#auditPage(tenantId, after, limit)
      : this.#ports.store.exports.list(tenantId, kind, after, limit);
  }

  async #readOn(principal: Principal, request: ExportRequest): Promise<ExportAnswer> {
    const { kind, after, limit, waitMs } = request;
    const { clock, health, sampleRuns } = this.#ports;
    const { tenantId } = principal;
    const envs = visibleEnvs(principal);
    const sampleApprovalId = sampleRuns.approvalIdOf(tenantId);
    const isSeen = (line: ExportLine): boolean => {
      if ('approval' in line && line.approval.id === sampleApprovalId) return false;
      const env = envOfRecord(line);
      return env === null || envs === null || envs.some((one) => one === env);
    };
    const name = `${tenantId} ${kind} ${envs?.join() ?? '*'}`;
    const memory = this.#passed.get(name);
    const from = after?.place ?? null;
    let place = memory && memory.from === from ? memory.to : from;
    let removed = after?.removed ?? 0;
    const begun = clock.monotonic();
    let recheckAt = begun + lookEveryMs;
    for (;;) {
      const page = await this.#pageOf(tenantId, kind, place, limit);
      if (clock.monotonic() >= recheckAt) {
        if (!(await request.recheckReader()))
          return { isExpired: false, lines: [], next: after, isComplete: false };
        recheckAt = clock.monotonic() + lookEveryMs;
      }
      if (after && page.isTrimmed && page.removed > after.removed) {
        const count = kind === 'audit' ? null : page.removed - after.removed;
        return { isExpired: true, oldest: { place: after.place, removed: page.removed }, removed: count };
      }
      removed = page.removed;
      place = page.end;
      const lines = page.lines.filter(isSeen);
      const elapsed = clock.monotonic() - begun;
      const mayLook = page.hasMore ? elapsed < Math.max(waitMs, maxScanMs) : elapsed < waitMs;
      if (lines.length > 0 || !mayLook || health.draining()) {
        if (lines.length === 0) this.#passed.set(name, { from, to: place });
        const next = place === null ? null : { place, removed };
        return {
          isExpired: false,
          lines: lines.map((line) => ({ ...line, cursor: cursorOf(line, removed) })),
          next,
          isComplete: !page.hasMore,
        };
      }
      if (!page.hasMore) await pause(clock, Math.min(lookEveryMs, Math.max(1, waitMs - elapsed)));
    }
  }
}

export const createExports = (ports: Ports): Exports => new StreamedExports(ports);

const cursorOf = ({ place }: ExportLine, removed: number): ExportCursor => ({ place, removed });
