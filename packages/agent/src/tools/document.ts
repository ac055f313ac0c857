// The pin document of one server as this agent trusts it: signed by the tenant, never older than before, kept on disk.
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { isPublicKey, type Succession, verifies, withSuccessors } from '../bundle/signature.ts';
import { writeWhole } from '../files.ts';
import { type PinDocument, readPinDocument, signedPinText } from '../rules/tools/pins.ts';
import { Serial } from '../serial.ts';

/** A pin document as the hub sends it. */
export interface SignedPins {
  /** Canonical JSON. */
  readonly document: string;
  /** Ed25519, in hex. */
  readonly signature: string;
  readonly publicKey: string;
  readonly successions: readonly Succession[];
}

/** The hub's pins are not what they claim to be, or older than pins in use. */
export class PinsRejectedError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'PinsRejectedError';
  }
}

/** The pins in use, and the keys that this agent trusts for the server. */
interface TrustedPins {
  readonly text: string;
  readonly document: PinDocument;
  readonly keys: readonly string[];
}

/** As many as a hub keeps successions, and the last. */
const maxKeys = 17;

export interface PinScope {
  readonly env: string;
  readonly server: string;
}

export class PinFile {
  readonly #scope: PinScope;
  readonly #path: string | null;
  #trusted: TrustedPins | null = null;
  readonly #serial = new Serial();

  /** @param path null: pins live as long as the process */
  constructor(scope: PinScope, path: string | null) {
    this.#scope = scope;
    this.#path = path;
  }

  get document(): PinDocument | null {
    return this.#trusted?.document ?? null;
  }

  /** Reads the pins from disk. @throws PinsRejectedError for a file that is not this server's pins */
  async load(): Promise<void> {
    if (this.#path === null) return;
    let text: string;
    try {
      text = await readFile(this.#path, 'utf8');
    } catch (failure) {
      if ((failure as NodeJS.ErrnoException).code === 'ENOENT') return;
      throw failure;
    }
    const refused = () =>
      new PinsRejectedError(`the tool pins in ${this.#path} cannot be read: repair or delete the file`);
    let record: { readonly [name: string]: unknown };
    try {
      record = JSON.parse(text);
    } catch {
      throw refused();
    }
    const { document: pinText, signature, keys } = record ?? {};
    if (typeof pinText !== 'string' || typeof signature !== 'string' || !Array.isArray(keys)) throw refused();
    const document = readPinDocument(pinText);
    const key: unknown = keys.at(-1);
    const isOurs = document?.server === this.#scope.server && document.env === this.#scope.env;
    if (!document || !isOurs || typeof key !== 'string' || !isSigned(pinText, signature, key))
      throw refused();
    this.#trusted = { text: pinText, document, keys: keys as readonly string[] };
  }

  /**
   * Takes pins from the hub. @returns whether they differ from the pins in use
   * @throws PinsRejectedError; the pins in use stay
   */
  take(pins: SignedPins): Promise<boolean> {
    // Of two at once, the later pins are those on disk too.
    return this.#serial.run(() => this.#take(pins));
  }

  async #take({ document: text, signature, publicKey, successions }: SignedPins): Promise<boolean> {
    const document = readPinDocument(text);
    const { env, server } = this.#scope;
    if (!document || document.server !== server || document.env !== env) {
      throw new PinsRejectedError('the hub sent tool pins of another server or environment');
    }
    const before = this.#trusted;
    if (before && document.tenant !== before.document.tenant)
      throw this.#rejected('belong to another tenant');
    const offered = isPublicKey(publicKey) ? [publicKey.toLowerCase()] : [];
    const trusted = before ? before.keys.slice(-1) : offered;
    const keys = withSuccessors(trusted, document.tenant, successions);
    const key = [...keys].reverse().find((one) => isSigned(text, signature, one));
    if (key === undefined) throw this.#rejected('are not signed by a trusted key');
    if (before && document.sequence < before.document.sequence)
      throw this.#rejected('are older than those in use');
    const isSame = before?.text === text;
    if (before && !isSame && document.sequence === before.document.sequence) {
      throw this.#rejected('differ from those in use with the same sequence');
    }
    if (isSame && before?.keys.at(-1) === key) return false;
    const latestKeys = [...(before?.keys ?? []).filter((one) => one !== key), key].slice(-maxKeys);
    this.#trusted = { text, document, keys: latestKeys };
    if (this.#path !== null)
      await writeWhole(this.#path, JSON.stringify({ document: text, signature, keys: latestKeys }));
    return !isSame;
  }

  #rejected(what: string): PinsRejectedError {
    const advice = this.#path === null ? 'restart the agent' : `delete ${this.#path} and restart the agent`;
    return new PinsRejectedError(
      `tool pins of ${this.#scope.server} ${what}. If this change is intended, ${advice}.`,
    );
  }
}

const isSigned = (document: string, signature: string, key: string): boolean =>
  verifies(Buffer.from(signedPinText(document), 'utf8'), signature, key);

/** A file name of a label: readable, and different for different labels. */
export const fileNameOf = (label: string): string => {
  const words = label.replace(/[^A-Za-z0-9._-]/g, '_').slice(0, 64);
  return `${words}-${createHash('sha256').update(label).digest('hex').slice(0, 16)}.json`;
};
