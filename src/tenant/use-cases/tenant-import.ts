// A tenant from a file, in parts that may come twice. Its records are written under a tenant that is closed to all
// callers; nothing can be seen before the import is committed. Keeps promise P75.
import { noted } from '../../audit/note.ts';
import { emptyChain, linkText } from '../../audit/record.ts';
import { type EventInput, repeatOf } from '../../event/record.ts';
import { dayMs } from '../../shared/duration.ts';
import { HubError, notFound } from '../../shared/error.ts';
import type { Env } from '../../shared/ids.ts';
import type { MovedEvent, MovedRecords } from '../../shared/ports/moved-records.ts';
import { systemPrincipal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { FileKey } from '../port/file-format.ts';
import type { TenantImport, WrittenKind } from '../port/files.ts';
import type { TenantFileKind } from '../rules/file-kinds.ts';
import {
  addDigests,
  differences,
  digestOf,
  type LineDigests,
  type Resealing,
  reseal,
  settle,
} from '../rules/file-records.ts';
import { type FileEnd, type FileLine, readHead, readLine, unreadable } from './file-lines.ts';

export interface CommittedImport {
  readonly tenantId: string;
  readonly name: string;
  /** Null for an import that was committed before. */
  readonly records: { readonly [kind: string]: number } | null;
}

/** An import that is not committed after this time goes. */
const openMs = dayMs;
/** Records of one write. */
const writtenAtOnce = 100;
const eventsAtOnce = 500;
const linksAtOnce = 4 << 20;

type Ports = Pick<AppPorts, 'store' | 'secrets' | 'clock' | 'broadcast' | 'fileFormat'>;

const changed = (what: string): HubError =>
  new HubError('unprocessable', `The file was changed, or it is damaged: ${what}. Export the tenant again.`);

const importNotFound = (): HubError => notFound('Import not found. It ends after 24 hours. Begin again.');

export class TenantImports {
  readonly #ports: Ports;

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  /**
   * Begins, or goes on with the import of the same file.
   * @param bytes the first part of the file
   * @throws HubError unprocessable for a wrong passphrase; conflict when the tenant's id is there
   */
  async begin(bytes: Uint8Array, passphrase: string): Promise<TenantImport> {
    const { fileFormat, secrets, clock, store, broadcast } = this.#ports;
    const { text, digest, proof } = await fileFormat.unpack(bytes);
    const head = readHead(text);
    const derived = await fileFormat.derive(passphrase, String(head.salt));
    if (proof !== fileFormat.keyOf(derived).proof('tenant-file', `0 ${digest}`)) {
      throw new HubError(
        'unprocessable',
        'The passphrase does not open this file, or its first part was changed. Use the passphrase of the export.',
      );
    }
    const { tenant } = head;
    const request: TenantImport = {
      id: head.id,
      tenantId: tenant.id,
      name: tenant.name,
      createdAt: tenant.createdAt,
      suspendedAt: tenant.suspendedAt,
      sealedKey: secrets.seal('tenant-file', new TextEncoder().encode(derived)),
      isOpened: false,
    };
    const now = clock.now();
    const started = await store.tenantFiles.begin(request, now, now + openMs);
    if (started === 'taken') {
      throw new HubError('conflict', `The hub already has the tenant ${tenant.id}. Remove it first.`);
    }
    if (started === 'other') {
      throw new HubError(
        'conflict',
        'An earlier import of this tenant, or the tenant, is being removed. Try again in a minute.',
      );
    }
    if (!started.isOpened) await broadcast.control({ kind: 'tenant_closed', tenantId: tenant.id });
    return started;
  }

  /**
   * Stores a part; safe to repeat. @param number from 1
   * @throws HubError not_found, conflict, unprocessable
   */
  async createPart(id: string, number: number, bytes: Uint8Array): Promise<void> {
    const { store, secrets } = this.#ports;
    const started = await this.#find(id);
    if (started.isOpened) return;
    const key = this.#keyOf(started);
    const text = await this.#open(bytes, number, key);
    const stored = (await store.tenantFiles.listParts(id)).some((part) => part.number === number);
    if (stored) return;
    const lines: FileLine[] = [];
    const hashes = new Map<string, string[]>();
    let end: FileEnd | null = null;
    for (const line of text.split('\n')) {
      if (line === '') continue;
      if (end) throw unreadable();
      const read = readLine(line, started.tenantId);
      if ('end' in read) end = read.end;
      else {
        lines.push(read);
        const ofKind = hashes.get(read.kind) ?? [];
        ofKind.push(secrets.sha256(line));
        hashes.set(read.kind, ofKind);
      }
    }
    await this.#write(started.tenantId, lines, key);
    const digests = Object.fromEntries([...hashes].map(([kind, of]) => [kind, digestOf(of)]));
    await store.tenantFiles.createPart(id, started.tenantId, {
      number,
      digests: JSON.stringify(digests),
      end: end && JSON.stringify(end),
    });
  }

  /**
   * Opens the tenant, if every part is there; safe to repeat.
   * @throws HubError not_found; conflict when parts are missing; unprocessable when the file is not whole
   */
  async commit(id: string): Promise<CommittedImport> {
    const started = await this.#find(id);
    const { tenantId, name } = started;
    if (started.isOpened) return { tenantId, name, records: null };
    const parts = await this.#ports.store.tenantFiles.listParts(id);
    const last = parts.at(-1);
    const missing = parts.findIndex(({ number }, i) => number !== i + 1);
    if (!last || last.end === null || missing >= 0) {
      const next = missing >= 0 ? missing + 1 : parts.length + 1;
      throw new HubError('conflict', `Part ${next} of the file is missing. Send it, then commit again.`);
    }
    const end = JSON.parse(last.end) as FileEnd;
    const sums = parts.reduce<LineDigests>(
      (sum, { digests }) => addDigests(sum, JSON.parse(digests) as LineDigests),
      {},
    );
    const differing = differences(sums, end.kinds);
    if (end.parts !== parts.length) throw changed(`it has ${parts.length} parts of ${end.parts}`);
    if (differing.length > 0) throw changed(`the digests of ${differing.join(', ')} differ`);
    await this.#checkChain(tenantId);
    const noting = noted(this.#ports, systemPrincipal(tenantId, 'operator'), {
      action: 'tenant.imported',
      subject: { id: tenantId, name },
      summary: 'The tenant was imported from a file by the operator of the installation.',
      details: { fileId: id },
      onceFor: id,
    });
    if ((await noting.tenantFiles.open(id, this.#ports.clock.now())) === 'absent') throw importNotFound();
    await this.#ports.broadcast.control({
      kind: started.suspendedAt === null ? 'tenant_opened' : 'tenant_closed',
      tenantId,
    });
    const records = Object.fromEntries(Object.entries(sums).map(([kind, of]) => [kind, of.records]));
    return { tenantId, name, records };
  }

  #sealingFrom(key: FileKey): Resealing {
    return {
      sealed: (purpose, value) => this.#ports.secrets.seal(purpose, key.unseal(purpose, value)),
      text: (value) => new TextDecoder().decode(key.unseal('tenant-file', value)),
    };
  }

  #keyOf({ sealedKey }: TenantImport): FileKey {
    return this.#ports.fileFormat.keyOf(
      new TextDecoder().decode(this.#ports.secrets.unseal('tenant-file', sealedKey)),
    );
  }

  async #find(id: string): Promise<TenantImport> {
    const { store, clock } = this.#ports;
    const started = await store.tenantFiles.get(id);
    const tenant = started && (await store.tenantRecords.get(started.tenantId));
    // Erasing may have begun: the records that are left are not the whole file.
    if (!started || !tenant || (tenant.removedAt ?? Number.POSITIVE_INFINITY) <= clock.now())
      throw importNotFound();
    return started;
  }

  async #open(part: Uint8Array, number: number, key: FileKey): Promise<string> {
    const { text, digest, proof } = await this.#ports.fileFormat.unpack(part);
    if (proof === key.proof('tenant-file', `${number} ${digest}`)) return text;
    throw changed(`part ${number} is not the one that was written`);
  }

  async #write(tenantId: string, lines: readonly FileLine[], key: FileKey): Promise<void> {
    const from = this.#sealingFrom(key);
    for (let at = 0; at < lines.length; ) {
      const kind = lines[at]?.kind as TenantFileKind;
      const size = kind === 'events' ? eventsAtOnce : writtenAtOnce;
      let end = at;
      while (end < lines.length && end - at < size && lines[end]?.kind === kind) end++;
      const records = lines
        .slice(at, end)
        .map(({ record }) => settle(kind, reseal(kind, record as never, from)));
      if (kind === 'events') await writeEvents(this.#ports.store.events, records as never);
      else await this.#ports.store.tenantFiles.write(tenantId, kind as WrittenKind, records as never);
      at = end;
    }
  }

  /** @throws HubError unprocessable for links that are missing or changed */
  async #checkChain(tenantId: string): Promise<void> {
    const { store, secrets } = this.#ports;
    const head = await store.audit.getSignedHead(tenantId);
    if (!head) return;
    let before: { readonly seq: number; readonly digest: string } =
      (await store.audit.start(tenantId)) ?? emptyChain;
    while (before.seq < head.seq) {
      const links = await store.audit.listLinks(tenantId, before.seq + 1, head.seq, linksAtOnce);
      if (links.length === 0) break;
      for (const link of links) {
        const isNext =
          link.seq === before.seq + 1 &&
          link.prev === before.digest &&
          link.digest === secrets.sha256(linkText(link));
        if (!isNext) throw changed(`link ${link.seq} of the audit chain does not follow the one before`);
        before = link;
      }
    }
    if (before.seq === head.seq && before.digest === head.digest) return;
    throw changed('the audit chain does not end at its signed head');
  }
}

