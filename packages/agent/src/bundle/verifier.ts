// Checks before a bundle from the hub, or from disk, is put in use: its hash, its signature, its attestation, and its
// age compared with the bundle before. The record of earlier bundles is in pins (pins.ts). Keeps promise P59.
import { timingSafeEqual } from 'node:crypto';
import type { FetchedBundle } from '../hub.ts';
import type { Pin, PinPlace, Pins } from './pins.ts';
import { attests, BundleRejectedError, isPublicKey, sha256, verifies, withSuccessors } from './signature.ts';

/**
 * Accepted signatures. `off`: only the hash is checked. `first-seen`: the key that came with the first document, and
 * keys that it leads to. `if-signed`: the same, but documents from a hub that never signed any are accepted. A list:
 * these keys (64 hex characters each), and keys that they lead to.
 */
export type Signing = 'off' | 'if-signed' | 'first-seen' | readonly string[];

/** A bundle that may be put in use. */
export interface Checked {
  /** Hex SHA-256 of its YAML bytes. */
  readonly policyVersion: string;
  /** To be remembered once it is in use; null when there is nothing to remember. */
  readonly pinned: { readonly place: PinPlace; readonly pin: Pin } | null;
}

/** Keys of a pin that are kept: as many as a hub keeps successions, and the last. */
const maxKeys = 17;

export class BundleVerifier {
  readonly #signing: Signing;
  readonly #pins: Pins;
  readonly #account: string;
  readonly #env: string;
  /** Pin of the bundle in use: its key has to sign a bundle with a new name, and its attestation binds each name. */
  #inUse: { readonly place: PinPlace; readonly pin: Pin } | null = null;

  /** @param account names the API key without telling it */
  constructor(signing: Signing, pins: Pins, { account, env }: { account: string; env: string }) {
    this.#signing = typeof signing === 'string' ? signing : signing.map((key) => key.toLowerCase());
    this.#pins = pins;
    this.#account = account;
    this.#env = env;
  }

