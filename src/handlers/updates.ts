// contract_update frames for streams that catch up: made once per deployment and signature, shared by every stream that needs them.
// Holds at most 32 MiB of frames.
import type { Deployment } from '../domain/deployment.ts';
import { agentsOf, type Frame } from '../domain/frame.ts';
import { contractUpdate } from '../domain/update.ts';
import type { Hub } from './hub.ts';

const maxBytes = 32 * 1024 * 1024;

/** A frame that is being made (0 bytes) or is made. */
interface Entry {
  readonly made: Promise<{ readonly frame: Frame; readonly bytes: number } | null>;
  bytes: number;
}

export class Updates {
  readonly #hub: Hub;
  /** Least recently used first. */
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;

  constructor(hub: Hub) {
    this.#hub = hub;
  }

  /** The frame of a deployment; null when its bundle version is gone. Calls side by side share one reading of the YAML. */
  async of(deployment: Deployment): Promise<Frame | null> {
    // A rotation of the signing key leaves the deployment's id and changes its signature.
    const id = `${deployment.id}/${deployment.signature}/${deployment.attestation}`;
    let entry = this.#entries.get(id);
    if (entry) this.#entries.delete(id);
    else entry = { made: this.#make(deployment), bytes: 0 };
    this.#entries.set(id, entry);
    const made = await entry.made.catch((error) => {
      if (this.#entries.get(id) === entry) this.#drop(id);
      throw error;
    });
    // One that gave way while it was being made has no place here any more.
    if (this.#entries.get(id) === entry) {
      if (made === null) this.#drop(id);
      else this.#weigh(entry, made.bytes);
    }
    return made?.frame ?? null;
  }

  async #make(deployment: Deployment): Promise<{ frame: Frame; bytes: number } | null> {
    const { tenantId, env, bundleName, version } = deployment;
    const { bundles, signing } = this.#hub.store;
    const [yaml, successions] = await Promise.all([
      bundles.yaml(tenantId, bundleName, version),
      signing.successions(tenantId),
    ]);
    if (!yaml) return null;
    const frame: Frame = {
      audience: agentsOf(tenantId, env),
      type: 'contract_update',
      data: contractUpdate(deployment, yaml, this.#hub.settings.wire.signatureEncoding, successions),
      bundle: bundleName,
    };
    // Base64 text and the fields around it.
    return { frame, bytes: Math.ceil((yaml.length * 4) / 3) + 1024 };
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