/** The event as it was sent. */
function inputOf({
  id: _id,
  seq: _seq,
  env: _env,
  createdAt: _createdAt,
  outcomes: _outcomes,
  outcomeIds: _outcomeIds,
  sample: _sample,
  tenantId: _tenantId,
  ...event
}: MovedEvent): EventInput {
  return event;
}

/** Stores events as they were received, then their outcomes; safe to repeat. */
async function writeEvents(
  events: AppPorts['store']['events'],
  records: readonly MovedRecords['events'][],
): Promise<void> {
  for (let at = 0; at < records.length; ) {
    const first = records[at] as MovedEvent;
    const { tenantId, env, createdAt, sample } = first;
    let end = at;
    while (
      records[end]?.env === env &&
      records[end]?.createdAt === createdAt &&
      records[end]?.sample === sample
    )
      end++;
    const group = records.slice(at, end);
    const batch = {
      tenantId,
      env: env as Env,
      receivedAt: createdAt,
      isImported: true as const,
      ...(sample ? { sample: true as const } : {}),
    };
    await events.ingest({ ...batch, events: group.map(inputOf) });
    const repeats = group.flatMap((event) =>
      event.outcomes.map((outcome) => repeatOf(inputOf(event), outcome)),
    );
    for (let from = 0; from < repeats.length; from += eventsAtOnce)
      await events.ingest({ ...batch, events: repeats.slice(from, from + eventsAtOnce) });
    at = end;
  }
}
