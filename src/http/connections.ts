// Number of connections to the server. A process without a free descriptor cannot even refuse: its event loop asks
// the system again and again and does little else. So the number ends below that, and before it the networks that open
// most are refused first.

/** From this part of the most on, networks are told apart. */
const scarce = 0.9;
/**
 * Share of the maximum that one network may open within 5 to 10 s while connections are scarce. An idle connection
 * lives for 12 s.
 */
const share = 0.1;
/** A network may always open so many in that time. */
const few = 16;
/** Networks that are counted at once; further ones are not told apart. */
const maxNetworks = 50_000;

export class Connections {
  /** Open now. */
  count = 0;
  /** Refused since the last look. */
  refused = 0;
  readonly #max: number;
  readonly #isProxy: (address: string) => boolean;
  /** Opened by network: in this span of 5 s, and in the one before. */
  #opened = new Map<string, number>();
  #before = new Map<string, number>();

  /** @param max connections at once @param isProxy many clients come from it */
  constructor(max: number, isProxy: (address: string) => boolean) {
    this.#max = max;
    this.#isProxy = isProxy;
  }

  /**
   * A connection was opened.
   * @param networkOf its address and what it counts as; asked only when connections are many
   * @returns false: the connection must be closed, with a call of `closed` as for others
   */
  opened(networkOf: () => { readonly address: string; readonly network: string }): boolean {
    this.count++;
    if (this.count <= this.#max / 2) return true;
    const { address, network } = networkOf();
    const opened = (this.#opened.get(network) ?? 0) + 1;
    if (opened > 1 || this.#opened.size < maxNetworks) this.#opened.set(network, opened);
    const many = opened + (this.#before.get(network) ?? 0) > Math.max(few, this.#max * share);
    const isScarce = this.count > this.#max * scarce;
    const stays = this.count <= this.#max && !(isScarce && many && !this.#isProxy(address));
    if (!stays) this.refused++;
    return stays;
  }

  closed(): void {
    this.count--;
  }

  /** Begins another span; to be called every 5 s. Returns how many were refused in the last one. */
  turn(): number {
    this.#before = this.#opened;
    this.#opened = new Map();
    const { refused } = this;
    this.refused = 0;
    return refused;
  }
}