  /** @throws BundleRejectedError */
  async check(bundle: FetchedBundle): Promise<Checked> {
    const policyVersion = hashOf(bundle);
    if (this.#signing === 'off') return { policyVersion, pinned: null };
    const { place, pin: before } = await this.#pinned(bundle);
    const key = this.#signer(bundle, place, before);
    if (key === null) return { policyVersion, pinned: null };
    const attested = this.#isAttested(bundle, place, before, key, policyVersion);
    this.#checkSequence(bundle, place, before, policyVersion);
    const configured = this.#configured;
    const keys = [...this.#keysOf(before).filter((one) => one !== key), key].slice(-maxKeys);
    const { sequence } = bundle.provenance;
    return {
      policyVersion,
      pinned: { place, pin: { keys, configured, sequence, revisionHash: policyVersion, attested } },
    };
  }

  /**
   * Checks a bundle that this agent, or another one of the folder, has put on disk. It may be older than what the pin
   * knows: starting with it while the hub is away is what it is kept for. @returns its SHA-256 @throws
   * BundleRejectedError
   */
  async checkCached(bundle: FetchedBundle): Promise<string> {
    const policyVersion = hashOf(bundle);
    if (this.#signing === 'off') return policyVersion;
    const { place, pin } = await this.#pinned(bundle);
    if (pin) this.#inUse = { place, pin };
    const offered = pin || this.#configured ? [] : offeredBy(bundle);
    const trusted = [...(this.#configured ?? []), ...this.#keysOf(pin), ...offered];
    const { bytes, signature } = bundle;
    if (trusted.length === 0 && this.#signing === 'if-signed') return policyVersion;
    if (signature === null || !trusted.some((key) => verifies(bytes, signature, key)))
      throw new BundleRejectedError(`bundle ${bundle.bundleName} on disk is not signed by a trusted key`);
    return policyVersion;
  }

  /** Remembers that the bundle is in use. */
  async remember({ pinned }: Checked): Promise<void> {
    if (!pinned) return;
    this.#inUse = pinned;
    const { place, pin } = pinned;
    if (place.tenant !== this.#unknownTenant && (await this.#pins.tenant()) === null)
      await this.#pins.bindTenant(place.tenant);
    await this.#pins.save(place, pin);
  }

  get #configured(): readonly string[] | null {
    return typeof this.#signing === 'string' ? null : this.#signing;
  }

  get #unknownTenant(): string {
    return `key:${this.#account}`;
  }

  /**
   * Scope of the bundle's pin, and the pin if there is one. An API key belongs to one tenant for ever: a hub that could
   * name another tenant would begin with no pins at all.
   */
  async #pinned({ bundleName, provenance }: FetchedBundle): Promise<{ place: PinPlace; pin: Pin | null }> {
    const pinnedTenant = await this.#pins.tenant();
    const { tenantId } = provenance;
    if (pinnedTenant !== null && tenantId !== null && tenantId !== pinnedTenant) {
      const { advice, file } = this.#pins.undo('tenant');
      throw new BundleRejectedError(
        `bundle ${bundleName} belongs to tenant ${tenantId}, but this API key belongs to tenant ${pinnedTenant}. ${advice}`,
        file,
      );
    }
    const place = { tenant: tenantId ?? pinnedTenant ?? this.#unknownTenant, env: this.#env, bundleName };
    const pin = await this.#pins.load(place);
    if (pin || pinnedTenant !== null || tenantId === null) return { place, pin };
    // The hub has not sent a tenant before.
    return { place, pin: await this.#pins.load({ ...place, tenant: this.#unknownTenant }) };
  }

  /**
   * The keys of a pin that still count: other keys given to the agent since have taken the place of those that were
   * followed from.
   */
  #keysOf(pin: Pin | null): readonly string[] {
    const counts = this.#configured === null || sameKeys(pin?.configured ?? null, this.#configured);
    return pin && counts ? pin.keys : [];
  }

  /** The trusted key that signed the bundle; null when the hub never signed and that is allowed. */
  #signer(bundle: FetchedBundle, place: PinPlace, pin: Pin | null): string | null {
    const { bundleName, bytes, signature, provenance } = bundle;
    const lastPin = pin ?? this.#inUse?.pin ?? null;
    const offered = this.#configured || lastPin ? [] : offeredBy(bundle);
    const trusted = [...(this.#configured ?? []), ...this.#keysOf(lastPin).slice(-1), ...offered];
    if (this.#signing === 'if-signed' && lastPin === null && (signature === null || offered.length === 0))
      return null;
    const tenant = provenance.tenantId ?? place.tenant;
    const candidates = [...withSuccessors(trusted, tenant, provenance.successions)].reverse();
    const key = signature === null ? undefined : candidates.find((one) => verifies(bytes, signature, one));
    if (key !== undefined) return key;
    const what = signature === null ? 'is not signed' : 'is not signed by a trusted key';
    if (this.#configured) {
      throw new BundleRejectedError(
        `bundle ${bundleName} ${what}. If the hub's signing key was rotated, add the new key to \`signing\`.`,
      );
    }
    // A pin that does not stand in the way need not go.
    if (lastPin === null) throw new BundleRejectedError(`bundle ${bundleName} ${what}`);
    const { advice, file } = this.#pins.undo(pin ? place : (this.#inUse?.place ?? place));
    throw new BundleRejectedError(`bundle ${bundleName} ${what}. ${advice}`, file);
  }

  #isAttested(
    { bundleName, version, provenance }: FetchedBundle,
    place: PinPlace,
    pin: Pin | null,
    key: string,
    revisionHash: string,
  ): boolean {
    const { tenantId, sequence, deployedAt, attestation } = provenance;
    if (attestation === null) {
      // Without an attestation, nothing proves the name and the sequence. One attested document binds all names.
      const attestedPlace = pin?.attested ? place : this.#inUse?.pin.attested ? this.#inUse.place : null;
      if (attestedPlace === null) return false;
      const { advice, file } = this.#pins.undo(attestedPlace);
      throw new BundleRejectedError(
        `bundle ${bundleName} has no attestation, but earlier documents had one. ${advice}`,
        file,
      );
    }
    const { env } = place;
    const fits =
      tenantId !== null &&
      version !== null &&
      sequence !== null &&
      deployedAt !== null &&
      attests(attestation, key, { tenantId, env, bundleName, version, revisionHash, sequence, deployedAt });
    if (!fits) {
      throw new BundleRejectedError(
        `bundle ${bundleName} is attested for another tenant, environment, name, version or time`,
      );
    }
    return true;
  }

  #checkSequence(
    { provenance: { sequence } }: FetchedBundle,
    place: PinPlace,
    pin: Pin | null,
    revisionHash: string,
  ): void {
    if (!pin || pin.sequence === null) return;
    if (sequence === null) throw this.#refused(place, 'has no sequence, but earlier documents had one');
    if (sequence < pin.sequence) {
      throw this.#refused(
        place,
        `is older (sequence ${sequence}) than a version already in use (${pin.sequence})`,
      );
    }
    if (sequence === pin.sequence && !same(revisionHash, pin.revisionHash)) {
      throw this.#refused(place, `differs from the version already in use with the sequence ${sequence}`);
    }
  }

  #refused(place: PinPlace, what: string): BundleRejectedError {
    const { advice, file } = this.#pins.undo(place);
    return new BundleRejectedError(`bundle ${place.bundleName} ${what}. ${advice}`, file);
  }
}

/** The bundle's own SHA-256. @throws BundleRejectedError when it states another one */
function hashOf(bundle: FetchedBundle): string {
  const hash = sha256(bundle.bytes);
  if (bundle.revisionHash !== null && !same(hash, bundle.revisionHash.toLowerCase())) {
    throw new BundleRejectedError(`bundle ${bundle.bundleName} does not match its revision hash`);
  }
  return hash;
}

const offeredBy = ({ publicKey }: FetchedBundle): readonly string[] =>
  publicKey !== null && isPublicKey(publicKey) ? [publicKey.toLowerCase()] : [];

const sameKeys = (a: readonly string[] | null, b: readonly string[] | null): boolean =>
  JSON.stringify(a) === JSON.stringify(b);

const same = (a: string, b: string): boolean =>
  a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
