// Deployments that are due to streams which catch up, with the bytes of their bundles: read once per deployment and
// signature, and the same object for every stream, so that its frame is made once too. Holds at most 64 MiB, encodings
// included.
import type { AnnouncementOf } from '../../shared/announcement.ts';
import type { Store } from '../../shared/ports/store.ts';
import type { Deployment } from '../record.ts';

const maxBytes = 64 * 1024 * 1024;

type Due = AnnouncementOf<'deploymentDue'>;

/** An entry that is loading (0 bytes) or loaded. */
interface Entry {
  readonly copy: Promise<{ readonly due: Due; readonly bytes: number } | null>;
  due: Due | null;
  bytes: number;
}

export class Updates {
  readonly #store: Pick<Store, 'bundles' | 'signing'>;
  /** Least recently used first. */
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;
  /** The entry that was used last. */
  #newest: string | null = null;
  /** Ids of deployments whose object came before: all streams of a node get the same one. */
  readonly #ids = new WeakMap<Deployment, string>();

  constructor(store: Pick<Store, 'bundles' | 'signing'>) {
    this.#store = store;
  }

  /** The updates of all these deployments where each was read before; null elsewhere. */
  getCached(deployments: readonly Deployment[]): readonly Due[] | null {
    const due: Due[] = [];
    for (const deployment of deployments) {
      const id = this.#idOf(deployment);
      const entry = this.#entries.get(id);
      if (!entry?.due) return null;
      this.#renew(id, entry);
      due.push(entry.due);
    }
    return due;
  }

  /** Null when the deployment's bundle version is gone. Calls side by side share one reading of the YAML. */
  async get(deployment: Deployment): Promise<Due | null> {
    const id = this.#idOf(deployment);
    const entry = this.#entries.get(id) ?? { copy: this.#make(deployment), due: null, bytes: 0 };
    this.#renew(id, entry);
    const copy = await entry.copy.catch((error) => {
      if (this.#entries.get(id) === entry) this.#drop(id);
      throw error;
    });
    // One that gave way while it was being made has no place here any more.
    if (this.#entries.get(id) === entry) {
      if (copy === null) this.#drop(id);
      else {
        entry.due = copy.due;
        this.#weigh(entry, copy.bytes);
      }
    }
    return copy?.due ?? null;
  }

  /** A rotation of the signing key leaves the deployment's id and changes its signature. */
  #idOf(deployment: Deployment): string {
    let name = this.#ids.get(deployment);
    if (name === undefined) {
      const { id, signature, attestation } = deployment;
      name = `${id}/${signature}/${attestation}`;
      this.#ids.set(deployment, name);
    }
    return name;
  }

  /** A map that is changed for each of thousands of streams leaves garbage. */
  #renew(id: string, entry: Entry): void {
    if (id === this.#newest && this.#entries.get(id) === entry) return;
    this.#newest = id;
    this.#entries.delete(id);
    this.#entries.set(id, entry);
  }

  async #make(deployment: Deployment): Promise<{ due: Due; bytes: number } | null> {
    const { tenantId, bundleName, version } = deployment;
    const { bundles, signing } = this.#store;
    const [yaml, successions] = await Promise.all([
      bundles.getYaml(tenantId, bundleName, version),
      signing.listSuccessions(tenantId),
    ]);
    if (!yaml) return null;
    const due: Due = { kind: 'deploymentDue', deployment, yaml, successions, agentId: null };
    // Beside the YAML, the frames that are made of it hold it as base64: in JSON and in MessagePack, and once more in
    // each of the encodings that streams were sent last.
    return { due, bytes: yaml.length * 8 + 2048 };
  }

  #weigh(entry: Entry, bytes: number): void {
    if (entry.bytes > 0) return;
    entry.bytes = bytes;
    this.#bytes += bytes;
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= maxBytes) break;
      this.#drop(oldest);
    }
  }

  #drop(id: string): void {
    this.#bytes -= this.#entries.get(id)?.bytes ?? 0;
    this.#entries.delete(id);
  }
}
