// A tenant as a file: its records in lines of JSON, in parts that the file's key proves. Keeps promise P75.
import type { AuditLog } from '../../audit/use-cases.ts';
import { HubError, notFound } from '../../shared/error.ts';
import type { MovedRecords } from '../../shared/ports/moved-records.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { FileKey } from '../port/file-format.ts';
import type { TenantReading } from '../port/files.ts';
import { type TenantFileKind, tenantFileKinds } from '../rules/file-kinds.ts';
import { addDigests, digestOf, type LineDigests, type Resealing, reseal } from '../rules/file-records.ts';
import { type FileHead, fileFormat as fileFormatName, headText, writeLine } from './file-lines.ts';

export interface TenantExports {
  /**
   * The parts of the file, in their order. Ask for them all, or call `return`: it ends the reading of the store, also
   * before the first part.
   * @throws HubError not_found; conflict for a tenant that is being removed
   */
  start(tenantId: string, passphrase: string): Promise<AsyncGenerator<Uint8Array, void, undefined>>;
}

/** Characters of JSON in a part, about. */
const partCharacters = 1 << 20;

type Ports = Pick<AppPorts, 'store' | 'secrets' | 'clock' | 'log' | 'fileFormat'> & {
  readonly auditLog: Pick<AuditLog, 'signHead'>;
  readonly settings: Pick<AppPorts['settings'], 'version'>;
};

export const createTenantExports = (ports: Ports): TenantExports => ({
  async start(tenantId, passphrase) {
    const { store, auditLog, secrets, fileFormat, settings, clock } = ports;
    const tenant = await store.tenantRecords.get(tenantId);
    if (!tenant) throw notFound('Tenant not found.');
    if (tenant.removedAt !== null) throw new HubError('conflict', 'This tenant is being removed.');
    await auditLog.signHead(tenantId);
    const salt = secrets.token(16);
    const key = fileFormat.keyOf(await fileFormat.derive(passphrase, salt));
    const head: FileHead = {
      format: fileFormatName,
      id: secrets.uuid(),
      version: settings.version,
      exportedAt: new Date(clock.now()).toISOString(),
      salt,
      tenant: {
        id: tenantId,
        name: tenant.name,
        createdAt: tenant.createdAt,
        suspendedAt: tenant.suspendedAt,
      },
    };
    const file = parts(ports, head, key);
    // Begins the reading.
    await file.next();
    return file;
  },
});

const sealingFor = ({ secrets }: Ports, key: FileKey): Resealing => ({
  sealed: (purpose, value) => key.seal(purpose, secrets.unseal(purpose, value)),
  text: (value) => key.seal('tenant-file', new TextEncoder().encode(value)),
});

/** First an empty piece, when the reading has begun: `return` skips the `finally` of a generator that did not start. */
async function* parts(
  ports: Ports,
  head: FileHead,
  key: FileKey,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { fileFormat, secrets, log } = ports;
  let number = 0;
  let digests: LineDigests = {};
  const pack = (text: string): Promise<Uint8Array> => {
    const own = number++;
    return fileFormat.pack(text, (digest) => key.proof('tenant-file', `${own} ${digest}`));
  };
  const reading = await ports.store.readTenant(head.tenant.id);
  try {
    yield new Uint8Array();
    yield await pack(`${headText(head)}\n`);
    const selection = new Selection(reading);
    const to = sealingFor(ports, key);
    let text = '';
    for (const kind of tenantFileKinds) {
      for await (const page of selection.records(kind)) {
        const hashes: string[] = [];
        for (const record of page) {
          const line = writeLine(kind, reseal(kind, record as never, to));
          hashes.push(secrets.sha256(line));
          text += `${line}\n`;
          if (text.length < partCharacters) continue;
          yield await pack(text);
          text = '';
        }
        if (hashes.length > 0) digests = addDigests(digests, { [kind]: digestOf(hashes) });
      }
    }
    if (text !== '') yield await pack(text);
    yield await pack(`${JSON.stringify({ end: { parts: number, kinds: digests } })}\n`);
    log.info({ tenantId: head.tenant.id }, 'a tenant was exported');
  } finally {
    await reading.close();
  }
}

/** The records of a reading that a file contains. */
class Selection {
  readonly #reading: TenantReading;
  /** The newest link that a signed head covers. */
  #lastSigned = 0;

  constructor(reading: TenantReading) {
    this.#reading = reading;
  }

  async *records<K extends TenantFileKind>(kind: K): AsyncGenerator<readonly MovedRecords[K][]> {
    for await (const page of this.#reading.records(kind)) {
      if (kind === 'auditHeads')
        for (const { seq } of page as readonly MovedRecords['auditHeads'][])
          this.#lastSigned = Math.max(this.#lastSigned, seq);
      // The chain ends at a signed head.
      if (kind !== 'auditLinks') yield page;
      else yield page.filter((link) => (link as MovedRecords['auditLinks']).seq <= this.#lastSigned);
    }
  }
}
