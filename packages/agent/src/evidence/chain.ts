// Exports of the audit chain, checked without the hub: that no link was changed, taken out, added or moved, and that a
// trusted key signed the head. Runs in Node and in browsers: hashes and signatures are the caller's.
import { canonicalJson } from '../rules/canonical-json.ts';
import { readStrictJson, StrictJsonError } from '../rules/strict-json.ts';
import {
  base64Bytes,
  type EvidenceCrypto,
  envelopeBytes,
  hasOnly,
  hexBytes,
  hexOf,
  textBytes,
} from './signed.ts';

const headType = 'application/vnd.service.audit-head+json';
interface Link {
  readonly seq: number;
  readonly prev: string;
  readonly digest: string;
  readonly entry: unknown;
}

interface Head {
  readonly head: { readonly seq: number; readonly digest: string; readonly tenant_id: string };
  readonly sig: string;
}

const linkMembers = ['seq', 'prev', 'digest', 'entry'];
const headMembers = ['head', 'sig'];

const isLink = (value: unknown): value is Link => {
  const { seq, prev, digest } = (value ?? {}) as Partial<Link>;
  return Number.isSafeInteger(seq) && typeof prev === 'string' && typeof digest === 'string';
};
const isHead = (value: unknown): value is Head => {
  const { head, sig } = (value ?? {}) as Partial<Head>;
  return typeof sig === 'string' && typeof head === 'object' && head !== null;
};

/** Follows a chain line by line. */
export class ChainCheck {
  readonly #keys: readonly string[];
  readonly #crypto: EvidenceCrypto;
  #last: Link | null = null;
  #first = 0;
  #tenant: string | null = null;
  #signedBy: string | null = null;
  #head: Head | null = null;
  /** In front of the first link: the head of the last one that the hub no longer keeps. */
  #opening: Head['head'] | null = null;

  /** @param keys public keys that are trusted, as 64 hex characters each; none: signatures are not checked */
  constructor(keys: readonly string[], crypto: EvidenceCrypto) {
    this.#keys = keys;
    this.#crypto = crypto;
  }

  get areKeysNamed(): boolean {
    return this.#keys.length > 0;
  }

  /** The trusted key that signed the newest head so far, as it was given; null when none did. */
  get signedBy(): string | null {
    return this.#signedBy;
  }

  /** The problem of the next line; null when there is none. Lines are taken one after the other. */
  async take(text: string): Promise<string | null> {
    let value: unknown;
    try {
      value = readStrictJson(text, { numbers: 'written' });
    } catch (failure) {
      if (!(failure instanceof StrictJsonError)) throw failure;
      return `is ambiguous: ${failure.message}`;
    }
    const isChained = isLink(value);
    if (!isChained && !isHead(value)) return 'is neither a link of the chain nor a signed head';
    // No digest and no signature covers a further member.
    if (!hasOnly(value as object, isChained ? linkMembers : headMembers)) {
      return `has members that a ${isChained ? 'link' : 'signed head'} does not have`;
    }
    return isLink(value) ? this.#link(value) : this.#signed(value as Head);
  }

  /** The problem at the end of the lines; null when there is none. */
  end(): string | null {
    if (!this.#last) return 'contains no links';
    if (!this.#head || this.#head.head.seq !== this.#last.seq) {
      return 'does not end with a signed head, so links may be missing';
    }
    return null;
  }

  /** A sentence that lists the checks. */
  summary(): string {
    const signed = this.areKeysNamed ? 'signed by a trusted key' : 'signature not checked';
    const before =
      this.#first === 1
        ? ''
        : this.#opening
          ? ` and follow the signed head of link ${this.#first - 1}, the last removed link`
          : `; the file does not contain the links before ${this.#first}`;
    return `links ${this.#first} to ${this.#last?.seq ?? 0} are unchanged and complete${before}; head ${signed}`;
  }

  async #link(link: Link): Promise<string | null> {
    const { seq, prev, digest, entry } = link;
    const last = this.#last ?? this.#opening;
    if (last && seq !== last.seq + 1) {
      return `is link ${seq} instead of link ${last.seq + 1}: a line was removed, added or moved`;
    }
    if (last ? prev !== last.digest : seq === 1 && prev !== '') {
      return `link ${seq} does not follow the link before it`;
    }
    const hash = await this.#crypto.sha256(textBytes(canonicalJson({ seq, prev, entry })));
    if (hexOf(hash) !== digest) return `link ${seq} was changed`;
    if (!this.#last) this.#first = seq;
    this.#last = link;
    return null;
  }

  async #signed(value: Head): Promise<string | null> {
    const { head, sig } = value;
    if (!this.#last && this.#opening) return 'is a second head before the first link';
    if (!Number.isSafeInteger(head.seq) || typeof head.digest !== 'string') return 'is not a signed head';
    if (this.#last && (head.seq !== this.#last.seq || head.digest !== this.#last.digest)) {
      return 'the signed head does not belong to the link before it';
    }
    if (this.#tenant !== null && this.#tenant !== head.tenant_id)
      return 'the heads belong to different workspaces';
    this.#tenant = head.tenant_id;
    if (this.#last) this.#head = value;
    else this.#opening = head;
    if (this.#keys.length === 0) return null;
    const bytes = envelopeBytes(headType, textBytes(canonicalJson({ head })));
    const signature = base64Bytes(sig);
    this.#signedBy = null;
    for (const key of signature === null ? [] : this.#keys) {
      if (signature !== null && (await this.#crypto.verify(hexBytes(key), bytes, signature)))
        this.#signedBy = key;
    }
    return this.#signedBy === null ? 'the head is not signed by a trusted key' : null;
  }
}
