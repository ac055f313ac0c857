// Which revision a client was sent a moment ago, so that one which reconnects without saying what it has is not sent it
// again. In memory, of this node: in doubt a copy is sent, because one too many costs a reload, and one too few a
// start-up.
import { BoundedMap } from '../../shared/concurrency/bounded-map.ts';

/** A stream that ended this soon after the copy may have ended before the client had read it. */
const readMs = 5_000;
/** For so long after its stream a client still has what it was sent. */
const keptMs = 2 * 60_000;
const maxCopies = 20_000;

/** A revision that a stream was sent. */
export interface SentCopy {
  readonly bundleName: string;
  readonly revisionHash: string;
  readonly at: number;
}

export class SentCopies {
  readonly #copies = new BoundedMap<string>(maxCopies);

  /** @param client a name for API key, agent id and client address together @param now epoch milliseconds */
  ended(client: string, sent: readonly SentCopy[], now: number): void {
    for (const { bundleName, revisionHash, at } of sent) {
      if (now - at >= readMs) this.#copies.set(nameOf(client, bundleName), revisionHash, now + keptMs);
    }
  }

  has(client: string, bundle: string, revision: string, now: number): boolean {
    return this.#copies.get(nameOf(client, bundle), now) === revision;
  }
}

const nameOf = (client: string, bundle: string): string => JSON.stringify([client, bundle]);
