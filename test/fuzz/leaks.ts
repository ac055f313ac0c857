// Looks for what belongs to one tenant in what another one gets: unguessable markers, as they are and encoded, and ids.
import { createHash } from 'node:crypto';

const uuidText = /[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/g;
const rememberedIds = 200_000;

/** A text that nobody can guess and that every kind of name may hold: lower-case letters and digits. */
export function markerOf(seed: string, tenant: string): string {
  return `mk${createHash('sha256').update(`${seed}/${tenant}`).digest('hex').slice(0, 20)}`;
}

/**
 * The marker in texts that a key of this environment sends. Names are the same in all environments, and have the marker
 * alone.
 */
export const markerIn = (marker: string, env: string | null): string => marker + (env ?? '');

/** The marker, and what base64 (at any offset) and hex make of it. */
export function formsOf(marker: string): Buffer[] {
  const inBase64 = [0, 1, 2].map((offset) => {
    const text = Buffer.from(`${'\0'.repeat(offset)}${marker}`)
      .toString('base64')
      .replace(/=+$/, '');
    // The first characters hold bits of what stands before, the last ones of what follows.
    return text.slice(offset === 0 ? 0 : offset + 1, -2);
  });
  const inUrls = inBase64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'));
  const forms = new Set([marker, ...inBase64, ...inUrls, Buffer.from(marker).toString('hex')]);
  return [...forms].map((form) => Buffer.from(form));
}

const environments = ['production', 'staging', 'development'];

/** The first of the forms in the bytes, with what stands around it; null when none is there. */
function around(bytes: Buffer, forms: readonly Buffer[]): string | null {
  for (const form of forms) {
    const at = bytes.indexOf(form);
    if (at >= 0)
      return `…${JSON.stringify(bytes.subarray(Math.max(0, at - 60), at + 60).toString('latin1'))}…`;
  }
  return null;
}

export class Leaks {
  readonly #forms: ReadonlyMap<string, readonly Buffer[]>;
  /** By tenant and environment. */
  readonly #envForms: ReadonlyMap<string, readonly Buffer[]>;
  readonly #owners = new Map<string, string>();
  readonly #everybodys: ReadonlySet<string>;

  /**
   * @param markers tenant → its marker
   * @param everybodys ids that all tenants may see, as those of nodes
   */
  constructor(markers: ReadonlyMap<string, string>, everybodys: readonly string[] = []) {
    this.#everybodys = new Set(everybodys);
    this.#forms = new Map([...markers].map(([tenant, marker]) => [tenant, formsOf(marker)]));
    this.#envForms = new Map(
      [...markers].flatMap(([tenant, marker]) =>
        environments.map((env) => [`${tenant}/${env}`, formsOf(markerIn(marker, env))] as const),
      ),
    );
  }

  /** Bytes that must be looked at again together with what follows: a marker may come in two pieces. */
  readonly overlap = 80;

  /** Says whose text is in bytes that `reader` got; null is nobody's reader. Null when all is well. */
  foreignText(reader: string | null, bytes: Buffer): string | null {
    for (const [tenant, forms] of this.#forms) {
      const found = tenant === reader ? null : around(bytes, forms);
      if (found !== null) return `text of ${tenant}: ${found}`;
    }
    return null;
  }

  /** Says which other environment's text is in bytes that a key of `env` got. Null when all is well. */
  foreignEnvironment(tenant: string, env: string, bytes: Buffer): string | null {
    for (const other of environments) {
      const found = other === env ? null : around(bytes, this.#envForms.get(`${tenant}/${other}`) ?? []);
      if (found !== null) return `text of ${other}: ${found}`;
    }
    return null;
  }

  /**
   * Says whose id is in an answer to `reader`, and remembers ids that are new as the reader's.
   * @param sent what the reader had sent: an answer may repeat it
   */
  foreignId(reader: string | null, bytes: Buffer, sent: Uint8Array): string | null {
    let question: string | null = null;
    for (const [id] of bytes.toString('latin1').matchAll(uuidText)) {
      const owner = this.#owners.get(id);
      if ((owner === reader && reader !== null) || this.#everybodys.has(id)) continue;
      question ??= Buffer.from(sent).toString('latin1').toLowerCase();
      if (question.includes(id)) continue;
      if (owner !== undefined) return `the id ${id} of ${owner}`;
      if (reader !== null) this.#remember(id, reader);
    }
    return null;
  }

  #remember(id: string, owner: string): void {
    this.#owners.set(id, owner);
    if (this.#owners.size <= rememberedIds) return;
    for (const oldest of this.#owners.keys()) {
      this.#owners.delete(oldest);
      return;
    }
  }
}
